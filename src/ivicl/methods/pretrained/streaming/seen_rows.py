"""The law at some of the rows, for those who ask what the network knows of them: `learn.network.row_laws`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ivicl.methods.pretrained.schema_2 import RowLaw


@dataclass(frozen=True)
class SeenRows:
    """In one coding, sorted by their places."""

    places: np.ndarray
    """(n,) in the table."""
    law: np.ndarray
    """(n,2,2,2) by the regression layer."""
    propensity: np.ndarray
    """(n,) P(Z=1 | x)."""

    @staticmethod
    def of(parts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> SeenRows:
        """From places, laws (n,2,4) and propensities of chunks."""
        places, law, propensity = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.argsort(places)
        return SeenRows(places[order], law[order].reshape(-1, 2, 2, 2), propensity[order])

    def recoded(self, flips: tuple[int, int, int]) -> SeenRows:
        """In the caller's coding."""
        flip_t, flip_y, flip_z = flips
        axes = [axis for axis, flip in ((1, flip_z), (2, flip_t), (3, flip_y)) if flip]
        return SeenRows(self.places, np.flip(self.law, tuple(axes)), 1 - self.propensity if flip_z else self.propensity)


def together(copies: Sequence[SeenRows | None], shares: np.ndarray) -> RowLaw | None:
    """The codings' mixture; None where no covariate says anything."""
    known = [copy for copy in copies if copy is not None]
    if len(known) < len(copies):
        return None
    law = sum(share * copy.law for share, copy in zip(shares, known, strict=True))
    propensity = sum(share * copy.propensity for share, copy in zip(shares, known, strict=True))
    return RowLaw(np.asarray(law), np.asarray(propensity), known[0].places)
