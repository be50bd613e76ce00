"""Numbers and levels in the words that every table, picture and report uses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ivicl.data.encoding import Coding
from ivicl.methods.base import Covers, IntervalKind

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult

PAPER = (
    "Balazadeh, V., Kamkari, H., Barath, M., Silva, R., Krishnan, R. G. (2026). IV-ICL: Bounding Causal Effects with "
    "Instrumental Variables via In-Context Learning. arXiv:2605.12924. https://doi.org/10.48550/arXiv.2605.12924"
)
"""The paper that the network's method builds on, as a reference."""
CITED = "Balazadeh et al., 2026"
"""The same in a sentence."""


def number(value: float) -> str:
    """Four decimals for effects of ordinary size, and fewer for amounts of hundreds and more: six digits in all.

    The very large and the very small have four significant digits.

    Examples:
        >>> number(0.12345), number(12.345), number(1234.5678), number(1234567.8), number(7.917e-6)
        ('0.1235', '12.3450', '1234.57', '1234568', '7.917e-06')
    """
    return f"{value:.{_decimals(abs(value))}}"


def interval(lower: float, upper: float) -> str:
    """Both ends with the decimals of the larger: a tiny end beside one of ordinary size is 0.0000, not 7.917e-06."""
    decimals = _decimals(max((abs(end) for end in (lower, upper) if math.isfinite(end)), default=0.0))
    return f"[{lower:.{decimals}}, {upper:.{decimals}}]"


def _decimals(size: float) -> str:
    """How a number of this size is written, as Python's format has it."""
    if size and not 1e-3 <= size < 1e9:
        return "4g"
    return f"{4 if size < 100 else max(5 - math.floor(math.log10(size)), 0)}f"


def level(kind: IntervalKind, alpha: float, covers: Covers) -> str:
    """What kind of interval it is, in a few words."""
    if kind == "estimate":
        return "estimated"
    what = " for the set" if covers == "set" else ""
    return f"{100 * (1 - alpha):g} % {kind}{what}"


def arm(result: BoundsResult, z: int) -> str:
    """An arm of the instrument in the caller's words, such as "offer = yes"; "Z = 1" if there are none."""
    coding = result.codings.get("instrument")
    return f"Z = {z}" if coding is None else f"{coding.column} = {coding.one if z else coding.zero}"


def treatment_in_words(codings: Mapping[str, Coding]) -> str:
    """The treatment's column, with the value that counts as 1 if that is not obvious: "arm = 'b'"."""
    coding = codings.get("treatment")
    return "the treatment" if coding is None else _with_value(coding)


def outcome_in_words(codings: Mapping[str, Coding]) -> str:
    """The outcome's column, or "P(work = 'unemployed')" if its two values are not simply 0 and 1."""
    coding = codings.get("outcome")
    if coding is None:
        return "the outcome"
    return coding.column if _plain(coding) else f"P({_with_value(coding)})"


def _with_value(coding: Coding) -> str:
    return coding.column if _plain(coding) else f"{coding.column} = {coding.one!r}"


def _plain(coding: Coding) -> bool:
    return coding.one is None or (coding.one in (0, 1) and coding.zero in (0, 1, None))
