"""What holds between the rooms: only the file that declares a method, a benchmark or a study asks for its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import ivicl
from ivicl.benchmarks import catalog
from ivicl.methods import registry

ROOT = Path(ivicl.__file__).parent
TEXT_TESTS = ("startswith", "endswith", "removeprefix", "removesuffix")


def declared_names() -> set[str]:
    return {*registry.shipped(), *catalog.benchmarks(), *catalog.studies()}


def strings(node: ast.AST) -> Iterator[str]:
    """The string itself, or those of a tuple, list, set or dictionary."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        for item in node.elts:
            yield from strings(item)
    elif isinstance(node, ast.Dict):
        for key in node.keys:
            if key is not None:
                yield from strings(key)


def asked_for(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines and strings that a comparison, a `match`, a look into a literal or a test of a text asks for."""
    for node in ast.walk(tree):
        sides: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            # An assumption may have the name of the method that makes it.
            on_assumptions = isinstance(node.comparators[-1], ast.Attribute) and (
                node.comparators[-1].attr in ("assumptions", "assume")
            )
            sides = [] if on_assumptions else [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue) or (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Dict)):
            sides = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func
            sides = [owner.value] if isinstance(owner.value, ast.Dict) and owner.attr == "get" else []
            sides += node.args if owner.attr in TEXT_TESTS else []
        for side in sides:
            for text in strings(side):
                yield node.lineno, text


def declares(tree: ast.Module) -> set[str]:
    """Names of the objects that a file declares: Method(name="..."), Benchmark(...), Study(...), or the first place."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Method", "Benchmark", "Study"):
            given = [k.value for k in node.keywords if k.arg == "name"] or node.args[:1]
            found |= {text for side in given for text in strings(side)}
    return found


def test_every_name_is_declared_in_one_file() -> None:
    """So that the test below knows each name, and whose it is."""
    found = [name for path in ROOT.rglob("*.py") for name in declares(ast.parse(path.read_text()))]
    assert sorted(name for name in found if name in declared_names()) == sorted(declared_names())


def test_no_file_branches_on_a_name_that_another_declares() -> None:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text())
        others = declared_names() - declares(tree)
        found += [f"{path.relative_to(ROOT)}:{line} {text}" for line, text in asked_for(tree) if text in others]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        'if method == "ivicl": pass',
        'x = name in ("bayes", "bayes-bp")',
        'x = [m for m in methods if m.split("@")[0] != "exact"]',
        'path = {"jobs": nsw, "star": star}.get(name)',
        'path = {"jobs": nsw, "star": star}[name]',
        'x = method.startswith("ivicl")',
        'match study:\n    case "strength" | "calibration": pass',
    ],
)
def test_the_test_sees_a_branch(code: str) -> None:
    assert {text for _, text in asked_for(ast.parse(code))} & declared_names()
