"""What follows from the ends of E Y(1) and E Y(0): the sharp ends of each average that a user may ask for.

Y, T and Z themselves are seen, so their means are numbers; each estimand is then a rising or falling function of one
mean potential outcome, or of two that can be at any of their ends together.
"""

from __future__ import annotations

import numpy as np

from ivicl.identification.amounts import MeanEnds

Ends = tuple[np.ndarray, np.ndarray]
"""Lower and upper end, each of the laws' leading shape."""


def average_effect(ends: MeanEnds) -> Ends:
    """E[Y(1) - Y(0)], everybody."""
    return ends.treated_lower - ends.untreated_upper, ends.treated_upper - ends.untreated_lower


def effect_on_treated(ends: MeanEnds, mean: np.ndarray, treated: np.ndarray) -> Ends:
    """E[Y(1) - Y(0) | T=1] = (E Y - E Y(0)) / P(T=1), where `mean` is E Y and `treated` is P(T=1)."""
    return (mean - ends.untreated_upper) / treated, (mean - ends.untreated_lower) / treated


def effect_on_untreated(ends: MeanEnds, mean: np.ndarray, treated: np.ndarray) -> Ends:
    """E[Y(1) - Y(0) | T=0] = (E Y(1) - E Y) / P(T=0)."""
    return (ends.treated_lower - mean) / (1 - treated), (ends.treated_upper - mean) / (1 - treated)


def risk_ratio(ends: MeanEnds) -> Ends:
    """E Y(1) / E Y(0) of an outcome that is never negative; the upper end is infinite where E Y(0) may be zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        lower, upper = ends.treated_lower / ends.untreated_upper, ends.treated_upper / ends.untreated_lower
    # 0 / 0 can be anything
    return np.where(np.isnan(lower), 0.0, lower), np.where(np.isnan(upper), np.inf, upper)
