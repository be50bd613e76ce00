"""The glossary is linked on every page of the site, where its words are first met."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))
import glossary_hook  # noqa: E402

sys.path.insert(0, str(ROOT / "tutorials"))
import notebooks  # noqa: E402

PAGES = {path.relative_to(ROOT / "docs").as_posix(): path for path in sorted((ROOT / "docs").rglob("*.md"))}
TUTORIALS = {f"tutorials/{name}.md": name for name in notebooks.NAMES}


def content(page: str) -> str:
    if page in PAGES:
        return PAGES[page].read_text(encoding="utf-8")
    cells = notebooks.cells(notebooks.source(TUTORIALS[page]))
    return "\n\n".join(text if kind == "markdown" else f"```python\n{text}\n```" for kind, text in cells)


def prose(markdown: str) -> str:
    """Written anew, by lines: what a reader reads as text, with links as «anchor»."""
    kept, code = [], False
    for line in markdown.splitlines():
        if line.startswith(("```", "~~~")):
            code = not code
        elif not code and not line.startswith(("#", ":::", "    ", "![", "<!--")):
            kept.append(line)
    text = re.sub(r"\[[^\]]*\]\([^)]*glossary\.md#([\w-]+)\)", r"«\1»", "\n".join(kept))
    return re.sub(r"`[^`\n]+`|!?\[[^\]]*\]\([^)]*\)|<[^>\n]+>", " ", text)


@pytest.mark.parametrize("page", [*(page for page in PAGES if page != "glossary.md"), *TUTORIALS])
def test_words_are_linked_where_they_are_first_met(page):
    text = prose(glossary_hook.linked(content(page), page))
    for anchor, words in glossary_hook.entries().items():
        first = words.search(text)
        if first:
            assert 0 <= text.find(f"«{anchor}»") < first.start(), f"{page}: {first[0]!r} comes before its link"


def test_every_page_that_readers_begin_with_has_links():
    for page in ("quick-start.md", "interval.md", "assumptions.md", "designs.md", "estimands.md", "from-r.md"):
        assert "glossary.md#" in glossary_hook.linked(content(page), page), page
    assert "](../glossary.md#late)" in glossary_hook.linked("The LATE.", "tutorials/trialist.md")


def test_what_is_not_prose_is_left_alone():
    left = "# The LATE\n\n```text\nLATE\n```\n\n`LATE` [LATE](x.md) <b title='LATE'> ![the LATE](a.svg)\n\nToo late.\n"
    assert glossary_hook.linked(left, "a.md") == left


def test_the_first_of_an_entry_is_linked_once():
    assert glossary_hook.linked("Defiers, compliers and defiers.", "a.md") == (
        "[Defiers](glossary.md#types), compliers and defiers."
    )
    by_hand = "A [complier](glossary.md#types) and a defier."
    assert glossary_hook.linked(by_hand, "a.md") == by_hand


def test_the_site_uses_it():
    assert "docs/glossary_hook.py" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_what_a_notebook_printed_is_left_alone():
    """A link in a cell of an HTML table would be shown as its Markdown."""
    table = "<style>\n.late {}</style><small>LATE</small><table>\n<th>LATE</th>\n</table>"
    printed = f'<div class="output"><div>{table}</div></div>'
    assert glossary_hook.linked(printed, "tutorials/a.md") == printed
    assert glossary_hook.linked(f"{printed}\n\nThe LATE.", "tutorials/a.md").startswith(printed)
