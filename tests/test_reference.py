"""The reference is complete: every public name is in it, and has an example that is run (with the other doctests)."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

import ivicl

PAGE = (Path(__file__).parent.parent / "docs" / "api.md").read_text(encoding="utf-8")
ENGINES = {"ivicl.scale.spark.fit_many": "pyspark", "ivicl.scale.dask.fit_many": "dask"}
"""Their examples are skipped with the other doctests, for the engine may be missing; run here where it is not."""


def entries() -> dict[str, list[str]]:
    """What the page shows, and the filters that keep plumbing out of it."""
    found = re.findall(r"^::: ([\w.]+)\n(?:    options:\n      filters: (.*)\n)?", PAGE, flags=re.MULTILINE)
    return {name: json.loads(filters or "[]") for name, filters in found}


def named(path: str) -> Any:
    try:
        return importlib.import_module(path)
    except ImportError:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)


def examples(thing: Any) -> str:
    """The code of its examples that run."""
    parsed = doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")
    return "".join(each.source for each in parsed if doctest.SKIP not in each.options)


def parts(thing: Any, filters: list[str]) -> dict[str, Any]:
    """The public methods that a class has of its own, or what a module defines."""
    if not inspect.isclass(thing) and not inspect.ismodule(thing):
        return {}
    found = {}
    for name, part in vars(thing).items():
        part = getattr(part, "__func__", part)
        callable_here = inspect.isfunction(part) or (inspect.isclass(part) and inspect.ismodule(thing))
        hidden = name.startswith("_") or any(re.search(f.removeprefix("!"), name) for f in filters)
        if callable_here and not hidden and part.__module__ == getattr(thing, "__module__", thing.__name__):
            found[name] = part
    return found


@pytest.mark.parametrize("path", entries())
def test_everything_has_an_example(path):
    thing, filters = named(path), entries()[path]
    if path in ENGINES:  # run below
        assert ">>>" in inspect.getdoc(thing)
        return
    shown = examples(thing)
    assert shown, f"{path} has no example"
    for name, part in parts(thing, filters).items():
        assert part.__doc__, f"{path}: {name} has no words, so that the page leaves it out"
        assert examples(part) or re.search(rf"\b{name}\b", shown), f"{path}: no example of {name}"


def test_every_public_name_is_in_the_reference():
    things = [named(path) for path in entries()]
    inside = [part for thing in things for part in parts(thing, []).values()]
    for name in set(ivicl.__all__) - {"__version__"}:
        assert any(getattr(ivicl, name) is each for each in (*things, *inside)), name


@pytest.mark.parametrize("path", ENGINES)
def test_examples_of_engines_run(path):
    pytest.importorskip(ENGINES[path])
    text = inspect.getdoc(named(path)).replace("# doctest: +SKIP", "")
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(doctest.DocTestParser().get_doctest(text, {}, path, path, 0))
    assert runner.tries >= 4 and runner.failures == 0


def test_a_method_without_an_example_is_found():
    class Shown:
        """Shown.

        >>> Shown().told()
        """

        def told(self): ...

        def kept_back(self): ...

    assert list(parts(Shown, [])) == ["told", "kept_back"]
    assert list(parts(Shown, ["!^kept"])) == ["told"]
    assert "told" in examples(Shown) and "kept_back" not in examples(Shown)
