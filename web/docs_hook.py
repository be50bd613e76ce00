"""Puts the built page into the documentation's site, under app/, and the rules of encoding on "Try it"."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

DIST = Path(__file__).parent / "dist"
RULES = Path(__file__).parent.parent / "src" / "ivicl" / "data" / "encoding_rules.json"
MARK, RULES_MARK = "<!-- the page -->", "<!-- the rules -->"
LINK = '<a class="md-button md-button--primary" href="app/index.html">Open the page</a>'
NOT_BUILT = (
    "*This copy of the documentation was built without the page: `cd web && npm ci && npm run build` comes first.*"
)


def is_built() -> bool:
    return (DIST / "index.html").is_file()


def on_page_markdown(markdown: str, **_: Any) -> str:
    if RULES_MARK in markdown:
        table = json.loads(RULES.read_text(encoding="utf-8"))
        lines = [f"{k}. {_filled(rule, table)}" for k, rule in enumerate(table["rules"], 1)]
        markdown = markdown.replace(RULES_MARK, "\n".join(lines))
    return markdown.replace(MARK, LINK if is_built() else NOT_BUILT)


def _filled(rule: str, table: dict[str, Any]) -> str:
    """The rule with the values that it names by their place in the table, as in `file.missing`."""

    def value(match: re.Match[str]) -> str:
        found = table[match[1]][match[2]]
        if not isinstance(found, list):
            return str(found)
        return "these: " + ", ".join(f"`{each}`" if each else "empty" for each in found)

    return re.sub(r"`(\w+)\.(\w+)`", value, rule)


def on_post_build(config: Any, **_: Any) -> None:
    if is_built():
        shutil.copytree(DIST, Path(config["site_dir"]) / "app", dirs_exist_ok=True)
