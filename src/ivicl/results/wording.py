"""Numbers and levels in the words that every table, picture and report uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ivicl.methods.base import Covers, IntervalKind

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult


def number(value: float) -> str:
    """Four decimals for effects of ordinary size; four significant digits for the very large and the very small."""
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4f}"
    return f"{value:.4g}"


def interval(lower: float, upper: float) -> str:
    return f"[{number(lower)}, {number(upper)}]"


def level(kind: IntervalKind, alpha: float, covers: Covers) -> str:
    """What kind of interval it is, in a few words."""
    if kind == "estimate":
        return "estimated"
    what = " for the set" if covers == "set" else ""
    return f"{100 * (1 - alpha):g} % {kind}{what}"


def arm(result: BoundsResult, z: int) -> str:
    """An arm of the instrument in the caller's words: "offer = yes"; "Z = 1" where there are none."""
    coding = result.codings.get("instrument")
    return f"Z = {z}" if coding is None else f"{coding.column} = {coding.one if z else coding.zero}"
