"""The posterior of the effect, and the interval at every level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ivicl.errors import InputError
from ivicl.methods.estimands import estimand
from ivicl.results.pictures.picture import ACCENT, INK, SECOND, SOFT, Picture, legend_above, mark_zero, new_axes

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult


HUMPS = "Between the ends of the identified set the shape comes from the prior, not from the data."


def posterior(result: BoundsResult) -> Picture:
    """The posterior of the effect, its interval, the ends of the identified set and the classical bounds."""
    if result.posterior is None:
        whose = f"method '{result.method}' has no posterior of the {result.estimand}"
        raise InputError(f"{whose} to draw; plot('ladder') shows its interval.")
    figure, axes = new_axes(height=3.1)
    law = result.posterior
    middles, density = (law.edges[1:] + law.edges[:-1]) / 2, law.probabilities / np.diff(law.edges)
    inside = (middles >= result.lower) & (middles <= result.upper)
    axes.fill_between(middles, density, where=inside, color=SOFT, alpha=0.55, linewidth=0, step="mid")
    axes.plot(middles, density, color=ACCENT, linewidth=1.2, label="posterior of the effect")
    data: dict[str, list[Any]] = {"effect": middles.tolist(), "density": density.tolist()}
    top = float(density.max())
    if result.identified_set is not None:
        for name, end in (("lower", result.identified_set.lower), ("upper", result.identified_set.upper)):
            height = np.interp(middles, (end.edges[1:] + end.edges[:-1]) / 2, end.probabilities / np.diff(end.edges))
            data[f"density_of_{name}_end"] = height.tolist()
            # The ends are known far better than the effect: scale them to one height, to show only place and spread.
            scaled = height * 0.5 * top / max(float(height.max()), 1e-300)
            label = "ends of the identified set (scaled)" if name == "lower" else None
            axes.plot(middles, scaled, color=SECOND, linewidth=0.9, label=label)
    axes.set_ylim(-0.24 * top, 1.12 * top)
    _bar(axes, result.lower, result.upper, -0.08 * top, ACCENT, f"interval, {result.level}")
    classical = result.ladder.sharp if result.ladder else None
    if classical and classical.method != result.method:
        _bar(axes, classical.lower, classical.upper, -0.17 * top, INK, f"{classical.label}, {classical.level}")
    mark_zero(axes)
    axes.set_xlim(*_view(result))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(_effect_label(result))
    legend_above(axes)
    # Say it in the picture itself: a file that is passed on has no caption, and the humps look like findings.
    figure.supxlabel(HUMPS, fontsize=8, fontstyle="italic", color=SECOND)
    held = float(law.probabilities[inside].sum())
    caption = (
        f"Posterior of the {estimand(result.estimand).short}; the shaded part, inside the interval, holds "
        f"{100 * held:.3g} % of it. Between the ends of the identified set its shape comes from the prior, not from "
        "the data."
    )
    return Picture("posterior", figure, data, caption)


def levels(result: BoundsResult) -> Picture:
    """The interval against its credibility: how much the conclusion depends on the choice of alpha."""
    if not result.is_credible:
        raise InputError(
            f"method '{result.method}' has no posterior of the {result.estimand}, so it has one interval only."
        )
    alphas = np.concatenate([[0.001, 0.002, 0.005], np.linspace(0.01, 0.99, 99)])
    lower, upper = np.array([result.interval(float(alpha)) for alpha in alphas]).T
    credibility = 100 * (1 - alphas)
    figure, axes = new_axes()
    axes.fill_betweenx(credibility, lower, upper, color=SOFT, alpha=0.55, linewidth=0)
    axes.plot(lower, credibility, color=ACCENT, linewidth=1.2)
    axes.plot(upper, credibility, color=ACCENT, linewidth=1.2)
    asked = 100 * (1 - result.alpha)
    axes.plot(
        [result.lower, result.upper], [asked, asked], color=SECOND, linewidth=1.6, label=f"asked for: {asked:g} %"
    )
    mark_zero(axes)
    axes.set_xlim(*_view(result))
    axes.set_ylim(0, 103)
    axes.set_ylabel("credibility (%)")
    axes.set_xlabel(_effect_label(result))
    legend_above(axes)
    data = {"credibility_percent": credibility.tolist(), "lower": lower.tolist(), "upper": upper.tolist()}
    return Picture("levels", figure, data, "The interval at every level of credibility.")


def _effect_label(result: BoundsResult) -> str:
    asked = estimand(result.estimand)
    unit = asked.unit(result.binary)
    return f"{asked.short[:1].upper()}{asked.short[1:]}{f' ({unit})' if unit else ''}"


def _bar(axes: Any, lower: float, upper: float, height: float, colour: str, label: str) -> None:
    axes.plot([lower, upper], [height, height], color=colour, linewidth=2.4, solid_capstyle="butt", label=label)


def _view(result: BoundsResult) -> tuple[float, float]:
    """The part of the effect's range worth showing: the interval, the classical bounds and zero, with a margin."""
    span = result.outcome_range[1] - result.outcome_range[0]
    shown = [result.lower, result.upper, 0.0]
    if result.posterior is not None:
        shown += list(result.posterior.interval(0.002))
    if result.identified_set is not None:
        ends = result.identified_set
        shown += [float(ends.lower.quantile(0.002)), float(ends.upper.quantile(0.998))]
    classical = result.ladder.sharp if result.ladder else None
    shown += [classical.lower, classical.upper] if classical else []
    margin = 0.06 * (max(shown) - min(shown)) + 0.01 * span
    return max(float(min(shown) - margin), -1.02 * span), min(float(max(shown) + margin), 1.02 * span)
