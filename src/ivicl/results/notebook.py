"""A result as a notebook shows it: the summary's lines as a table, the ladder as a picture, and the warnings."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ivicl.results import tables
from ivicl.results.report.markup import FRAME, escape, svg_with_own_ids

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult

NAME = "text-align:left;font-weight:600;white-space:nowrap;vertical-align:top;padding:2px 1em 2px 0"
VALUE = "text-align:left;padding:2px 0"
HEADLINE = "color:#fff;background:#a61b1b;padding:.5em .8em;font-weight:600;margin:0 0 .6em"


def notebook_html(result: BoundsResult) -> str:
    """One HTML element with inline styles, because notebooks strip style sheets."""
    headline = result.diagnostics.headline
    parts = [f'<p style="{HEADLINE}" role="alert">{escape(headline)}</p>'] if headline else []
    rows = "".join(
        f'<tr style="background:none"><th style="{NAME}">{escape(name.strip())}</th>'
        f'<td style="{VALUE}">{escape(value)}</td></tr>'
        for name, value in tables.pairs(result)
    )
    parts.append(f'<table style="border-collapse:collapse;color:inherit">{rows}</table>')
    if result.ladder is not None:
        picture = result.plot("ladder")
        svg = picture.svg()
        # All cells of a notebook share one namespace of ids, and the same result may be shown twice.
        own = "i" + hashlib.sha256(svg.encode()).hexdigest()[:8]
        label = escape(picture.caption)
        parts.append(f'<div role="img" aria-label="{label}">{svg_with_own_ids(svg, own)}</div>')
    sentences = [f"[{f.grade}] {f.text}" for f in result.diagnostics.worth_reading]
    sentences += result.warnings
    if sentences:
        items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
        parts.append(f'<ul style="margin:.4em 0">{items}</ul>')
    return f'<div style="{FRAME}">{"".join(parts)}</div>'
