"""Puts the executed tutorials into the documentation's site, each as a page and as a notebook to take home."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import notebooks

FOLDER = "tutorials"


def on_files(files: Files, config: Any, **_: Any) -> Files:
    for name in notebooks.NAMES:
        made = notebooks.executed(name)
        page = notebooks.page(name, made)
        first, rest = page.text.split("\n", 1)
        take_home = f"*[As a notebook]({name}.ipynb), executed when this site was built.*"
        files.append(_file(config, f"{name}.md", f"{first}\n\n{take_home}\n{rest}"))
        files.append(_file(config, f"{name}.ipynb", nbformat.writes(made)))
        for picture, svg in page.pictures.items():
            files.append(_file(config, picture, svg))
    return files


def _file(config: Any, name: str, content: str) -> File:
    return File.generated(config, f"{FOLDER}/{name}", content=content)
