"""Pictures of a result. Each is an object with its figure and the data behind it.

Figures are made without pyplot: nothing global is touched, nothing pops up, nothing has to be closed.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ivicl.errors import InputError
from ivicl.methods.estimands import AVERAGE, estimand

if TYPE_CHECKING:
    from ivicl.results.comparison import Comparison
    from ivicl.results.ladder import Ladder
    from ivicl.results.result import BoundsResult

INK, ACCENT, SOFT, SECOND = "#1f2933", "#1f5f8b", "#9fb8cc", "#b5541c"
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
    # Ids inside the SVG are hashes: salted with a constant, the same picture is the same file.
    "svg.hashsalt": "ivicl",
    "svg.fonttype": "path",
}


@dataclass(frozen=True, repr=False)
class Picture:
    """A matplotlib figure and what it shows."""

    kind: str
    """A key of PICTURES, or "comparison"."""
    figure: Any
    data: dict[str, list[Any]]
    caption: str

    def __repr__(self) -> str:
        rows = len(next(iter(self.data.values())))
        return f"Picture({self.kind}, {rows} rows of data)"

    def to_frame(self) -> Any:
        """The data behind the picture, as a polars frame."""
        import polars as pl

        return pl.DataFrame(self.data)

    def save(self, path: str | Path) -> Path:
        """Write PNG, PDF, SVG or whatever the suffix says."""
        path = Path(path)
        known = self.figure.canvas.get_supported_filetypes()
        if path.suffix.lstrip(".").lower() not in known:
            raise InputError(
                f"a picture cannot be saved as '{path.name}'; known endings are {', '.join(sorted(known))}."
            )
        try:
            self.figure.savefig(path, dpi=200, metadata=_no_date(path.suffix))
        except OSError as error:
            raise InputError(f"'{path}' cannot be written: {error.strerror}.") from error
        return path

    def svg(self) -> str:
        """The picture as an SVG element, without the XML header."""
        import matplotlib

        buffer = io.StringIO()
        with matplotlib.rc_context(STYLE):
            self.figure.savefig(buffer, format="svg", metadata=_no_date(".svg"), transparent=True)
        text = buffer.getvalue()
        return text[text.index("<svg") :]

    def _repr_svg_(self) -> str:
        return self.svg()


def _no_date(suffix: str) -> dict[str, Any]:
    """No time stamp: the same result gives the same file."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix.lower(), {})


def draw(result: BoundsResult, kind: str) -> Picture:
    """One of the pictures by name."""
    if kind not in PICTURES:
        raise InputError(f"there is no picture '{kind}'; there are {', '.join(PICTURES)}.")
    import matplotlib

    with matplotlib.rc_context(STYLE):
        return PICTURES[kind](result)


def _axes(width: float = 6.4, height: float = 3.0) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _effect_label(result: BoundsResult) -> str:
    asked = estimand(result.estimand)
    unit = asked.unit(result.binary)
    return f"{asked.short[:1].upper()}{asked.short[1:]}{f' ({unit})' if unit else ''}"


def posterior(result: BoundsResult) -> Picture:
    """The posterior of the effect, its interval, the ends of the identified set and the classical bounds."""
    if result.posterior is None:
        raise InputError(f"method '{result.method}' has no posterior to draw; the ladder shows its interval.")
    figure, axes = _axes(height=3.1)
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
            # The ends are far sharper than the effect: drawn to a common height, for place and spread only.
            scaled = height * 0.5 * top / max(float(height.max()), 1e-300)
            label = "ends of the identified set (scaled)" if name == "lower" else None
            axes.plot(middles, scaled, color=SECOND, linewidth=0.9, label=label)
    axes.set_ylim(-0.24 * top, 1.12 * top)
    _bar(axes, result.lower, result.upper, -0.08 * top, ACCENT, f"interval, {result.level}")
    classical = result.ladder.sharp if result.ladder else None
    if classical and classical.method != result.method:
        _bar(axes, classical.lower, classical.upper, -0.17 * top, INK, f"{classical.label} (estimated)")
    axes.axvline(0, color=INK, linewidth=0.6, linestyle=(0, (3, 3)))
    axes.set_xlim(*_view(result))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(_effect_label(result))
    _legend(axes)
    held = float(law.probabilities[inside].sum())
    caption = (
        f"Posterior of the {estimand(result.estimand).short}; the shaded part, inside the interval, holds "
        f"{100 * held:.3g} % of it. Between the ends of the identified set its shape comes from the prior, not from "
        "the data."
    )
    return Picture("posterior", figure, data, caption)


def _legend(axes: Any) -> None:
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, columnspacing=1.5, handlelength=1.6)


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


