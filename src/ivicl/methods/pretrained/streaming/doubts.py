"""What tells whether the one-step ends can be trusted: `learn.network.doubts`, from sums over chunks."""

from __future__ import annotations

import numpy as np

from ivicl.identification.mean_terms import mean_terms
from ivicl.methods.pretrained.streaming.constants import BLUR
from ivicl.methods.pretrained.streaming.source import Chunk
from ivicl.methods.pretrained.streaming.sums import LawSums


class DoubtSums(LawSums):
    """Sums over the rows seen so far."""

    def __init__(self) -> None:
        super().__init__((), 16, 4 * len(BLUR), 3, 2, 2)

    def part(self, chunk: Chunk, law: np.ndarray, chance: np.ndarray) -> list[np.ndarray]:
        """Sums over the rows of a chunk, with law (n,2,4) and P(Z=1 | x) (n,)."""
        terms = mean_terms(law.reshape(-1, 2, 2, 2))
        behind = terms - terms.max(-1, keepdims=True)
        likely = [np.exp(behind / blur) for blur in BLUR]
        active = (likely[0] / likely[0].sum(-1, keepdims=True)).reshape(-1, 16)
        gains = np.concatenate([blur * np.log(each.sum(-1)) for blur, each in zip(BLUR, likely, strict=True)], 1)
        moments = np.stack([chance, chance**2, 0.25 / (chance * (1 - chance))], 1)
        own = law[:, chunk.z]
        left = -own
        left[:, 2 * chunk.t : 2 * chunk.t + 2] += chunk.seen
        arm = np.arange(2) == chunk.z
        people, surprise = chunk.w.sum(), chunk.w @ (left * np.log(own)).sum(1)
        return [people, chunk.w @ active, chunk.w @ gains, chunk.w @ moments, people * arm, surprise * arm]

    @property
    def spread(self) -> float:
        """Standard deviation of P(Z=1 | x)."""
        mean, square, _ = self._sums[3] / self._sums[0]
        return float(np.sqrt(max(square - mean**2, 0)))

    def answer(self, unit: np.ndarray) -> np.ndarray:
        """(DOUBTS,) with the units (Q,) of the quantities."""
        total, active, gains, moments, people, surprise = self._sums
        inverse = moments[2] / total
        gained = gains / total / np.tile(unit[2:6], len(BLUR))
        gap = surprise / np.maximum(people, 1)
        parts = [
            active / total, np.log(gained + 0.01) / 5, [4 * self.spread], [np.log(inverse)],
            (5 * gap).clip(-2, 2), (gap * np.sqrt(people) / 3).clip(-3, 3),
        ]  # fmt: skip
        return np.concatenate(parts)
