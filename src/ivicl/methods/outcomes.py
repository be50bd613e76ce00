"""Outcomes that are not binary: by their means, or by binary problems whose posteriors are combined in three ways.

E[Y(1) - Y(0)] is the integral over c of E[1{Y(1) >= c} - 1{Y(0) >= c}]: each threshold is a binary problem, and the
effect is the sum of their effects, each times the part of the outcome's range that it stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ivicl._shared.records import Record
from ivicl.data import IVData
from ivicl.posterior import BinnedPosterior, IdentifiedSet

COMBINATIONS = {
    "means": (
        "The set that is bounded is the one that the means of the outcome allow: those of Y among the treated and "
        "among the untreated of each arm, given the covariates. The outcome enters as it is: a person with an outcome "
        "of 30 % of the range counts as 0.3 of a yes and 0.7 of a no, and as more people than one to the extent that "
        "outcomes vary less than yes and no do. The set is never narrower than the sharp one, which compares densities "
        "too, and equal to it wherever the data need no defiers."
    ),
    "comonotone": (
        "The posteriors of the thresholds are added quantile by quantile. This never claims more than the binary "
        "problems do: if each of their intervals holds its identified set, the sum holds the whole one. With M "
        "thresholds its credibility is only guaranteed to be 1 - M alpha; in simulations it held the set more "
        "often than 1 - alpha."
    ),
    "independent": (
        "The posteriors of the thresholds are added as if they were independent. The interval is much narrower "
        "(often two to four times), must not be expected to cover the identified set, and misses the effect more often "
        "than it says, because what comes from the prior does not cancel between thresholds."
    ),
    "randomised": (
        "The outcome is replaced by 1{U <= Y} with U uniform on its range, and the posteriors of several draws of U "
        "are averaged. Each draw is one coherent binary problem without any rounding of the outcome; the price is a "
        "little more noise."
    ),
}
"""What each value of `combine` does, in words for users."""


@dataclass(frozen=True)
class Thresholds(Record):
    """Where a bounded outcome is cut, how much each cut counts, and how the binary problems become one."""

    points: tuple[float, ...]
    """The binary problems are 1{Y >= points[k]}; empty if the outcome was randomised or used as it is."""
    lengths: tuple[float, ...]
    """How much of the outcome's range each stands for."""
    slack: float = 0.0
    """The most by which the sum of the binary effects can differ from the effect, because outcomes were rounded."""
    rounding_shift: float = 0.0
    """By how much rounding changed the observed difference in means between the arms: usually far below the slack."""
    combine: str = "comonotone"
    """A key of COMBINATIONS."""
    problems: int = 1
    """How many binary problems there were: thresholds, or draws of a randomised outcome."""


def choose_thresholds(data: IVData, n_thresholds: int, combine: str = "comonotone") -> Thresholds:
    """The values themselves if there are few of them, which is exact; otherwise midpoints of equal steps.

    There are thresholds beyond the smallest and the largest observed value too: nobody was observed there, but an
    unseen potential outcome may lie there.
    """
    low, high = data.outcome_range
    values = np.unique(data.y)
    ends = np.unique(np.concatenate([[low], values, [high]]))
    if len(ends) - 1 <= n_thresholds:
        # Between two neighbouring values 1{Y >= c} is the same for every c: the upper value is as good as any.
        return _thresholds(ends[1:], np.diff(ends), 0.0, 0.0, combine)
    step = (high - low) / n_thresholds
    points = low + step * (np.arange(n_thresholds) + 0.5)
    rounded = low + step * np.searchsorted(points, data.y, side="right")
    gap = data.w * (rounded - data.y)
    shift = gap[data.z == 1].sum() / data.w[data.z == 1].sum() - gap[data.z == 0].sum() / data.w[data.z == 0].sum()
    # Each of the two potential outcomes moves by at most half a step.
    return _thresholds(points, np.full(n_thresholds, step), float(step), float(shift), combine)


def _thresholds(points: np.ndarray, lengths: np.ndarray, slack: float, shift: float, combine: str) -> Thresholds:
    return Thresholds(tuple(points.tolist()), tuple(lengths.tolist()), slack, shift, combine, len(points))


def randomised(data: IVData, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """One draw of 1{U <= Y} for every person: (2, N) weights of the rows with outcome 0 and with outcome 1."""
    ones = rng.binomial(data.w.astype(np.int64), np.clip(data.y01, 0.0, 1.0)).astype(np.float64)
    return data.w - ones, ones


def combine_thresholds(
    effects: Sequence[BinnedPosterior], ends: Sequence[IdentifiedSet], lengths: Sequence[float], combine: str
) -> tuple[BinnedPosterior, IdentifiedSet]:
    """One posterior and one identified set, in the unit of `lengths`, from those of the thresholds.

    The ends of the identified set always add by quantiles: nothing says that their errors cancel.
    """
    add = BinnedPosterior.combine_independent if combine == "independent" else BinnedPosterior.combine_comonotone
    effect = add([p.scaled(float(s)) for p, s in zip(effects, lengths, strict=True)])
    scaled = [end.scaled(float(s)) for end, s in zip(ends, lengths, strict=True)]
    lower = BinnedPosterior.combine_comonotone([end.lower for end in scaled])
    upper = BinnedPosterior.combine_comonotone([end.upper for end in scaled])
    return effect, IdentifiedSet(lower, upper)


def average_draws(
    effects: Sequence[BinnedPosterior], ends: Sequence[IdentifiedSet]
) -> tuple[BinnedPosterior, IdentifiedSet]:
    """The equal mixture of the posteriors of randomised outcomes, whose range has length one."""
    lower = BinnedPosterior.mixture([end.lower for end in ends])
    upper = BinnedPosterior.mixture([end.upper for end in ends])
    return BinnedPosterior.mixture(effects), IdentifiedSet(lower, upper)
