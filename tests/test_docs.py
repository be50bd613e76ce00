"""The documentation is true: snippets run, links lead somewhere, commands and flags exist, the site builds."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from ivicl.cli import app
from ivicl.methods.pretrained.runtime import Model
from stand_in import StandIn

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
OWN = (
    "index",
    "quick-start",
    "interval",
    "assumptions",
    "alpha",
    "outcomes",
    "diagnostics",
    "designs",
    "report",
    "many-studies",
)
OWN += (
    "large-data",
    "command-line",
    "compare",
    "sensitivity",
    "plan",
    "subgroups",
    "method",
    "real-data",
    "api",
    "training",
    "columns",
    "results",
    "try-it",
    "model-file",
    "from-r",
)


def test_snippets_run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Model, "shipped", staticmethod(lambda: StandIn()))
    runner, parser, found = doctest.DocTestRunner(), doctest.DocTestParser(), 0
    for name in OWN:
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        blocks = re.findall(r"```pycon\n(.*?)```", text, flags=re.DOTALL)
        found += len(blocks)
        runner.run(parser.get_doctest("\n".join(blocks), {}, name, name, 0))
    assert found >= 2
    assert runner.failures == 0


@pytest.mark.parametrize("name", OWN)
def test_links_lead_to_pages(name):
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+\.md)", text):
        # The pages of the tutorials are made from plain Python when the site is built.
        place = ROOT / target.replace(".md", ".py") if target.startswith("tutorials/") else ROOT / "docs" / target
        assert place.exists(), target


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in PAGES:
        assert f" {page.name}" in navigation, page.name
    for named in re.findall(r": ([\w-]+\.md)$", navigation, flags=re.MULTILINE):
        assert (ROOT / "docs" / named).exists(), named


def test_commands_and_flags_exist():
    commands = get_command(app).commands
    for name in OWN:
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        for line in re.findall(r"(?:^|`)ivicl ([a-z-]+ [^`\n]*)", text, flags=re.MULTILINE):
            command, *words = line.split()
            assert command in commands, line
            known = {flag for parameter in commands[command].params for flag in parameter.opts}
            assert {word for word in words if re.fullmatch(r"--?[a-z]+", word)} <= known, line


def test_every_option_of_combine_is_explained():
    from ivicl.methods.outcomes import COMBINATIONS

    text = (ROOT / "docs" / "outcomes.md").read_text(encoding="utf-8")
    assert all(f'`"{name}"`' in text for name in COMBINATIONS)


@pytest.mark.slow
def test_the_site_builds_without_a_network(tmp_path):
    pytest.importorskip("mkdocs")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for page in (tmp_path / "site").glob("*.html"):
        assert not re.search(r"(?:src|href)=\"https?://(?!squidfunk)[^\"]*\.(?:js|css|woff2?)", page.read_text()), page
