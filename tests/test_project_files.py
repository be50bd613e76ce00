"""What stands in two places says the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from ivicl.version import __version__

ROOT = Path(__file__).parents[1]


def test_citation_has_the_version() -> None:
    found = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert found and found[1] == __version__


def test_changelog_begins_with_the_version() -> None:
    found = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert found and found[1] == __version__


def test_hooks_run_the_checks_of_ci() -> None:
    """A check that CI makes and a commit does not would only be found later."""
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in ("ruff check", "ruff format --check", "mypy", "lint-imports"):
        assert f"entry: {command}" in hooks
        assert command.split()[0] in ci


def test_every_page_of_the_docs_can_be_reached() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("*.md")}
    assert not {page for page in pages if page not in nav}


def test_weights_are_one_file_of_at_most_20_mb() -> None:
    files = [path for ending in ("onnx", "safetensors") for path in (ROOT / "src").rglob(f"*.{ending}")]
    assert [path.name for path in files] == ["ivicl.onnx"]
    assert files[0].stat().st_size < 20e6 and not (ROOT / "weights").exists()


def test_extras_that_messages_name_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for group in re.findall(r"ivicl\[([a-z,]+)\]", path.read_text(encoding="utf-8"))
        for name in group.split(",")
    }
    assert named - {"extra"} <= set(extras)
