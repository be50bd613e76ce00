"""Means by arm standardised over the covariates, by doubly robust scores: the adjusted ITT and LATE, and what follows.

For each arm z and each V among T, Y T and Y (1-T), the score of a person is mu_z(x) + 1{Z=z}/e_z(x) (V - mu_z(x)),
where mu_z(x) = E[V | z, x] and e_z(x) = P(Z=z | x) are learnt without the person. In large samples its mean is right if
either of the two is, and efficient if both are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ivicl._shared.products import cross
from ivicl._shared.ridge import logistic_without_own, ridge_without_own
from ivicl._shared.scaling import share_below, standardise
from ivicl.data import IVData
from ivicl.identification.amounts import MeanEnds
from ivicl.identification.estimands import Seen
from ivicl.methods.arm_effects import ArmEffects
from ivicl.methods.design.variance import mean_variance

LEAST_PEOPLE = 20
"""Needed in each arm: with fewer people nothing can be learnt from covariates."""
MOST_COLUMNS = 100
"""If there are more, the columns least associated with instrument, treatment and outcome are left out."""
MOST_ROWS = 500_000
"""The most rows of a block with its own fits."""
HEAVY = 10.0
"""A fourth moment of a standardised column above this (a normal one has 3) means that few people make up most of its
variance: what most people have in common does not show in such a column, nor in its square, but in their ranks."""
CLIP = 0.01
"""P(Z | x) is kept this far from 0 and 1."""

TREATED, OUTCOME_TREATED, OUTCOME_UNTREATED = range(3)
"""Columns of each block of scores: T, Y T, Y (1-T)."""


@dataclass(frozen=True)
class AdjustedMeans:
    """Nine means with their covariance: of T, Y T and Y (1-T), standardised to Z=0, standardised to Z=1, and plain.

    Y is scaled to [0, 1].
    """

    means: np.ndarray
    """(9,), blocks of three."""
    covariance: np.ndarray
    """(9, 9)."""
    degrees: float = math.inf
    """Degrees of freedom of the variances, if these are estimated from few clusters."""

    def effects(self) -> ArmEffects:
        """The differences between the arms."""
        to_effects = np.zeros((2, 9))
        to_effects[0, [1, 2, 4, 5]] = -1, -1, 1, 1
        to_effects[1, [0, 3]] = -1, 1
        outcome, treatment = to_effects @ self.means
        spread = to_effects @ self.covariance @ to_effects.T
        return ArmEffects(
            float(outcome), float(treatment), float(spread[0, 0]), float(spread[1, 1]), float(spread[0, 1]), True,
            self.degrees,
        )  # fmt: skip

    def draws(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """(n_draws + 1, 9) the estimate first, then draws from the normal law that it has in large samples."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.vstack([self.means, self.means + rng.standard_normal((n_draws, 9)) @ root.T])


