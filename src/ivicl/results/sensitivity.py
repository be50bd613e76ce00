"""`Sensitivity`: bounds against how far an assumption may fail; what `BoundsResult.sensitivity` returns."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ivicl._shared.frames import POLARS, as_kind
from ivicl._shared.records import NOT_SAVED, Record
from ivicl.errors import InputError
from ivicl.methods.base import IntervalKind
from ivicl.results.relaxed import RELAXATIONS, Curves, Relaxation
from ivicl.results.relaxed_words import breakdown_sentence, notes
from ivicl.results.source import NO_DATA
from ivicl.results.tables import WIDTH, aligned, bullets, framed, latex_table, markdown_table
from ivicl.results.wording import interval, level
from ivicl.version import __version__

if TYPE_CHECKING:
    from ivicl.results.pictures import Picture
    from ivicl.results.result import BoundsResult
    from ivicl.results.sections import Section

SCHEMA = 1
"""The schema that its JSON is stamped with."""
N_STEPS = 20
"""Steps of the grid of eps."""


@dataclass(frozen=True, repr=False)
class Sensitivity(Record):
    """Bounds on an effect if an assumption fails for a share of at most eps of people.

    Examples:
        >>> from ivicl import IVBounds
        >>> res = IVBounds("balke-pearl").fit_counts([158, 14, 0, 0, 52, 12, 23, 78])
        >>> fragile = res.sensitivity("exclusion", eps=[0, 0.1])
        >>> round(fragile.breakdown_estimate, 3), fragile.summary().count("Estimated bounds")
        (0.391, 1)
        >>> [row["sign"] for row in fragile.rows()], fragile.to_frame()["eps"].to_list()
        (['positive', 'positive'], [0.0, 0.1])
        >>> fragile.to_markdown()[:11], fragile.to_latex().count("{tabular}"), fragile.to_json()[:9]
        ('| Fails for', 2, '{"schema"')
        >>> fragile.plot(), fragile.section().title
        (Picture(sensitivity, 2 rows of data), 'If the instrument acts on the outcome by itself')
    """

    kind: str
    """"exclusion", "independence" or "defiers"."""
    estimand: str
    """What is bounded: "ATE", or "LATE" for defiers."""
    eps: tuple[float, ...]
    """Shares of people for whom the assumption may fail."""
    estimate_lower: tuple[float, ...]
    """At the estimated law, without allowance for sampling error; in outcome units, one for each eps."""
    estimate_upper: tuple[float, ...]
    lower: tuple[float, ...]
    """Lower ends of the interval that allows for sampling error."""
    upper: tuple[float, ...]
    alpha: float
    interval_kind: IntervalKind
    breakdown: float | None
    """The smallest eps at which the interval no longer tells the sign: 0 if it never does, None if it always does."""
    breakdown_estimate: float | None
    """The same for the estimated bounds, without allowance for sampling error."""
    sentence: str
    """What that means, for a reader."""
    notes: tuple[str, ...]
    binary: bool
    """The effect is a difference of probabilities."""
    headline: str = ""
    """What the data say against the design (grade stop), before any bound; empty if there is nothing."""
    version: str = __version__
    frame_kind: str = field(default=POLARS, compare=False, metadata=NOT_SAVED)
    """The kind of table in which `to_frame` answers: the caller's."""

    def __repr__(self) -> str:
        point = "none" if self.breakdown is None else f"{self.breakdown:.3g}"
        return f"Sensitivity({self.kind}, {self.estimand}, breakdown {point}, {len(self.eps)} values of eps)"

    def __str__(self) -> str:
        return self.summary()

    @property
    def relaxation(self) -> Relaxation:
        return RELAXATIONS[self.kind]

    @property
    def level(self) -> str:
        """What kind of interval it is, in a few words."""
        return level(self.interval_kind, self.alpha, "set" if self.estimand == "ATE" else "effect")

    def rows(self) -> list[dict[str, Any]]:
        """One row for each eps."""
        columns = (self.eps, self.estimate_lower, self.estimate_upper, self.lower, self.upper)
        names = ("eps", "estimate_lower", "estimate_upper", "lower", "upper")
        rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
        same = {"kind": self.kind, "estimand": self.estimand}
        return [same | row | {"sign": _sign(row["lower"], row["upper"]), "alpha": self.alpha} for row in rows]

    def to_frame(self) -> Any:
        """One row for each eps, in a frame of the caller's kind."""
        import polars as pl

        return as_kind(pl.DataFrame(self.rows()), self.frame_kind)

    def to_json(self, indent: int | None = None) -> str:
        """Everything, stamped with its schema."""
        # Not stamped with a kind, because here `kind` is the assumption that may fail.
        return json.dumps({"schema": SCHEMA} | self.to_dict(), indent=indent, allow_nan=False)

    def _cells(self) -> list[list[str]]:
        return [
            [
                f"{100 * row['eps']:.4g} %",
                interval(row["estimate_lower"], row["estimate_upper"]),
                interval(row["lower"], row["upper"]),
                row["sign"],
            ]
            for row in self.rows()
        ]

    @property
    def _headings(self) -> list[str]:
        return ["Fails for", "Estimated bounds", f"Interval, {self.level}", "Sign"]

    def to_markdown(self) -> str:
        """The table and the sentence."""
        return f"{markdown_table(self._headings, self._cells(), self.headline)}\n\n{self.sentence}"

    def to_latex(self) -> str:
        """The table for a paper."""
        return latex_table(self._headings, self._cells(), self.headline)

    def summary(self) -> str:
        """The sentence, the table and what to know about them."""
        text = [*textwrap.wrap(self.sentence, WIDTH), "", *aligned([self._headings, *self._cells()])]
        text += ["-" * WIDTH, *bullets(self.notes)]
        return framed(self.relaxation.title, text, self.headline, self.version)

    def section(self) -> Section:
        """The analysis as a section of a report."""
        from ivicl.results.sections import Section

        sentences = (*((self.headline,) if self.headline else ()), self.sentence, *self.notes)
        return Section(self.relaxation.title, sentences, self._headings, self._cells()[::2], self.plot())

    def _repr_html_(self) -> str:
        return self.section().notebook()

    def plot(self) -> Picture:
        """The bounds against eps, with the breakdown point."""
        from ivicl.results.pictures.sensitivity import sensitivity as picture

        return picture(self).below(self.headline)


