"""How uncertain the law of the observed data is: draws of it given the data, for counts and for amounts alike.

An amount scaled to [0, 1] enters through its soft law (`laws.soft_law`), of which a 0/1 outcome is the special case. A
draw is a law [z][t][y]; functions of the same draws have their joint posterior, so that what is correlated in the data
stays correlated in the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from ivicl.identification.laws import count_arms
from ivicl.identification.strata import cell_pseudo_count

POINTS = 1000
"""How many points replace random draws for data sets that are `settled`: the 2.5 % quantile of a sum of shares and
means is then off by .05 standard deviations (root mean square over directions and seeds); with 2,000 random draws it is
off by .06."""
NEXT_TO_NORMAL = 15.0
"""A beta law both of whose parameters are at least this is computed from normal scores."""
MANY = 500
"""In an arm of at least this many people, less than one person does not matter."""


@dataclass(frozen=True)
class CellMoments:
    """What the posterior of the soft law needs from the rows; arrays (..., 2, 2) indexed [z][t], for y in [0, 1]."""

    people: np.ndarray
    total: np.ndarray
    """Sum of y."""
    squares: np.ndarray
    """Sum of y squared."""
    prior_mean: np.ndarray
    """(...) mean outcome of the few people whom the prior adds to each cell: one half for a 0/1 outcome; for an amount
    the mean over all cells, since a skewed amount may have its mean far from the middle of its range."""
    prior_square: np.ndarray
    """(...) the mean of their squared outcomes."""

    @classmethod
    def of(
        cls, z: np.ndarray, t: np.ndarray, y: np.ndarray, w: np.ndarray, binary: bool, v: np.ndarray | None = None
    ) -> CellMoments:
        """From rows of w people; if the people of a row differ in outcome, y is their mean and v their variance."""
        total, squares = count_arms(z, t, w * y), count_arms(z, t, w * (y * y + (0.0 if v is None else v)))
        mean, square = (0.5, 0.5) if binary else (total.sum() / w.sum(), squares.sum() / w.sum())
        return cls(count_arms(z, t, w), total, squares, np.array(mean), np.array(square))

    @classmethod
    def stack(cls, parts: list[CellMoments]) -> CellMoments:
        """Many moments stacked along a new first axis."""
        names = ("people", "total", "squares", "prior_mean", "prior_square")
        return cls(*(np.stack([getattr(part, name) for part in parts]) for name in names))

    @property
    def soft_counts(self) -> np.ndarray:
        """(..., 2, 2, 2) people by [z][t][y]; an amount y counts as y people at 1 and 1 - y people at 0."""
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

    For a 0/1 outcome they are exact: Dirichlet in each arm, with the pseudo-counts that the prior on strata implies.
    For an amount the shares are drawn in the same way, and the mean of a cell is drawn from the beta law with the mean
    and the variance that the cell's mean has in a large sample. One formula serves both: with the variance of a 0/1
    outcome it gives the Dirichlet.
    """
    return Betas.of(moments).draw(n_draws, rng)


def spread_laws(moments: list[CellMoments], seed: int) -> np.ndarray:
    """(POINTS, B, 2, 2, 2) like `draw_laws`, for B data sets that are all `settled`, at evenly spread points.

    If the laws of shares and means are nearly normal, points that fill the space evenly give quantiles as accurately as
    twice as many draws, and their normal scores are the same for every data set. Laws that are not nearly normal belong
    to cells without people, and are drawn at random.
    """
    betas = Betas.of(CellMoments.stack(moments))
    scores = _even_scores(seed)
    shares = _at_scores(scores[:, None, :2], *betas.shares)
    means = _at_scores(scores[:, None, 2:].reshape(-1, 1, 2, 2), *betas.means)
    for drawn, (a, b) in ((shares, betas.shares), (means, betas.means)):
        odd = np.minimum(a, b) < NEXT_TO_NORMAL
        for k in np.flatnonzero(odd.reshape(len(odd), -1).any(axis=1)):
            own = np.random.default_rng(seed)  # so that a data set has the same draws as if it were alone
            drawn[:, k, odd[k]] = own.beta(a[k][odd[k]], b[k][odd[k]], (POINTS, int(odd[k].sum())))
    return betas.laws(shares, means)


