"""Every figure in README and docs that depends on the model, made again by the command that stands beside it.

    python docs/remake.py              # after a new model: a minute or two, then look at `git diff`
    python docs/remake.py --measure    # also the timings, on a machine that does nothing else: minutes more

Needs `pip install -e ".[data]"`; what R prints is made again where R has reticulate, and else said to be left. A
marker `<!-- run: COMMAND -->` stands above what COMMAND prints: a block of text, of which fewer lines may be shown than
are printed (an empty one is filled with all), or a table. `<!-- run: the Python above -->` stands between code and its
output. The tests compare; the tutorials need nothing, because their outputs are not committed.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
ABOVE = "the Python above"
MEASURED = ("ivicl speed",)
"""Commands whose answer depends on the machine and on what else it does."""
MARKED = re.compile(
    r"(?:```python\n(?P<code>(?:(?!```).)*)```\n\n)?<!-- run: (?P<command>.*?) -->\n"
    r"(?:```text\n(?P<text>.*?)```|(?P<table>(?:\|[^\n]*\n)+))",
    re.DOTALL,
)
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


@dataclass(frozen=True)
class Block:
    """What a command printed, and where it stands."""

    page: Path
    command: str
    code: str
    shown: str
    is_table: bool
    span: tuple[int, int]

    def __str__(self) -> str:
        return f"{self.page.name}: {self.command}"


def blocks(page: Path) -> Iterator[Block]:
    for found in MARKED.finditer(page.read_text(encoding="utf-8")):
        group = "text" if found["text"] is not None else "table"
        yield Block(page, found["command"], found["code"] or "", found[group], group == "table", found.span(group))


def can_run(block: Block) -> bool:
    return not block.command.startswith("Rscript") or shutil.which("Rscript") is not None


def printed(block: Block) -> str:
    """What the command, or the code above it, prints here and now."""
    words = [sys.executable, "-c", block.code] if block.command == ABOVE else shlex.split(block.command)
    if words[0] in ("ivicl", "python"):
        words = [sys.executable, *(["-m", "ivicl"] if words[0] == "ivicl" else []), *words[1:]]
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "RETICULATE_PYTHON": sys.executable,
        "COLUMNS": "88",
    }
    with tempfile.TemporaryDirectory() as scratch:
        words = [word.replace("REPORTS", scratch) for word in words]  # where a command writes what is not shown
        done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{block} failed:\n{done.stderr}")
    lines = done.stdout.splitlines(keepends=True)
    return "".join(line for line in lines if line.startswith("|")) if block.is_table else done.stdout


def made_again(block: Block) -> str:
    """The block with the numbers of now: all that is printed, or the lines like those that were shown."""
    lines = printed(block).splitlines()
    before = block.shown.splitlines()
    if block.is_table or not before or len(before) >= len(lines):
        return "\n".join(lines) + "\n"
    return "\n".join(lines[place] for place in _alike(before, lines)) + "\n"


def _alike(before: list[str], lines: list[str]) -> list[int]:
    """Which lines are those that were shown, in their order: the choice that is most alike as a whole."""
    # best[j]: how alike the lines so far can be if they end before line j, and which were taken.
    best: list[tuple[float, list[int]]] = [(0.0, [])] * (len(lines) + 1)
    for line in before:
        following: list[tuple[float, list[int]]] = [(-1.0, [])]
        for j, new in enumerate(lines):
            like = difflib.SequenceMatcher(None, _named(line), _named(new)).ratio()
            here = (best[j][0] + like, [*best[j][1], j]) if best[j][0] >= 0 else (-1.0, [])
            following.append(max(following[-1], here, key=lambda choice: choice[0]))
        best = following
    return best[-1][1]


def _named(line: str) -> str:
    """What a line is about: neither its numbers, nor whether its target is reached."""
    return NUMBER.sub("#", line).replace("NOT reached", "reached")


def remake(page: Path, measure: bool) -> None:
    text = page.read_text(encoding="utf-8")
    for block in reversed(list(blocks(page))):
        if not can_run(block) or (block.command.startswith(MEASURED) and not measure):
            print(f"left as it is: {block}")
            continue
        text = text[: block.span[0]] + made_again(block) + text[block.span[1] :]
        print(f"made again: {block}")
    page.write_text(text, encoding="utf-8")


def pictures() -> None:
    """The two pictures of README and of the first page, of a trial that ships with the package."""
    from ivicl import IVBounds, datasets

    frame = datasets.load("cholestyramine")
    result = IVBounds().fit(frame, outcome="y", treatment="t", instrument="z", weights="people")
    for kind in ("ladder", "posterior"):
        path = result.plot(kind).save(ROOT / "docs" / "figures" / f"cholestyramine-{kind}.svg")
        print("made again:", path.relative_to(ROOT))


if __name__ == "__main__":
    pictures()
    for page in PAGES:
        remake(page, "--measure" in sys.argv)
