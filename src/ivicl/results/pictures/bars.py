"""One bar per interval: the ladder of assumptions, and methods side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ivicl.errors import InputError
from ivicl.methods.estimands import AVERAGE, estimand
from ivicl.results.pictures.picture import ACCENT, INK, SECOND, Picture, legend_above, mark_zero, new_axes, styled

if TYPE_CHECKING:
    from ivicl.results.comparison import Comparison
    from ivicl.results.ladder import Ladder
    from ivicl.results.result import BoundsResult


def ladder(result: BoundsResult) -> Picture:
    """The ladder of assumptions: one interval per rung."""
    if result.ladder is None:
        raise InputError("this result holds no ladder; fit it with this version of ivicl.")
    strong = [rung.method == result.method for rung in result.ladder]
    return _bars("ladder", result.ladder, strong, result.binary, "What each assumption buys.")


def comparison(compared: Comparison) -> Picture:
    """Methods side by side: a strong bar allows for sampling error, a thin one does not."""
    rungs = compared.ladder
    strong = [rung.sampling_error for rung in rungs]
    with styled():
        picture = _bars("comparison", rungs, strong, compared.results[0].binary, "Methods side by side.")
        if not all(strong):  # say it in the picture too, because a file that is passed on has no caption
            axes = picture.figure.axes[0]
            axes.plot([], [], color=INK, linewidth=1.8, label="estimated: no allowance for sampling error")
            legend_above(axes)
    return picture


def _bars(kind: str, rungs: Ladder, strong: list[bool], binary: bool, caption: str) -> Picture:
    """One bar per rung, with the first on top; those of another estimand are dashed."""
    figure, axes = new_axes(height=0.55 + 0.5 * len(rungs))
    for place, (rung, thick) in enumerate(reversed(list(zip(rungs, strong, strict=True)))):
        colour = SECOND if rung.another_estimand else ACCENT if thick else INK
        line = (0, (2, 1)) if rung.another_estimand else "-"
        flat: dict[str, Any] = {"solid_capstyle": "butt", "dash_capstyle": "butt"}  # bars stop exactly at their ends
        width = 3.2 if thick else 1.8
        axes.plot([rung.lower, rung.upper], [place] * 2, color=colour, linewidth=width, linestyle=line, **flat)
        for end in (rung.lower, rung.upper):
            axes.plot([end, end], [place - 0.16, place + 0.16], color=colour, linewidth=1.2)
        points = {rung.estimate_lower, rung.estimate_upper} if rung.sampling_error else set()
        for point in points:
            if point is not None and rung.lower <= point <= rung.upper:
                axes.plot([point], [place], "o", color=colour, markersize=4)
    mark_zero(axes)
    axes.set_yticks(range(len(rungs)), [f"{rung.label}\n{rung.level}" for rung in reversed(rungs.rungs)])
    axes.set_ylim(-0.6, len(rungs) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(f"Effect ({estimand(AVERAGE).unit(binary)})")
    saved = rungs.to_dict()
    data = {name: [rung[name] for rung in saved] for name in saved[0]}
    if any(not rung.sampling_error for rung in rungs):
        caption += " Estimated: a formula applied to the sample, without allowance for sampling error."
    if any(rung.sampling_error and rung.estimate_lower is not None for rung in rungs):
        caption += " Dots: point estimates."
    others = sorted({rung.estimand for rung in rungs if rung.another_estimand})
    if others:
        words = "; ".join(name if (said := estimand(name).short) == name else f"{name}, the {said}" for name in others)
        caption += f" Dashed: another estimand ({words})."
    return Picture(kind, figure, data, caption)
