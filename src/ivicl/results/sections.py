"""Answers to further questions, in a report and in a notebook: sentences, a picture, a table and the picture's data."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ivicl.errors import InputError
from ivicl.results.pictures.picture import Picture
from ivicl.results.report.markup import FRAME, escape, svg_with_own_ids


@dataclass(frozen=True)
class Section:
    """One answer for a reader."""

    title: str
    sentences: tuple[str, ...]
    headings: Sequence[str]
    lines: Sequence[Sequence[str]]
    """The lines of the table."""
    picture: Picture

    def parts(self, figure: str) -> str:
        """The section as HTML; `figure` is its picture, already as HTML."""
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences)
        return said + figure + self._table() + self._data()

    def _table(self) -> str:
        # Styled inline too, because notebooks strip style sheets.
        place = 'style="text-align:left;padding:2px .9em 2px 0"'
        head = "".join(f"<th {place}>{escape(heading)}</th>" for heading in self.headings)
        # On a phone the headings are hidden, and each cell shows its own.
        names = ["", *(f' data-label="{escape(heading)}"' for heading in self.headings[1:])]
        cells = ([f"<td {place}{n}>{escape(c)}</td>" for n, c in zip(names, line, strict=True)] for line in self.lines)
        rows = map("".join, cells)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f'<table class="wide"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    def _data(self) -> str:
        """What the picture shows, to copy."""
        csv = escape(str(self.picture.to_frame().write_csv()).rstrip("\n"))
        return f'<details><summary>Data behind the picture</summary><pre style="overflow:auto">{csv}</pre></details>'

    def notebook(self) -> str:
        """One HTML element with inline styles."""
        svg = self.picture.svg()
        # All cells of a notebook share one namespace of ids, and the same picture may be shown twice.
        own = "i" + hashlib.sha256(svg.encode()).hexdigest()[:8]
        label = escape(self.picture.caption)
        figure = f'<div role="img" aria-label="{label}">{svg_with_own_ids(svg, own)}</div>'
        return f'<div style="{FRAME}"><h3>{escape(self.title)}</h3>{self.parts(figure)}</div>'


@runtime_checkable
class HasSection(Protocol):
    """What `sensitivity`, `by`, `compare` and `plan` return."""

    def section(self) -> Section: ...


def sections_of(also: Sequence[Any]) -> list[Section]:
    """The sections that a report is to show besides the result."""
    for each in also:
        if not isinstance(each, HasSection):
            raise InputError(
                "also takes a list of what sensitivity, by, compare and plan give back, but has a "
                f"{type(each).__name__}."
            )
    return [each.section() for each in also]