def sensitivity(result: BoundsResult, kind: str, eps: Sequence[float] | None = None) -> Sensitivity:
    """See `BoundsResult.sensitivity`."""
    check_kind(kind)
    asked = None if eps is None else checked_eps(eps)
    if result.source is None:
        raise InputError(NO_DATA.format(what="its sensitivity"))
    if result.source.data.lost is not None:
        raise InputError(
            "sensitivity does not know lost outcomes that may have been anything; fit with missing_outcome='drop'."
        )
    relaxation = RELAXATIONS[kind]
    curves = Curves(result, result.source, relaxation)
    breakdown, breakdown_estimate = (_breakdown(curve, curves.most) for curve in (curves.interval, curves.estimate))
    grid = asked if asked is not None else _grid(breakdown_estimate, curves.most)
    estimates, ends = curves.estimate(grid), curves.interval(grid)
    start = curves.interval(np.zeros(1))
    at_zero = float(start[0][0]), float(start[1][0])
    return Sensitivity(
        kind=kind,
        estimand=relaxation.estimand,
        eps=tuple(grid.tolist()),
        estimate_lower=tuple(estimates[0].tolist()),
        estimate_upper=tuple(estimates[1].tolist()),
        lower=tuple(ends[0].tolist()),
        upper=tuple(ends[1].tolist()),
        alpha=result.alpha,
        interval_kind=curves.interval_kind,
        breakdown=breakdown,
        breakdown_estimate=breakdown_estimate,
        sentence=breakdown_sentence(relaxation, result.binary, at_zero, breakdown, breakdown_estimate, curves),
        notes=notes(result, curves),
        binary=result.binary,
        headline=result.diagnostics.headline,
        frame_kind=result.frame_kind,
    )


def check_kind(kind: str) -> None:
    if kind not in RELAXATIONS:
        raise InputError(f"kind must be one of {', '.join(RELAXATIONS)}, but is {kind!r}.")


def checked_eps(eps: Sequence[float]) -> np.ndarray:
    """The shares in rising order; an InputError for anything that is not a share."""
    try:
        values = np.unique(np.asarray(eps, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"eps must be shares of people between 0 and 1, but is {eps!r}.") from None
    bad = values[~((values >= 0) & (values <= 1))]
    if not len(values) or len(bad):
        raise InputError(f"eps must be shares of people between 0 and 1, but has {bad[0] if len(bad) else 'none'}.")
    return values


def _grid(breakdown: float | None, most: float) -> np.ndarray:
    """A grid that reaches 1.5 times as far as the estimated bounds tell the sign, rounded up to the next 5 %."""
    top = 1.5 * breakdown if breakdown else min(0.2, most)
    return np.linspace(0.0, min(1.0, max(0.05, math.ceil(20 * top - 1e-9) / 20)), N_STEPS + 1)


def _sign(lower: float, upper: float) -> str:
    return "positive" if lower > 0 else "negative" if upper < 0 else "uncertain"


def _breakdown(curve: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], most: float) -> float | None:
    """The breakdown point, by bisection: the curves only ever widen with eps."""

    def certain(eps: float) -> bool:
        lower, upper = curve(np.array([eps]))
        return _sign(float(lower[0]), float(upper[0])) != "uncertain"

    if not certain(0.0):
        return 0.0
    if certain(most):
        return None
    low, high = 0.0, most
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if certain(middle) else (low, middle)
    return high
