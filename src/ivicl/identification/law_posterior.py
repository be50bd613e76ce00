"""How uncertain the law of what is seen is: draws of it given the data, for counts and for amounts alike.

An amount scaled to [0, 1] enters by its soft law (`laws.soft_law`), of which a 0/1 outcome is the special case. A draw
is a law [z][t][y]; a function of draws has their joint posterior, so what is correlated in the data stays correlated
in the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.identification.laws import count_arms
from ivicl.identification.strata import cell_pseudo_count


@dataclass(frozen=True)
class CellMoments:
    """What the posterior of the soft law needs of the rows; each array (..., 2, 2) indexed [z][t], y in [0, 1]."""

    people: np.ndarray
    total: np.ndarray
    """Sum of y."""
    squares: np.ndarray
    """Sum of y squared."""
    prior_mean: np.ndarray
    """(...) of the few people whom the prior adds to each cell: one half for a 0/1 outcome, and for an amount the mean
    over all cells, since a skewed amount may have its mean far from the middle of its range."""
    prior_square: np.ndarray
    """(...) the mean of their squares."""

    @classmethod
    def of(cls, z: np.ndarray, t: np.ndarray, y: np.ndarray, w: np.ndarray, binary: bool) -> CellMoments:
        """From rows with weights."""
        total, squares = count_arms(z, t, w * y), count_arms(z, t, w * y * y)
        mean, square = (0.5, 0.5) if binary else (total.sum() / w.sum(), squares.sum() / w.sum())
        return cls(count_arms(z, t, w), total, squares, np.array(mean), np.array(square))

    @classmethod
    def stack(cls, parts: list[CellMoments]) -> CellMoments:
        """Many as one, along a new first axis."""
        names = ("people", "total", "squares", "prior_mean", "prior_square")
        return cls(*(np.stack([getattr(part, name) for part in parts]) for name in names))

    @property
    def soft_counts(self) -> np.ndarray:
        """(..., 2, 2, 2) people by [z][t][y], where an amount of y counts as y people at 1 and 1 - y at 0."""
        ones = np.clip(self.total, 0.0, self.people)
        return np.stack([self.people - ones, ones], axis=-1)

    @property
    def share_z1(self) -> np.ndarray:
        """(...) the share of people with Z = 1."""
        arms = self.people.sum(axis=-1)
        share: np.ndarray = arms[..., 1] / arms.sum(axis=-1)
        return share


def draw_laws(moments: CellMoments, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """(n_draws, ..., 2, 2, 2) draws of the soft law given the data.

    For a 0/1 outcome they are exact: Dirichlet in each arm, with the pseudo-counts that the prior on strata has. For
    an amount the shares are the same, and the mean of a cell is drawn from the beta law with the mean and the variance
    that the cell's mean has in a large sample. One formula serves both: the variance of a 0/1 outcome gives back the
    Dirichlet.
    """
    added = 2 * cell_pseudo_count()
    people = moments.people + added
    mean = (moments.total + added * moments.prior_mean[..., None, None]) / people
    square = (moments.squares + added * moments.prior_square[..., None, None]) / people
    shape = (n_draws, *people.shape)
    treated = rng.beta(people[..., 1], people[..., 0], shape[:-1])
    shares = np.stack([1.0 - treated, treated], axis=-1)
    spread = square - mean**2
    varies = spread > 1e-12
    size = np.where(varies, mean * (1 - mean) * (people + 1) / np.where(varies, spread, 1.0) - 1, 1.0)
    drawn = rng.beta(np.maximum(mean * size, 1e-9), np.maximum((1 - mean) * size, 1e-9), shape)
    ones = shares * np.where(varies, drawn, mean)
    return np.stack([shares - ones, ones], axis=-1)
