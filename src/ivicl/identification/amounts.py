"""Sharp ends of E Y(1) and E Y(0) for an outcome on K levels, in closed form.

Shapes: laws p (..., 2, 2, K) = P(T=t, Y in level k | Z=z), K levels in rising order.

Always-takers show Y(1) in both arms, so their outcomes lie under both p(1, . | Z=1) and p(1, . | Z=0); never-takers
show Y(0) in both. E Y(1) is the total of the treated over both arms, minus that of always-takers, who were counted
twice, plus what never-takers would have had, which is anything in the range. Both unknowns widen the set, and the ends
are reached if there are as many always-takers, and with them never-takers, as the law allows. The two means can then be
at any of their ends together, so the same numbers give the sharp ends of the effect. With two levels this is Balke and
Pearl's closed form. A linear program confirms all of this in the tests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MeanEnds:
    """Ends of the mean potential outcomes, arrays of the laws' leading shape."""

    treated_lower: np.ndarray
    """The least E Y(1)."""
    treated_upper: np.ndarray
    untreated_lower: np.ndarray
    """The least E Y(0)."""
    untreated_upper: np.ndarray


def mean_ends(p: np.ndarray, low_values: np.ndarray, high_values: np.ndarray | None = None) -> MeanEnds:
    """The sharp ends for laws p (..., 2, 2, K) that are possible; repair others first (`inequalities.nearest_law`).

    A level is an interval of outcomes [low_values[k], high_values[k]], or a point if `high_values` is not given; the
    ends hold wherever in their intervals the outcomes lie. The first and last values are the range of the outcome.
    """
    p, low = np.asarray(p, dtype=np.float64), np.asarray(low_values, dtype=np.float64)
    high = low if high_values is None else np.asarray(high_values, dtype=np.float64)
    shared = p.min(axis=-3)  # (..., t, K): what can belong to people who take t in both arms
    most = shared.sum(axis=-1)
    # never-takers minus always-takers: P(T=0 | Z=0) - P(T=1 | Z=1), whatever compliers and defiers there are
    balance = p[..., 0, 0, :].sum(axis=-1) - p[..., 1, 1, :].sum(axis=-1)
    always = np.maximum(np.minimum(most[..., 1], most[..., 0] - balance), 0.0)
    never = np.maximum(always + balance, 0.0)
    seen = p.sum(axis=-3)
    ends = []
    for t, twice, unseen in ((1, always, never), (0, never, always)):
        lower = seen[..., t, :] @ low - _outermost(shared[..., t, :], twice, low, highest=True) + unseen * low[0]
        upper = seen[..., t, :] @ high - _outermost(shared[..., t, :], twice, high, highest=False) + unseen * high[-1]
        ends += [lower, np.maximum(lower, upper)]  # only rounding can cross them
    return MeanEnds(*ends)


def _outermost(mass: np.ndarray, share: np.ndarray, values: np.ndarray, *, highest: bool) -> np.ndarray:
    """The total of the outcome over the highest, or the lowest, part of `mass` (..., K) that amounts to `share`."""
    if highest:
        mass, values = mass[..., ::-1], values[::-1]
    before = np.cumsum(mass, axis=-1) - mass
    total: np.ndarray = np.clip(share[..., None] - before, 0.0, mass) @ values
    return total
