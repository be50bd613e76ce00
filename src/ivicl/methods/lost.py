"""Lost outcomes for methods that do not handle them: fill them in, ask the method, and move its ends outward.

The method is given everybody twice: once with the lost outcomes at which the linear program of `identification.losses`
attains its lower end at the sample's law, and once with those of its upper end. Usually these are low if treated and
high if not, or the other way round; other outcomes are filled in if those would make a law that is impossible with a
valid instrument. Given covariates, and at thresholds, the same fill may be too narrow: each end is then moved outward
by as much as the program exceeds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ivicl.errors import InputError
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.inequalities import nearest_law
from ivicl.identification.laws import arm_means, count_arms, count_thresholds, soft_law
from ivicl.identification.losses import LOST, completed, free_ends, nearest_cells, worst_ones
from ivicl.posterior import BinnedPosterior, IdentifiedSet

if TYPE_CHECKING:
    from ivicl.data import IVData
    from ivicl.methods.base import Estimates, MethodBounds

NO_PRIOR_FOR_THE_LOST = (
    "an interval for the effect would need a prior for the lost outcomes; with missing_outcome='bounds' ask for the "
    "set (covers='set'{combine})."
)
MOST_ROWS = 20_000
"""The law is estimated at no more rows than this; more would not visibly change the average."""


def count_tables(data: IVData) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(M, 2, 2, 3) people by [z][t][0, 1, lost], one table per threshold, and how much of the outcome's range each
    stands for; yielded some at a time."""
    if data.binary:
        yield data.cells()[None], np.ones(1)
        return
    data.of_each_person("a bound by thresholds")
    for counts, lengths in count_thresholds(data.z, data.t, data.y, data.w, data.outcome_range):
        lost = np.broadcast_to(data.lost_counts(), (len(counts), 2, 2))[..., None]
        yield np.concatenate([counts, lost], axis=-1), lengths


def soft_table(data: IVData) -> np.ndarray:
    """(2, 2, 3) the same for the soft law: a person whose outcome is y in [0, 1] counts as y people with outcome 1."""
    means, shares = arm_means(data.z, data.t, data.y01, data.w)
    arms = count_arms(data.z, data.t, data.w).sum(axis=1)[:, None, None]
    return np.concatenate([soft_law(means, shares) * arms, data.lost_counts()[..., None]], axis=-1)


def joined(data: IVData, down: MethodBounds, up: MethodBounds) -> MethodBounds:
    """One answer from those for the two fills: the first one's lower and the second one's upper end, moved outward."""
    if down.covers == "effect":
        raise InputError(NO_PRIOR_FOR_THE_LOST.format(combine="" if data.binary else ", combine='comonotone'"))
    by_means = down.thresholds is not None and down.thresholds.combine == "means"
    lower_gap, upper_gap = beyond_the_fill(data, *fills(data), by_means)
    identified = None
    if down.identified_set is not None and up.identified_set is not None:
        identified = IdentifiedSet(
            _moved(down.identified_set.lower, -lower_gap), _moved(up.identified_set.upper, upper_gap)
        )
    estimates = None
    if down.estimates is not None and up.estimates is not None:
        estimates = _joined_estimates(down.estimates, up.estimates, lower_gap, upper_gap)
    extra = {"lost_outcomes": {"moved_lower": lower_gap, "moved_upper": upper_gap}}
    return replace(
        down,
        lower=down.lower - lower_gap,
        upper=up.upper + upper_gap,
        posterior=None,
        identified_set=identified,
        estimates=estimates,
        estimands={},
        draws=None,
        heads={},
        warnings=tuple(dict.fromkeys((*down.warnings, *up.warnings))),
        details=down.details | extra,
    )


def _joined_estimates(down: Estimates, up: Estimates, lower_gap: float, upper_gap: float) -> Estimates:
    return replace(down, lower=down.lower - lower_gap, upper=up.upper + upper_gap, se_upper=up.se_upper)


