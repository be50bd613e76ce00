"""Numbers and levels in the words that every table, picture and report uses."""

from __future__ import annotations

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


def number(value: float) -> str:
    """Four decimals for effects of ordinary size; four significant digits for the very large and the very small."""
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4f}"
    return f"{value:.4g}"


def interval(lower: float, upper: float) -> str:
    """Both ends as `number` formats them; but a tiny end beside one of ordinary size is 0.0000, not 7.917e-06."""
    if 1e-3 <= max(abs(lower), abs(upper)) < 1e5:
        return f"[{lower:.4f}, {upper:.4f}]"
    return f"[{number(lower)}, {number(upper)}]"


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