def levels(result: BoundsResult) -> Picture:
    """The interval against its credibility: how much of the conclusion hangs on the choice of alpha."""
    if not result.is_credible:
        raise InputError(f"method '{result.method}' has no posterior, so it has one interval only.")
    alphas = np.concatenate([[0.001, 0.002, 0.005], np.linspace(0.01, 0.99, 99)])
    lower, upper = np.array([result.interval(float(alpha)) for alpha in alphas]).T
    credibility = 100 * (1 - alphas)
    figure, axes = _axes()
    axes.fill_betweenx(credibility, lower, upper, color=SOFT, alpha=0.55, linewidth=0)
    axes.plot(lower, credibility, color=ACCENT, linewidth=1.2)
    axes.plot(upper, credibility, color=ACCENT, linewidth=1.2)
    asked = 100 * (1 - result.alpha)
    axes.plot(
        [result.lower, result.upper], [asked, asked], color=SECOND, linewidth=1.6, label=f"asked for: {asked:g} %"
    )
    axes.axvline(0, color=INK, linewidth=0.6, linestyle=(0, (3, 3)))
    axes.set_xlim(*_view(result))
    axes.set_ylim(0, 103)
    axes.set_ylabel("credibility (%)")
    axes.set_xlabel(_effect_label(result))
    _legend(axes)
    data = {"credibility_percent": credibility.tolist(), "lower": lower.tolist(), "upper": upper.tolist()}
    return Picture("levels", figure, data, "The interval at every level of credibility.")


def ladder(result: BoundsResult) -> Picture:
    """The ladder of assumptions: one interval a rung."""
    if result.ladder is None:
        raise InputError("this result holds no ladder; fit it with this version of ivicl.")
    strong = [rung.method == result.method for rung in result.ladder]
    return _bars("ladder", result.ladder, strong, result.binary, "What each assumption buys.")


def comparison(compared: Comparison) -> Picture:
    """Methods side by side: a strong bar allows for sampling error, a thin one does not."""
    import matplotlib

    rungs = compared.ladder
    strong = [rung.sampling_error for rung in rungs]
    with matplotlib.rc_context(STYLE):
        picture = _bars("comparison", rungs, strong, compared.results[0].binary, "Methods side by side.")
        if not all(strong):  # said in the picture too: a file that is passed on has no caption
            axes = picture.figure.axes[0]
            axes.plot([], [], color=INK, linewidth=1.8, label="estimated: no allowance for sampling error")
            _legend(axes)
    return picture


def _bars(kind: str, rungs: Ladder, strong: list[bool], binary: bool, caption: str) -> Picture:
    """One bar a rung, the first on top; those of another estimand are dashed."""
    figure, axes = _axes(height=0.55 + 0.5 * len(rungs))
    for place, (rung, thick) in enumerate(reversed(list(zip(rungs, strong, strict=True)))):
        colour = SECOND if rung.another_estimand else ACCENT if thick else INK
        line = (0, (2, 1)) if rung.another_estimand else "-"
        flat: dict[str, Any] = {"solid_capstyle": "butt", "dash_capstyle": "butt"}  # no further than the ends
        width = 3.2 if thick else 1.8
        axes.plot([rung.lower, rung.upper], [place] * 2, color=colour, linewidth=width, linestyle=line, **flat)
        for end in (rung.lower, rung.upper):
            axes.plot([end, end], [place - 0.16, place + 0.16], color=colour, linewidth=1.2)
        points = {rung.estimate_lower, rung.estimate_upper} if rung.sampling_error else set()
        for point in points:
            if point is not None and rung.lower <= point <= rung.upper:
                axes.plot([point], [place], "o", color=colour, markersize=4)
    axes.axvline(0, color=INK, linewidth=0.6, linestyle=(0, (3, 3)))
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


def compliance(result: BoundsResult) -> Picture:
    """Who was treated in each arm of the instrument."""
    people = np.asarray(result.diagnostics.compliance.people, dtype=float)
    share = people / people.sum(1, keepdims=True)
    figure, axes = _axes(height=1.7)
    names = []
    for arm in (0, 1):
        place = 1 - arm
        axes.barh(place, share[arm, 1], color=ACCENT, height=0.56, label="treated" if arm else None)
        axes.barh(
            place, share[arm, 0], left=share[arm, 1], color=SOFT, height=0.56, label="not treated" if arm else None
        )
        for t, left in ((1, 0.0), (0, share[arm, 1])):
            text = f"{100 * share[arm, t]:.1f} %  ({people[arm, t]:,.0f})"
            if share[arm, t] > 0.0115 * len(text):  # else it would not fit into its part of the bar
                colour = "white" if t else INK
                axes.text(left + share[arm, t] / 2, place, text, ha="center", va="center", color=colour, fontsize=8)
        names.append(f"Z = {arm}")
    axes.set_yticks([1, 0], names)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    _legend(axes)
    data: dict[str, list[Any]] = {
        "z": [0, 0, 1, 1],
        "t": [0, 1, 0, 1],
        "people": [int(v) for v in people.ravel()],
        "share": [float(v) for v in share.ravel()],
    }
    return Picture("compliance", figure, data, "Treatment taken in each arm of the instrument.")


PICTURES: dict[str, Callable[[BoundsResult], Picture]] = {
    "posterior": posterior,
    "levels": levels,
    "ladder": ladder,
    "compliance": compliance,
}