def _moved(end: BinnedPosterior, by: float) -> BinnedPosterior:
    """The posterior of an end after a move, on the same edges: what would lie beyond them is put into the last bin."""
    if by == 0:
        return end
    cumulated = end.cdf(end.edges - by)
    cumulated[0], cumulated[-1] = 0.0, 1.0
    return BinnedPosterior(end.edges, np.maximum(np.diff(cumulated), 0.0))


def fills(data: IVData) -> tuple[np.ndarray, np.ndarray]:
    """(2, 2) shares by [z][t] of the lost who get the highest outcome, for the lower and for the upper end."""
    return worst_ones(nearest_cells(soft_table(data)))


def beyond_the_fill(data: IVData, down: np.ndarray, up: np.ndarray, by_means: bool = False) -> tuple[float, float]:
    """How far the program's ends lie outside those of the fill, at the lower and at the upper end, in outcome units.

    Computed at the sample's law without covariates and, if there are covariates, on average over the law at each x; by
    thresholds and by means, unless the method is known to use only means. The largest of these is used: a little too
    wide is better than too narrow.
    """
    span = data.outcome_range[1] - data.outcome_range[0]
    found = []
    if data.binary or not by_means:
        every = (lengths @ np.stack(_gaps(tables, down, up), axis=-1) for tables, lengths in count_tables(data))
        found.append(sum(every, np.zeros(2)))
    if not data.binary:
        found.append(span * np.array(_gaps(soft_table(data), down, up)))
    if data.covariates:
        laws, people = laws_by_row(data)
        found.append(span * (people @ np.stack(_gaps(laws, down, up), axis=-1)) / people.sum())
    lower, upper = np.max(found, axis=0)
    return float(lower), float(upper)


def _gaps(counts: np.ndarray, down: np.ndarray, up: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fill minus program at the lower end, and program minus fill at the upper end; never below zero."""
    lower, upper = free_ends(nearest_cells(counts))
    return (
        np.maximum(sharp_ends(nearest_law(completed(counts, down)))[0] - lower, 0.0),
        np.maximum(upper - sharp_ends(nearest_law(completed(counts, up)))[1], 0.0),
    )


def laws_by_row(data: IVData) -> tuple[np.ndarray, np.ndarray]:
    """(N, 2, 2, 3) the soft cells given each row's covariates, by ridge regression in each arm; and the rows' people.

    Each law is scaled by the people of its arm, so that it can be used as a table of counts.
    """
    assert data.lost is not None
    low = data.outcome_range[0]
    whole = replace(data.lost, y=np.full(len(data.lost.w), low))
    x, z, t, w = (np.concatenate([getattr(data, k), getattr(whole, k)]) for k in ("x", "z", "t", "w"))
    y = np.concatenate([data.y01, np.zeros(len(whole.w))])
    seen = np.concatenate([np.ones(len(data.w)), np.zeros(len(whole.w))])
    kinds = np.stack([seen * (1 - y), seen * y, 1 - seen], axis=-1)
    target = (np.stack([1 - t, t], axis=-1)[:, :, None] * kinds[:, None, :]).reshape(len(w), -1)
    centre = w @ x / w.sum()
    spread = np.sqrt(w @ (x - centre) ** 2 / w.sum())
    features = np.column_stack([np.ones(len(w)), (x - centre) / np.where(spread > 0, spread, 1.0)])
    rows = np.linspace(0, len(w) - 1, min(len(w), MOST_ROWS)).astype(np.int64)
    laws = np.empty((len(rows), 2, 6))
    for arm in (0, 1):
        here = z == arm
        weighted = features[here] * w[here, None]
        penalty = np.full(features.shape[1], float(features.shape[1]))
        penalty[0] = 0.0
        slopes = np.linalg.solve(weighted.T @ features[here] + np.diag(penalty), weighted.T @ target[here])
        fitted = np.clip(features[rows] @ slopes, 0.0, None)
        laws[:, arm] = fitted / fitted.sum(axis=1, keepdims=True) * w[here].sum()
    return laws.reshape(-1, 2, 2, LOST + 1), w[rows]
