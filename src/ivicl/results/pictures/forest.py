"""Forest plots: one bar per interval, for groups of people, for studies or for outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ivicl.errors import InputError
from ivicl.results.pictures.picture import ACCENT, INK, SECOND, Picture, mark_zero, new_axes, styled
from ivicl.results.rows import COLUMNS

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult

MOST_BARS = 60
"""Nobody would read more bars than this."""


@dataclass(frozen=True)
class Bar:
    """One interval with its estimate, or only a label if there is none."""

    label: str
    lower: float | None = None
    upper: float | None = None
    estimate_lower: float | None = None
    estimate_upper: float | None = None
    n: int | None = None

    @classmethod
    def of(cls, label: str, result: BoundsResult | None) -> Bar:
        if result is None:
            return cls(label)
        low, high = (result.estimates.lower, result.estimates.upper) if result.estimates else (None, None)
        return cls(label, result.lower, result.upper, low, high, result.n)

    @property
    def drawn(self) -> bool:
        return self.lower is not None and self.upper is not None and math.isfinite(self.lower)


def forest(bars: Sequence[Bar], everybody: Bar | None = None) -> Picture:
    """The bars from top to bottom in the order given, with that of everybody below a line."""
    shown = list(bars[:MOST_BARS])
    lines = shown + ([everybody] if everybody is not None else [])
    if not any(bar.drawn for bar in lines):
        raise InputError("there is no interval to draw: no row has a lower and an upper end.")
    with styled():
        figure, axes = new_axes(height=0.75 + 0.27 * len(lines))
        for place, bar in enumerate(reversed(lines)):
            if bar.drawn:
                _draw(axes, bar, place, SECOND if bar is everybody else ACCENT)
        if everybody is not None:
            axes.axhline(0.5, color=INK, linewidth=0.4)
        mark_zero(axes)
        axes.set_yticks(range(len(lines)), [_label(bar) for bar in reversed(lines)])
        axes.set_ylim(-0.6, len(lines) - 0.4)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("Effect")
    names = ("label", "n", "lower", "upper", "estimate_lower", "estimate_upper")
    data: dict[str, list[Any]] = {name: [getattr(bar, name) for bar in lines] for name in names}
    caption = "Intervals, with point estimates of their ends as dots."
    if len(bars) > MOST_BARS:
        caption += f" The first {MOST_BARS} of {len(bars):,}."
    return Picture("forest", figure, data, caption)


def _draw(axes: Any, bar: Bar, place: int, colour: str) -> None:
    lower, upper = float(bar.lower or 0.0), float(bar.upper or 0.0)
    limited = math.isfinite(upper)
    right = upper if limited else max(2 * abs(lower), 1.0)
    axes.plot([lower, right], [place] * 2, color=colour, linewidth=1.6, solid_capstyle="butt")
    if not limited:
        axes.plot([right], [place], ">", color=colour, markersize=4)
    for end in (lower, right) if limited else (lower,):
        axes.plot([end, end], [place - 0.14, place + 0.14], color=colour, linewidth=1.1)
    for point in {bar.estimate_lower, bar.estimate_upper}:
        if point is not None and lower < point < right:
            axes.plot([point], [place], "o", color=colour, markersize=3.2)


def _label(bar: Bar) -> str:
    people = f"  (n = {bar.n:,})" if bar.n is not None else ""
    return bar.label + (people if bar.drawn else "  (no answer)")


def forest_of_rows(frame: Any) -> Picture:
    """A forest plot of the rows of `fit_many` or `ivicl batch`: one bar per row, labelled with the study's names."""
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    if not {"lower", "upper", "method"} <= set(table.columns):
        raise InputError("a forest plot needs the rows of fit_many, with the columns lower, upper and method.")
    named = [name for name in table.columns if name not in COLUMNS]
    bars = []
    for row in table.rows(named=True):
        numbers = {name: _number(row.get(name)) for name in ("lower", "upper", "estimate_lower", "estimate_upper")}
        if numbers["lower"] is not None and numbers["upper"] is None:
            numbers["upper"] = math.inf  # a row without an answer has neither end
        people = _number(row.get("n"))
        label = ", ".join(str(row[name]) for name in named) or str(row["method"])
        bars.append(Bar(label, **numbers, n=None if people is None else int(people)))
    return forest(bars)


def _number(value: Any) -> float | None:
    """The number, or None if it is missing, which is None in polars and nan in pandas."""
    return None if value is None or math.isnan(value) else float(value)
