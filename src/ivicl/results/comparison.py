"""`Comparison`: several methods on the same data, side by side; what `ivicl.compare` returns."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ivicl._shared.frames import POLARS, as_kind
from ivicl._shared.records import Record, json_safe
from ivicl.methods.assumptions import in_reading_order
from ivicl.results import rows, saved
from ivicl.results.ladder import Ladder, Rung
from ivicl.results.result import BoundsResult
from ivicl.results.tables import WIDTH, bullets, framed, latex_table, markdown_table
from ivicl.results.wording import interval, number
from ivicl.version import __version__

if TYPE_CHECKING:
    from ivicl.results.pictures import Picture
    from ivicl.results.sections import Section

KIND, SCHEMA = "ivicl-comparison", 1
"""The kind and schema that its JSON is stamped with."""
OWN_COLUMNS = ("label", "assumes", "sampling_error", "adjusted")
"""Columns that come before those of `rows.COLUMNS`: name for readers, keys of the assumptions joined by commas, whether
the interval allows for sampling error, and whether the covariates were used. docs/compare.md says what they mean."""


@dataclass(frozen=True)
class Entry(Record):
    """One method of a comparison: its result, or the reason why it has none."""

    method: str
    label: str
    """Its name for readers, with the options that were given."""
    alpha: float
    assumptions: tuple[str, ...]
    sampling_error: bool
    """The interval allows for sampling error."""
    result: BoundsResult | None = None
    error: str | None = None
    """Why there is no result, in a sentence."""

    @property
    def assumes(self) -> str:
        return ", ".join(in_reading_order(self.assumptions))

    def row(self) -> dict[str, Any]:
        """Its row of `Comparison.to_frame`."""
        own = {
            "label": self.label,
            "assumes": self.assumes,
            "sampling_error": self.sampling_error,
            "adjusted": self.result.adjusted if self.result else None,
        }
        if self.result is not None:
            return own | self.result.row()
        failed = {"method": self.method, "alpha": self.alpha, "error": self.error, "version": __version__}
        return own | rows.blank_row() | failed

    def cells(self) -> list[str]:
        """Its line in a table for readers."""
        if self.result is None:
            return [self.label, "", "no answer", "", "", self.assumes]
        rung = Rung.of(self.result, self.label)
        allowed = "yes" if self.sampling_error else "no"
        ends = interval(self.result.lower, self.result.upper)
        return [self.label, self.result.estimand, ends, rung.level, allowed, self.assumes]


HEADINGS = ["Method", "Estimand", "Interval", "Kind", "Allows for sampling error", "Assumes"]


@dataclass(frozen=True, repr=False)
class Comparison:
    """Several methods on the same data: one table, one picture, one export.

    Examples:
        >>> from ivicl import compare, datasets
        >>> df = datasets.load("cholestyramine")
        >>> roles = {"outcome": "y", "treatment": "t", "instrument": "z", "weights": "people"}
        >>> both = compare(df, methods=["manski", "late"], **roles)
        >>> both.to_frame()["estimand"].to_list(), len(both.to_dict()["results"]), both.to_json()[:7]
        (['ATE', 'LATE'], 2, '{"kind"')
        >>> both.summary().count("Methods side by side"), both.to_latex().count("{tabular}"), both.to_markdown()[:8]
        (1, 2, '| Method')
        >>> both.plot(), both.section().title
        (Picture(comparison, 2 rows of data), 'Methods side by side')
    """

    entries: tuple[Entry, ...]
    """One per method, in the order asked for; an entry without a result says why."""
    frame_kind: str = field(default=POLARS, compare=False)
    """The kind of table in which `to_frame` answers: the caller's."""

    @property
    def results(self) -> tuple[BoundsResult, ...]:
        """The results of the methods that could run."""
        return tuple(entry.result for entry in self.entries if entry.result is not None)

    @property
    def failed(self) -> tuple[Entry, ...]:
        """The methods that could not run; `error` says why."""
        return tuple(entry for entry in self.entries if entry.result is None)

    @property
    def headline(self) -> str:
        """What the data say against the design (grade stop), before any bound; empty if there is nothing."""
        return self.results[0].diagnostics.headline

    @property
    def ladder(self) -> Ladder:
        """The methods that could run as rungs, in the order asked for."""
        return Ladder(tuple(Rung.of(e.result, e.label) for e in self.entries if e.result is not None))

    def __repr__(self) -> str:
        failed = f", {len(self.failed)} without an answer" if self.failed else ""
        return f"Comparison({', '.join(e.method for e in self.entries)}; n = {self.results[0].n:,}{failed})"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """A table for a reader: each interval and what it is, then what each method assumes."""
        first = self.results[0]
        low, high = first.outcome_range
        text = [f"{first.n:,} people; outcome between {number(low)} and {number(high)}; design {first.grade}"]
        text += ["-" * WIDTH, *self.ladder.lines()]
        sections = {
            "No answer": [f"{e.label}: {e.error}" for e in self.failed],
            "What each assumes": [f"{e.label}: {e.assumes}" for e in self.entries],
            "No allowance for sampling error": [e.label for e in self.entries if e.result and not e.sampling_error],
        }
        for heading, sentences in sections.items():
            text += ["-" * WIDTH, heading] if sentences else []
            text += bullets(sentences, break_on_hyphens=False)
        return framed("Methods side by side", text, self.headline, __version__)

    def to_frame(self) -> Any:
        """One row per method, in a frame of the caller's kind: OWN_COLUMNS, then the columns of every row."""
        return as_kind(rows.frame_of([entry.row() for entry in self.entries], OWN_COLUMNS), self.frame_kind)

    def to_dict(self) -> dict[str, Any]:
        """The rows, and the whole results in the same order, with null for a method without one."""
        return {
            "methods": json_safe([entry.row() for entry in self.entries]),
            "results": [json_safe(entry.result) for entry in self.entries],
        }

    def to_json(self, indent: int | None = None) -> str:
        """The same as JSON, stamped with its kind and schema."""
        return json.dumps(saved.stamped(self.to_dict(), KIND, SCHEMA), indent=indent, allow_nan=False)

    def to_markdown(self) -> str:
        """The table of methods."""
        return markdown_table(HEADINGS, [entry.cells() for entry in self.entries], self.headline)

    def to_latex(self) -> str:
        """The table of methods for a paper."""
        return latex_table(HEADINGS, [entry.cells() for entry in self.entries], self.headline)

    def section(self) -> Section:
        """The comparison as a section of a report."""
        from ivicl.results.sections import Section

        return Section(
            "Methods side by side", _said(self), HEADINGS, [entry.cells() for entry in self.entries], self.plot()
        )

    def _repr_html_(self) -> str:
        return self.section().notebook()

    def plot(self) -> Picture:
        """One bar per method, with estimates marked and other estimands dashed and labelled."""
        from ivicl.results.pictures import comparison

        return comparison(self).below(self.headline)


def _said(compared: Comparison) -> tuple[str, ...]:
    """What a reader must know before the intervals are compared."""
    failed = tuple(f"{entry.label}: {entry.error}" for entry in compared.failed)
    return ((compared.headline,) if compared.headline else ()) + failed
