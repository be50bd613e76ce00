"""Links each page of the site to the glossary, where one of its words is first met. Nobody has to write the links.

A word counts where it is prose: not in a heading, in code, in a picture, in a table of HTML, in a link or in a tag. A
link that the author wrote to the same entry is enough. Short forms in capitals (LATE, ITT) are met only in capitals.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from pathlib import Path
from typing import Any

GLOSSARY = "glossary.md"
ENTRY = re.compile(r"^\*\*(.+?)\*\* \{ #([\w-]+) \}", flags=re.MULTILINE)
NOT_PROSE = re.compile(
    r"^(?P<fence>```|~~~).*?^(?P=fence)\s*$"  # blocks of code
    r"|^---\n.*?^---\n"  # a page's settings
    r"|^(?::::|#|    ).*?$"  # the reference, headings, indented code
    r"|^\*?\*?!\[.*?$"  # a picture, with its caption
    r"|<(?P<tag>table|style|svg|pre|small)\b.*?</(?P=tag)>"  # what a notebook printed, where links would be plain text
    r"|<!--.*?-->|<[^>\n]+>"
    r"|`[^`\n]+`"
    r"|!?\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\]|\{[^}]*\})?",
    flags=re.MULTILINE | re.DOTALL,
)


@cache
def entries() -> dict[str, re.Pattern[str]]:
    """Anchor -> any of the entry's words, also in the plural."""
    text = (Path(__file__).parent / GLOSSARY).read_text(encoding="utf-8")
    return {anchor: _pattern(words.split(", ")) for words, anchor in ENTRY.findall(text)}


def _pattern(words: list[str]) -> re.Pattern[str]:
    cases = [word if word.isupper() else f"(?i:{re.escape(word)})s?" for word in words]
    return re.compile(rf"(?<![\w-])(?:{'|'.join(cases)})(?![\w-])")


def linked(markdown: str, path: str) -> str:
    """The page with its links; `path` is where it lies in the site."""
    glossary = posixpath.relpath(GLOSSARY, posixpath.dirname(path) or ".")
    taken = [match.span() for match in NOT_PROSE.finditer(markdown)]
    links: dict[int, tuple[int, str]] = {}
    for anchor, words in sorted(entries().items(), key=lambda entry: -len(entry[1].pattern)):  # "soft law" before "law"
        by_hand = markdown.find(f"{GLOSSARY}#{anchor})")
        for met in words.finditer(markdown):
            if 0 <= by_hand < met.start():
                break
            if not any(start < met.end() and met.start() < end for start, end in taken):
                links[met.start()] = met.end(), anchor
                taken.append(met.span())
                break
    for start in sorted(links, reverse=True):
        end, anchor = links[start]
        markdown = f"{markdown[:start]}[{markdown[start:end]}]({glossary}#{anchor}){markdown[end:]}"
    return markdown


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return markdown if page.file.src_uri == GLOSSARY else linked(markdown, page.file.src_uri)
