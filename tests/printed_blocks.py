"""What pages show as printed, found, run again, and written anew.

Two forms: a block of ```pycon, which is a doctest; and `<!-- run: COMMAND -->` before a block of ```text or a table,
which is what the command prints. Such a block may leave lines out.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ivicl.cli import main

ROOT = Path(__file__).parent.parent
NUMBER = re.compile(r"-?\d+\.\d+")
RUN = re.compile(
    r"<!-- run: (?P<command>[^\n]*?) -->\n(?:```text\n(?P<text>.*?)```|(?P<table>(?:\|[^\n]*\n)+))", re.DOTALL
)
PYCON = re.compile(r"```pycon\n(.*?)```", re.DOTALL)


class Printed(NamedTuple):
    """A command with what the page says it prints."""

    command: str
    shown: str
    span: tuple[int, int]
    """Where in the page."""


def printed_blocks(page: str) -> list[Printed]:
    found = []
    for match in RUN.finditer(page):
        group = "text" if match["text"] is not None else "table"
        found.append(Printed(match["command"], match[group], match.span(group)))
    return found


def run_command(command: str) -> str:
    """Standard output of `ivicl ...`, or of `python SCRIPT ...`, run in this process from the repository's root."""
    program, *arguments = command.split()
    out = io.StringIO()
    before = sys.argv
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(out):
        try:
            if program == "python":
                sys.argv = arguments
                runpy.run_path(arguments[0], run_name="__main__")
            else:
                sys.argv = [program, *arguments]
                main()
        except SystemExit as stopped:
            assert not stopped.code, f"{command} ends with {stopped.code}"
        finally:
            sys.argv = before
    return out.getvalue()


def words(line: str) -> str:
    """A line without its numbers and its spacing: what must stay when the numbers change."""
    return " ".join(NUMBER.sub("#", line).split())


def with_new_numbers(shown: str, printed: str) -> str:
    """The lines shown as they are printed now; all that is printed where a line is no longer among it."""
    now = [line for line in printed.splitlines() if line.startswith("|") or not shown.startswith("|")]
    lines = iter(now)
    found = [next((line for line in lines if words(line) == words(old)), None) for old in shown.splitlines()]
    kept = now if None in found or not found else found
    return "".join(f"{line}\n" for line in kept)


class _Outputs(doctest.DocTestRunner):
    """Runs examples and keeps what those print that do not print what they say."""

    def __init__(self) -> None:
        super().__init__(verbose=False)
        self.found: dict[int, str] = {}

    def report_failure(self, out: object, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self.found[id(example)] = got

    def report_unexpected_exception(
        self, out: object, test: doctest.DocTest, example: doctest.Example, info: object
    ) -> None:
        raise AssertionError(f"{test.name}: {example.source.strip()} fails: {info}")


def with_new_outputs(page: str, name: str) -> str:
    """The page with every ```pycon block printing what it prints now; blocks of a page share their names."""
    shared: dict[str, object] = {}

    def again(match: re.Match[str]) -> str:
        test = doctest.DocTestParser().get_doctest(match[1], shared, name, name, 0)
        runner = _Outputs()
        runner.run(test, clear_globs=False)
        shared.update(test.globs)
        lines = match[1].splitlines(keepends=True)
        for example in reversed(test.examples):
            if id(example) in runner.found:
                first = example.lineno + example.source.count("\n")
                lines[first : first + example.want.count("\n")] = [" " * example.indent + runner.found[id(example)]]
        return f"```pycon\n{''.join(lines)}```"

    return PYCON.sub(again, page)


def pages() -> Iterator[Path]:
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").glob("*.md"))