def adjusted_means(data: IVData) -> AdjustedMeans | None:
    """The nine means; None if there are no covariates to adjust for, or too few people to learn from them.

    Very many rows are divided into k blocks of every k-th row. Each block has its own fits, which are large enough to
    learn as well, and the answer is the blocks' average: so memory is that of one block.
    """
    if not data.covariates:
        return None
    if not data.binary:
        data = data.by_moments()  # left-out fits are clipped, which is not linear: raw and merged rows must agree
    number = -(-len(data.w) // MOST_ROWS) if data.design is None else 1
    if number == 1:
        return _adjusted(data)
    means, covariance, people = np.zeros(9), np.zeros((9, 9)), data.w.sum()
    for k in range(number):
        block = data.take(np.arange(k, len(data.w), number))
        found = _adjusted(block)
        if found is None:
            return None
        share = block.w.sum() / people
        means += share * found.means
        covariance += share**2 * found.covariance
    return AdjustedMeans(means, covariance)


def _adjusted(data: IVData) -> AdjustedMeans | None:
    arms = [data.w[data.z == z].sum() for z in (0, 1)]
    if min(arms) < LEAST_PEOPLE:
        return None
    x = _columns(data)
    if not x.shape[1]:
        return None
    y = data.y01
    seen = np.column_stack([data.t, y * data.t, y * (1 - data.t)])
    e = np.clip(logistic_without_own(x, data.z, data.w), CLIP, 1 - CLIP)
    blocks, slopes = [], []
    read = np.column_stack([np.zeros(len(y)), data.t, 1 - data.t])  # how T, Y T and Y (1-T) change with Y
    for z, probability in ((0.0, 1 - e), (1.0, e)):
        here = data.z == z
        expected = np.clip(ridge_without_own(x, seen, data.w, here), 0.0, 1.0)
        weight = np.where(here, 1.0 / probability, 0.0)
        weight *= data.mass.sum() / (data.mass @ weight)
        blocks.append(expected + weight[:, None] * (seen - expected))
        slopes.append(weight[:, None] * read)
    scores = np.column_stack([*blocks, seen])
    covariance, degrees = score_covariance(scores, data, np.column_stack([*slopes, read]))
    return AdjustedMeans(cross(data.mass, scores) / data.mass.sum(), covariance, degrees)


def score_covariance(scores: np.ndarray, data: IVData, slope: np.ndarray) -> tuple[np.ndarray, float]:
    """The covariance of the scores' means and its degrees of freedom; only this function looks at the sampling design.

    `slope` says how the scores change with the outcome, which differs among the people of a merged row.
    """
    if data.design is not None:
        found = mean_variance(scores, data, slope=slope)
        return found.covariance, float(found.degrees.min())
    away = scores - cross(data.w, scores) / data.n
    squares = cross(away * data.w[:, None], away)
    if data.v is not None:
        squares += cross(slope * (data.w * data.v)[:, None], slope)
    covariance: np.ndarray = squares / (data.n * max(data.n - 1.0, 1.0))
    return covariance, math.inf


def ends_of(means: np.ndarray) -> tuple[MeanEnds, Seen]:
    """Ends of E Y(1) and E Y(0) at nine means (..., 9).

    In the arm with more treated people these show Y(1), and the others may have had anything; likewise for Y(0) in the
    other arm. Valid whether or not there are defiers; sharp if the law needs none.
    """
    blocks = means.reshape(*means.shape[:-1], 3, 3)
    rises = blocks[..., 1, TREATED] >= blocks[..., 0, TREATED]
    more = np.where(rises[..., None], blocks[..., 1, :], blocks[..., 0, :])
    fewer = np.where(rises[..., None], blocks[..., 0, :], blocks[..., 1, :])
    low_1, low_0 = more[..., OUTCOME_TREATED], fewer[..., OUTCOME_UNTREATED]
    ends = MeanEnds(
        low_1,
        low_1 + np.clip(1 - more[..., TREATED], 0, 1),
        low_0,
        low_0 + np.clip(fewer[..., TREATED], 0, 1),
    )
    treated = blocks[..., 2, TREATED]
    few = 1e-6  # a draw must not leave nobody treated (or untreated), unless that is so in the data
    treated = np.where((treated == 0) | (treated == 1), treated, np.clip(treated, few, 1 - few))
    return ends, Seen(
        treated,
        np.clip(blocks[..., 2, OUTCOME_TREATED], 0, treated),
        np.clip(blocks[..., 2, OUTCOME_UNTREATED], 0, 1 - treated),
    )


def _columns(data: IVData) -> np.ndarray:
    """Standardised columns, the ranks of those with heavy tails, and the squares of those with more than two values (of
    the ranks, if the tails are heavy); without constant columns."""
    x = _varying(standardise(data.x, data.w))
    if x.shape[1] > MOST_COLUMNS:
        roles = standardise(np.column_stack([data.z, data.t, data.y01]), data.w)
        association = np.abs((x * data.w[:, None]).T @ roles).max(axis=1)
        x = x[:, np.sort(np.argsort(-association, kind="stable")[:MOST_COLUMNS])]
    share = data.w / data.n
    fourth = share @ x**4
    # For standardised columns, this moment is zero if and only if the column has two values.
    bends = fourth - (share @ x**3) ** 2 - 1 > 1e-6
    heavy = bends & (fourth > HEAVY)
    bent, ranks = x.copy(), standardise(_ranks(x[:, heavy], data.w), data.w)
    bent[:, heavy] = ranks
    more = np.column_stack([ranks, standardise(bent[:, bends] ** 2, data.w)])
    return np.column_stack([x, more[:, : MOST_COLUMNS - x.shape[1]]])


def _ranks(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(N, D) the share of people below each value, those with the same value counting half."""
    found = np.empty_like(x)
    for column in range(x.shape[1]):
        place, ranks = share_below(x[:, column], w, own=0.5)
        found[:, column] = ranks[place]
    return found


def _varying(x: np.ndarray) -> np.ndarray:
    return x[:, (x != 0).any(axis=0)]
