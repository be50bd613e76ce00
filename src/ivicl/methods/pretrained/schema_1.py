"""Graph schema 1, the first network: rows with outcomes 0 and 1 in; the effect and its ends on 1,024 bins out.

Everything that only files of this schema need is in here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ivicl.methods.pretrained.stacks import Stack
from ivicl.posterior import EFFECT_EDGES, BinnedPosterior

SCHEMA = 1


@dataclass(frozen=True)
class FirstPosteriors:
    """Probabilities (B,K) on K uniform bins of [-1, 1]: of the effect, and of the two ends of the identified set."""

    effect: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def __len__(self) -> int:
        return len(self.effect)

    def of(self, name: str, table: int = 0) -> BinnedPosterior:
        """One posterior: `name` is effect, lower or upper."""
        return BinnedPosterior(EFFECT_EDGES, getattr(self, name)[table])

    def take(self, tables: slice | np.ndarray) -> FirstPosteriors:
        return FirstPosteriors(self.effect[tables], self.lower[tables], self.upper[tables])

    @classmethod
    def joined(cls, parts: Sequence[FirstPosteriors]) -> FirstPosteriors:
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("effect", "lower", "upper")))


class FirstGraph:
    """What its graph takes and gives."""

    outputs: tuple[str, ...] = ("effect", "lower", "upper")
    takes_amounts = False
    estimands: tuple[str, ...] = ("ATE",)
    assumptions: tuple[str, ...] = ()

    def feed(self, stack: Stack) -> dict[str, np.ndarray]:
        return {"x": np.asarray(stack.x, np.float64)} | {
            name: np.asarray(getattr(stack, name), np.float32) for name in "ztyw"
        }

    def read(self, found: Sequence[np.ndarray]) -> FirstPosteriors:
        parts = [np.exp(log.astype(np.float64)) for log in found]
        return FirstPosteriors(*(part / part.sum(1, keepdims=True) for part in parts))
