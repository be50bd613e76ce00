"""What a study could say: expected bounds of one design, or widths and chances over a grid of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ivicl.results.pictures.picture import (
    ACCENT,
    INK,
    SECOND,
    SOFT,
    Picture,
    legend_above,
    mark_zero,
    new_axes,
    styled,
)

if TYPE_CHECKING:
    from ivicl.results.plan import Plan, Planned

COLOURS = (ACCENT, SECOND, "#5c940d", "#7048a8", "#b08900", INK)
NAMES = {
    "n": "people",
    "takeup": "take-up if encouraged",
    "takeup_control": "take-up if not",
    "untreated": "outcome without",
    "treated": "outcome with",
    "share": "share encouraged",
    "clusters": "clusters",
    "icc": "intraclass correlation",
}


def plan(planned: Plan) -> Picture:
    """One design as bars; a grid of designs as lines against people, or against the first parameter that varies."""
    rows = planned.rows()
    data: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in rows[0]}
    with styled():
        figure, caption = _lines(planned) if planned.varying else _bars(planned)
    return Picture("plan", figure, data, caption)


def _people(axes: Any, values: list[int]) -> None:
    """A logarithmic axis with the numbers that were asked for, as far as there is room."""
    from matplotlib.ticker import NullLocator

    axes.set_xscale("log")
    ticks = values[:: -(-len(values) // 5)]
    axes.set_xticks(ticks, [f"{value:,}" for value in ticks])
    axes.xaxis.set_minor_locator(NullLocator())


def _bars(planned: Plan) -> tuple[Any, str]:
    found = planned.studies[0].expected
    figure, axes = new_axes(height=1.5)
    flat = {"solid_capstyle": "butt"}
    axes.plot([found.lower, found.upper], [0, 0], color=SOFT, linewidth=9, label="expected interval", **flat)
    axes.plot([found.set_lower, found.set_upper], [0, 0], color=ACCENT, linewidth=9, label="endless data", **flat)
    mark_zero(axes)
    axes.set_ylim(-0.5, 0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("Average effect")
    legend_above(axes)
    return figure, planned.sentences[0]


def _lines(planned: Plan) -> tuple[Any, str]:
    across = planned.varying[0]
    others = planned.varying[1:]
    families: dict[str, list[Planned]] = {}
    for study in planned.studies:
        label = ", ".join(f"{NAMES.get(name, name)} {getattr(study.design, name):g}" for name in others)
        families.setdefault(label, []).append(study)
    shown = list(families.items())[: len(COLOURS)]
    figure, left = new_axes(width=7.2, height=3.4)
    grid = figure.add_gridspec(1, 2)
    left.set_subplotspec(grid[0])
    right = figure.add_subplot(grid[1])
    for (label, studies), colour in zip(shown, COLOURS, strict=False):
        x = [getattr(study.design, across) for study in studies]
        left.plot(x, [study.expected.width for study in studies], "o-", color=colour, markersize=3, label=label or None)
        left.plot(
            x, [study.expected.not_identified for study in studies], color=colour, linewidth=0.9, linestyle=(0, (2, 1))
        )
        right.plot(x, [100 * study.expected.excludes_zero for study in studies], "o-", color=colour, markersize=3)
    for axes in (left, right):
        axes.set_xlabel(f"{NAMES[across][:1].upper()}{NAMES[across][1:]}")
        if across == "n":
            _people(axes, sorted({study.design.n for study in planned.studies}))
    left.set_ylim(0)
    left.set_ylabel("Width of the interval")
    right.set_ylim(-3, 103)
    right.set_ylabel("Excludes zero (% of studies)")
    left.plot([], [], color=INK, linewidth=0.9, linestyle=(0, (2, 1)), label="not identified")
    figure.legend(loc="outside upper center", ncols=2)
    caption = (
        "Expected width of the interval, with the part that is not identified dashed, and the chance that it excludes "
        "zero."
    )
    if len(families) > len(shown):
        caption += f" The first {len(shown)} of {len(families)} families of designs are drawn."
    return figure, caption
