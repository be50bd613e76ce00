"""Text and pictures as HTML: what the report and the notebook share."""

from __future__ import annotations

import html

# Its own paper and ink: a dark notebook would otherwise show dark lines on a dark page.
FRAME = "background:#fff;color:#1f2933;padding:.8em 1em;max-width:52em;font-family:sans-serif;font-size:13px"


def escape(text: str) -> str:
    """Text as HTML; a number stays on the line of its unit."""
    return html.escape(text).replace(" %", "\u00a0%").replace("F = ", "F\u00a0=\u00a0")


def svg_with_own_ids(svg: str, own: str) -> str:
    """The picture with `own` before its ids: several SVGs in one page share one space of ids."""
    svg = svg.replace('id="', f'id="{own}').replace("url(#", f"url(#{own}")
    return svg.replace('xlink:href="#', f'xlink:href="#{own}')
