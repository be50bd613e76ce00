"""Who was treated in each arm of the instrument."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ivicl.results.pictures.picture import ACCENT, INK, SOFT, Picture, legend_above, new_axes
from ivicl.results.wording import arm

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult


def compliance(result: BoundsResult) -> Picture:
    """Who was treated in each arm of the instrument."""
    people = np.asarray(result.diagnostics.compliance.people, dtype=float)
    share = people / people.sum(1, keepdims=True)
    figure, axes = new_axes(height=1.7)
    names = []
    for z in (0, 1):
        place = 1 - z
        axes.barh(place, share[z, 1], color=ACCENT, height=0.56, label="treated" if z else None)
        axes.barh(place, share[z, 0], left=share[z, 1], color=SOFT, height=0.56, label="not treated" if z else None)
        for t, left in ((1, 0.0), (0, share[z, 1])):
            text = f"{100 * share[z, t]:.1f} %  ({people[z, t]:,.0f})"
            if share[z, t] > 0.0115 * len(text):  # otherwise it would not fit into its part of the bar
                colour = "white" if t else INK
                axes.text(left + share[z, t] / 2, place, text, ha="center", va="center", color=colour, fontsize=8)
        names.append("\n".join(textwrap.wrap(arm(result, z), 24)))
    axes.set_yticks([1, 0], names)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    legend_above(axes)
    data: dict[str, list[Any]] = {
        "z": [0, 0, 1, 1],
        "t": [0, 1, 0, 1],
        "people": [int(v) for v in people.ravel()],
        "share": [float(v) for v in share.ravel()],
    }
    return Picture("compliance", figure, data, "Treatment taken in each arm of the instrument.")
