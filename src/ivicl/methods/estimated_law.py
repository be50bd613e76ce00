"""The law of the observed data, estimated, with draws from its posterior: for whatever is a function of the law.

Shapes: M cells of the covariates, laws (M, 2, 2, 2) indexed [z][t][y]. An amount has its soft law, so that the same
functions can be used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ivicl.data import IVData
from ivicl.identification.inequalities import level_excess, nearest_law
from ivicl.identification.law_posterior import Betas
from ivicl.identification.laws import count_arms
from ivicl.identification.strata import cell_pseudo_count
from ivicl.methods.design.factors import effective

MOST_CELLS = 24
"""If the covariates have more cells than this, the law is estimated without them."""
LEAST_IN_ARM = 25
"""How many people each cell needs in each arm: with fewer, it is mostly chance which of several terms is largest."""


@dataclass(frozen=True)
class EstimatedLaw:
    """People and mean outcomes by instrument and treatment, in each cell of the covariates."""

    share: np.ndarray
    """(M,) share of all people."""
    z_share: np.ndarray
    """(M,) P(Z=1)."""
    people: np.ndarray
    """(M, 2, 2) by [z][t]."""
    mean: np.ndarray
    """(M, 2, 2) mean of the outcome, scaled to [0, 1]."""
    worth: np.ndarray
    """(M, 2, 2) how many yes/no outcomes would tell as much about the mean: for amounts, more than there are people."""
    adjusted: bool = False
    """The cells are those of the covariates."""

    @property
    def counts(self) -> np.ndarray:
        """(M, 2, 2, 2) people by [z][t][y], not whole numbers if the outcome is an amount."""
        return np.stack([self.people * (1 - self.mean), self.people * self.mean], axis=-1)

    @property
    def excess(self) -> float:
        """How far the sample is from a possible law, in total variation over both arms, on average over the cells."""
        raw = self.counts / self.counts.sum(axis=(-2, -1), keepdims=True)
        return float(self.share @ np.maximum(level_excess(raw).max(axis=-1), 0.0))

    def law(self) -> np.ndarray:
        """(M, 2, 2, 2) the possible law nearest to the sample's."""
        return nearest_law(self.counts)

    def draws(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(M, n, 2, 2, 2) possible laws from the posterior under the paper's prior on each arm's cells.

        Each arm's shares of t are drawn, then the mean outcome at each t. For a yes/no outcome that is the Dirichlet
        posterior of the four cells; for an amount, a Beta law with the mean's own variance.
        """
        added = 2 * cell_pseudo_count()
        size = self.worth + added
        betas = Betas.with_size(self.people + added, (self.worth * self.mean + added / 2) / size, size)
        laws = np.moveaxis(betas.draw(n, rng), 0, 1)
        people = self.people.sum(axis=-1)[:, None, :, None, None]
        return nearest_law(laws * people)

    def mirrored(self) -> EstimatedLaw:
        """The same law with the values of Z swapped."""
        turned = {name: getattr(self, name)[:, ::-1] for name in ("people", "mean", "worth")}
        return replace(self, z_share=1 - self.z_share, **turned)


def estimate_law(data: IVData, within_covariates: bool = True) -> EstimatedLaw:
    """The law in each cell of the covariates, if these are few and well filled; otherwise that of everybody together.

    A table with clusters or sampling weights counts as many people as it is worth.
    """
    data = effective(data)
    cells = _cells(data) if within_covariates and data.covariates else None
    if cells is None:
        return _law([data], adjusted=False)
    parts = [data.take(cells == cell) for cell in range(cells.max() + 1)]
    return _law(parts, adjusted=True)


def _cells(data: IVData) -> np.ndarray | None:
    """The cell of each row; None if there are too many, or one has too few people in an arm."""
    rows, cells = np.unique(data.x, axis=0, return_inverse=True)
    if len(rows) > MOST_CELLS:
        return None
    cells = cells.reshape(-1)
    people = np.bincount((2 * cells + data.z).astype(np.int64), data.w, 2 * len(rows))
    return cells if people.min() >= LEAST_IN_ARM else None


def _law(parts: list[IVData], adjusted: bool) -> EstimatedLaw:
    people = np.stack([count_arms(part.z, part.t, part.w) for part in parts])
    sums = np.stack([count_arms(part.z, part.t, part.w * part.y01) for part in parts])
    squares = np.stack([count_arms(part.z, part.t, part.w * (part.y01**2 + _inside(part))) for part in parts])
    seen = np.maximum(people, 1.0)
    mean = np.clip(np.where(people > 0, sums / seen, 0.5), 0.0, 1.0)
    yes_no = mean * (1 - mean)
    # Add one person with a yes/no outcome, so that equal amounts in a small cell do not make its mean seem certain.
    variance = (people * np.maximum(squares / seen - mean**2, 0.0) + yes_no) / (people + 1)
    worth = people * np.divide(yes_no, variance, out=np.ones_like(mean), where=variance > 0)
    arms = people.sum(axis=-1)
    n = arms.sum(axis=-1)
    return EstimatedLaw(n / n.sum(), arms[:, 1] / n, people, mean, worth, adjusted)


def _inside(data: IVData) -> np.ndarray | float:
    """The variance of the outcome among the people of each row."""
    return 0.0 if data.v is None else data.v
