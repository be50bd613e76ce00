"""Bounds against how far an assumption may fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ivicl.methods.estimands import estimand
from ivicl.results.pictures.picture import ACCENT, INK, SECOND, SOFT, Picture, legend_above, new_axes, styled

if TYPE_CHECKING:
    from ivicl.results.sensitivity import Sensitivity


def sensitivity(found: Sensitivity) -> Picture:
    """The estimated bounds as lines, the interval as a band around them, and where the sign is lost."""
    with styled():
        return _drawn(found)


def _drawn(found: Sensitivity) -> Picture:
    figure, axes = new_axes(height=3.3)
    percent = [100 * eps for eps in found.eps]
    axes.fill_between(percent, found.lower, found.upper, color=SOFT, alpha=0.45, linewidth=0, label=f"{found.level}")
    for end, label in ((found.estimate_lower, "estimated bounds"), (found.estimate_upper, None)):
        axes.plot(percent, end, color=ACCENT, linewidth=1.4, label=label)
    axes.axhline(0, color=INK, linewidth=0.6, linestyle=(0, (3, 3)))
    point = found.breakdown
    if point and point <= found.eps[-1]:
        axes.axvline(100 * point, color=SECOND, linewidth=1.0, linestyle=(0, (2, 1)))
        axes.plot(
            [100 * point], [0], "o", color=SECOND, markersize=4, label=f"sign uncertain beyond {100 * point:.3g} %"
        )
    axes.margins(x=0)
    axes.set_xlabel(found.relaxation.axis)
    asked = estimand(found.estimand)
    axes.set_ylabel(f"{asked.short[:1].upper()}{asked.short[1:]}")
    legend_above(axes)
    rows = found.rows()
    data: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in rows[0]}
    caption = "Bounds against the share of people for whom the assumption may fail; the band allows for sampling error."
    return Picture("sensitivity", figure, data, caption)
