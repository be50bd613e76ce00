"""Text and pictures as HTML, shared by the report and the notebook."""

from __future__ import annotations

import html

# It sets its own background and colour: a dark notebook would otherwise show dark lines on a dark page.
FRAME = "background:#fff;color:#1f2933;padding:.8em 1em;max-width:52em;font-family:sans-serif;font-size:13px"


def escape(text: str) -> str:
    """Text as HTML; a number and its unit stay on one line."""
    return html.escape(text).replace(" %", "\u00a0%").replace("F = ", "F\u00a0=\u00a0")


def svg_with_own_ids(svg: str, own: str) -> str:
    """The picture with `own` in front of its ids, because all SVGs in a page share one namespace of ids."""
    svg = svg.replace('id="', f'id="{own}').replace("url(#", f"url(#{own}")
    return svg.replace('xlink:href="#', f'xlink:href="#{own}')
