"""The other estimands of a result as a table: for the summary, Markdown, LaTeX and the report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ivicl.methods.estimands import estimand
from ivicl.results.wording import interval, number

if TYPE_CHECKING:
    from ivicl.methods.estimand_bounds import EstimandBounds
    from ivicl.results.result import BoundsResult

HEADINGS = ("", "Estimate", "Interval", "")


def heading(result: BoundsResult) -> str:
    """The heading: at which level, and whether the covariates were used."""
    used = {entry.adjusted for name, entry in result.estimands.items() if name != result.estimand}
    words = "no covariates" if used == {False} else "adjusted" if used == {True} else "some adjusted"
    return f"Other estimands, at {100 * (1 - result.alpha):g} %, {words}"


def lines(result: BoundsResult) -> list[list[str]]:
    """One line per estimand except the result's own, under HEADINGS."""
    return [_cells(name, entry) for name, entry in result.estimands.items() if name != result.estimand]


def _cells(name: str, entry: EstimandBounds) -> list[str]:
    low, high = entry.estimate_lower, entry.estimate_upper
    point = "" if low is None else number(low) if low == high else interval(low, math.inf if high is None else high)
    ends = interval(entry.lower, math.inf if entry.upper is None else entry.upper)
    words = estimand(name).short
    label = name if words == name else f"{name}, {words}"
    return [label, point, ends, f"{entry.interval}, {'adjusted' if entry.adjusted else 'no covariates'}"]
