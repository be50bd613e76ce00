"""The README is true: its Python runs, its printed table is what the command prints, its commands exist."""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

import pytest

from ivicl.cli import app, main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"-?\d+\.\d+")


def test_python_snippets_run_and_print_what_they_say():
    blocks = re.findall(r"```pycon\n(.*?)```", README, flags=re.DOTALL)
    assert blocks
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    shared: dict[str, object] = {}
    for i, block in enumerate(blocks):
        runner.run(parser.get_doctest(block, shared, f"README block {i}", "README.md", 0), clear_globs=False)
    assert runner.failures == 0


@pytest.mark.parametrize(
    ("command", "printed"), re.findall(r"<!-- run: (.*?) -->\n```text\n(.*?)```", README, re.DOTALL)
)
def test_printed_tables_are_what_the_command_prints(command, printed, monkeypatch, capsys):
    """Each line shown is printed, in this order; the command may print more lines than the README shows.

    Words must be equal; numbers may differ by 0.005, for another processor may round a random draw differently.
    """
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", command.split())
    try:
        main()
    except SystemExit as stopped:
        assert not stopped.code
    lines = iter(capsys.readouterr().out.splitlines())
    for written in printed.splitlines():
        found = next((line for line in lines if NUMBER.sub("#", line) == NUMBER.sub("#", written)), None)
        assert found is not None, f"the command does not print: {written}"
        for a, b in zip(NUMBER.findall(found), NUMBER.findall(written), strict=True):
            assert float(a) == pytest.approx(float(b), abs=0.005)


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