def settled(moments: CellMoments) -> bool:
    """Whether each share and mean of one data set is nearly normal, or concerns hardly anybody in a large arm."""
    betas = Betas.of(moments)
    pairs = [np.stack([a.ravel(), b.ravel()]) for a, b in (betas.shares, betas.means)]
    least = np.concatenate([pair.min(axis=0) for pair in pairs])
    arms = np.concatenate([betas.shares[0] + betas.shares[1], np.repeat(betas.shares[0] + betas.shares[1], 2)])
    return bool(((least >= NEXT_TO_NORMAL) | ((least < 1) & (arms >= MANY))).all())


@dataclass(frozen=True)
class Betas:
    """The posterior of the shares treated (..., 2) by [z] and of the mean outcomes (..., 2, 2) by [z][t]."""

    shares: tuple[np.ndarray, np.ndarray]
    """Both parameters of the beta laws."""
    means: tuple[np.ndarray, np.ndarray]
    fixed: np.ndarray
    """(..., 2, 2) the mean outcome of cells in which the outcome does not vary; nan in the others."""

    @classmethod
    def of(cls, moments: CellMoments) -> Betas:
        added = 2 * cell_pseudo_count()
        people = moments.people + added
        mean = (moments.total + added * moments.prior_mean[..., None, None]) / people
        square = (moments.squares + added * moments.prior_square[..., None, None]) / people
        spread = square - mean**2
        varies = spread > 1e-12
        size = np.where(varies, mean * (1 - mean) * (people + 1) / np.where(varies, spread, 1.0) - 1, 1.0)
        return cls.with_size(people, mean, size, np.where(varies, np.nan, mean))

    @classmethod
    def with_size(
        cls, people: np.ndarray, mean: np.ndarray, size: np.ndarray, fixed: np.ndarray | None = None
    ) -> Betas:
        """From people and mean outcomes (..., 2, 2), including the prior's; each mean is known as well as the mean of
        `size` people with a 0/1 outcome."""
        means = np.maximum(mean * size, 1e-9), np.maximum((1 - mean) * size, 1e-9)
        return cls((people[..., 1], people[..., 0]), means, np.full(mean.shape, np.nan) if fixed is None else fixed)

    def draw(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """(n_draws, ..., 2, 2, 2) laws."""
        shares = rng.beta(*self.shares, (n_draws, *self.shares[0].shape))
        return self.laws(shares, rng.beta(*self.means, (n_draws, *self.means[0].shape)))

    def laws(self, treated: np.ndarray, means: np.ndarray) -> np.ndarray:
        """From draws of the shares treated and of the mean outcomes."""
        found = np.empty((*means.shape, 2))
        shares = np.empty_like(means)
        np.subtract(1.0, treated, out=shares[..., 0])
        shares[..., 1] = treated
        np.multiply(shares, np.where(np.isnan(self.fixed), means, self.fixed), out=found[..., 1])
        np.subtract(shares, found[..., 1], out=found[..., 0])
        return found


def _at_scores(scores: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Beta(a, b) at normal scores (Abramowitz and Stegun 26.5.22): off by less than .003 of a standard deviation if
    both parameters are at least NEXT_TO_NORMAL. Smaller ones are raised to that; the caller replaces those results."""
    a, b = np.maximum(a, NEXT_TO_NORMAL), np.maximum(b, NEXT_TO_NORMAL)
    first, second = 1 / (2 * a - 1), 1 / (2 * b - 1)
    h = 2 / (first + second)
    bent = (scores**2 - 3) / 6
    w = -scores * np.sqrt(h + bent) / h - (second - first) * (bent + 5 / 6 - 2 / (3 * h))
    found: np.ndarray = a / (a + b * np.exp(2 * w))
    return found


@lru_cache(maxsize=8)
def _even_scores(seed: int) -> np.ndarray:
    """(POINTS, 6) normal scores of points that fill the cube evenly: steps by powers of the root of r^7 = r + 1
    (Roberts' sequence, the golden ratio's in six dimensions), from a start drawn with the seed.

    Each point has its mirror image, and the scores are scaled to have the unit matrix as covariance.
    """
    root = 1.0
    for _ in range(60):
        root = (1 + root) ** (1 / 7)
    steps = root ** -np.arange(1.0, 7.0)
    at = (np.random.default_rng(seed).random(6) + np.arange(1, POINTS // 2 + 1)[:, None] * steps) % 1.0
    half = np.array([NormalDist().inv_cdf(min(max(u, 1e-9), 1 - 1e-9)) for u in at.ravel()]).reshape(at.shape)
    scores = np.concatenate([half, -half])
    factor = np.linalg.cholesky(scores.T @ scores / POINTS)
    found: np.ndarray = scores @ np.linalg.inv(factor).T
    return found
