"""A report of headings, paragraphs, tables and figures, written once and rendered as Markdown and as one HTML file."""

from __future__ import annotations

import base64
import html
from dataclasses import dataclass, field
from pathlib import Path

from ivicl.benchmarks.compare import ComparedTable, body, caption, header, markdown_table

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px; display: block; overflow-x: auto }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
th { border-bottom: 2px solid #888 } img { max-width: 100% } p.caption { color: #555; font-size: 13px }
"""


@dataclass
class Report:
    """The report's blocks in order, each rendered both as Markdown and as HTML."""

    title: str
    markdown: list[str] = field(default_factory=list)
    html: list[str] = field(default_factory=list)

    def heading(self, text: str, level: int = 2) -> None:
        self.markdown.append(f"{'#' * level} {text}\n")
        self.html.append(f"<h{level}>{html.escape(text)}</h{level}>")

    def paragraph(self, text: str) -> None:
        self.markdown.append(text + "\n")
        self.html.append(f"<p>{html.escape(text)}</p>")

    def table(self, head: list[str], lines: list[list[str]]) -> None:
        self.markdown.append(markdown_table(head, lines) + "\n")
        cells = "".join(f"<th>{html.escape(c)}</th>" for c in head)
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in line) + "</tr>" for line in lines)
        self.html.append(f"<table><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>")

    def compared(self, table: ComparedTable) -> None:
        """Add one table of the paper with our numbers beside it."""
        self.heading(table.title, 3)
        self.paragraph(caption(table))
        self.table(header(table), body(table))

    def figure(self, path: Path, text: str) -> None:
        """Add a figure: the Markdown links to the file, the HTML embeds it."""
        self.markdown.append(f"![{text}]({path.name})\n\n{text}\n")
        picture = base64.b64encode(path.read_bytes()).decode()
        self.html.append(f'<img alt="{html.escape(text)}" src="data:image/png;base64,{picture}">')
        self.html.append(f'<p class="caption">{html.escape(text)}</p>')

    def write(self, folder: Path, stem: str = "report") -> tuple[Path, Path]:
        plain, page = folder / f"{stem}.md", folder / f"{stem}.html"
        plain.write_text(f"# {self.title}\n\n" + "\n".join(self.markdown), encoding="utf-8")
        title = html.escape(self.title)
        page.write_text(
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f"<style>{_STYLE}</style></head><body><h1>{title}</h1>{''.join(self.html)}</body></html>",
            encoding="utf-8",
        )
        return plain, page
