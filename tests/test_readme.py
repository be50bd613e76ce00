"""The README is true: its commands exist, its links lead somewhere. What it prints is held by test_remade.py."""

from __future__ import annotations

import re
from pathlib import Path

from ivicl.cli import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_commands_named_in_the_readme_exist():
    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    named = set(re.findall(r"^ivicl ([a-z-]+) ", README, flags=re.MULTILINE))
    assert named
    assert named <= known


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_no_figure_stands_outside_its_marker():
    """A number in the prose would stay as it is when the model changes; the blocks are remade by refresh_numbers.py."""
    prose = re.sub(r"```.*?```|^\|.*?$|`[^`\n]+`|\]\([^)]*\)|<[^>]+>", "", README, flags=re.DOTALL | re.MULTILINE)
    known = r"Python 3\.11 to 3\.13|Apache-2\.0|bpbounds 0\.1\.6|Version 0\.2|arXiv:[\d.]+|95 %|2\.5 %|97\.5 %"
    found = re.findall(r".*\d(?:\.\d| %).*", re.sub(known, "", prose))
    assert found == []


def test_both_front_pages_say_the_same():
    """README and the first page of the site: the same code, the same answer, the same comparison."""
    site = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    shared = re.findall(r"```python\n.*?```|```text\nThe drug.*?```", README, flags=re.DOTALL)
    shared.append(README.split("## How it compares\n\n")[1].split("\n\n## ")[0].replace("](docs/", "]("))
    assert len(shared) == 3 and all(part in site for part in shared)


def test_methods_table_is_what_the_command_prints():
    from ivicl.cli.methods import markdown
    from ivicl.methods.registry import shipped

    table = README.split("## Methods\n\n")[1].split("\n\n")[0]
    assert table == markdown(list(shipped().values()))


def test_ci_runs_the_readme_test_command():
    install, command = re.search(r"bin/pip install (.*)\n\.venv/bin/(python -m pytest)\n", README).groups()
    assert "-c constraints.txt" in install, "an open range of torch takes several GB of CUDA packages"
    script = (ROOT / ".ci" / "run").read_text().replace('"$bin/pip"', "pip").replace('"$bin/python"', "python")
    assert f"pip install --quiet {install}\n" in script
    assert re.search(rf"{command} -n 2 .*\"\$@\"\n", script)
    stages = ('ruff" check', 'ruff" format --check', "mypy", "lint-imports", "mkdocs build", "test_wheel")
    assert [stage for stage in stages if stage not in script] == []
    assert install in (ROOT / "CONTRIBUTING.md").read_text()
