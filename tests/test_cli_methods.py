"""`ivicl methods` says of each method what the method says of itself, and whether its extra is here."""

from __future__ import annotations

import json
from importlib import metadata

import pytest

from ivicl.cli import needs
from ivicl.methods import Method, registry


def test_every_method_with_what_it_is(run):
    code, out, _ = run("methods", "--format", "json")
    assert code == 0
    found = {each["name"]: each for each in json.loads(out)}
    assert list(found) == list(registry.all_methods())
    late, plugin, network = found["late"], found["plugin"], found["ivicl"]
    assert (late["interval"], late["estimands"]) == ("confidence", ["LATE", "ITT"])
    assert "no-defiers" in late["assumptions"] and late["installed"] is True
    assert network["may_assume"] == ["no-defiers"] and late["may_assume"] == []
    assert (plugin["interval"], plugin["extra"]) == ("estimate", "baselines")
    assert network["options"] == ["model", "max_rows"] and network["covers"] == ["set", "effect"]
    table = run("methods")[1]
    for method in registry.all_methods().values():
        assert f"\n{method.name}\n  what      {method.label}: " in "\n" + table
    assert table.count("interval  estimate, no allowance for sampling error") == sum(
        each["interval"] == "estimate" for each in found.values()
    )
    assert "credible" in table.split("\nbalke-pearl\n")[0]


def test_a_method_from_elsewhere_is_listed(run, monkeypatch):
    coin = Method("coin", "Coin | toss", "math:sqrt", "estimate", "a guess | of ours", extra="coins")
    monkeypatch.setattr(registry, "from_elsewhere", lambda: {"coin": coin})
    assert json.loads(run("methods", "-f", "json")[1])[-1]["installed"] is None
    last = run("methods", "-f", "md")[1].strip().splitlines()[-1]
    assert last.startswith(r"| `coin` | a guess \| of ours; `pip install 'ivicl[coins]'` | estimate | ATE |")
    assert "(not known whether it is installed)" in run("methods")[1]


@pytest.mark.parametrize(("absent", "installed"), [("", True), ("gpytorch", False)])
def test_whether_an_extra_is_here(run, monkeypatch, absent, installed):
    listed = ["numpy>=1.26", "torch>=2.9; extra == 'train'", 'gpytorch>=1.13 ; extra == "baselines"']

    def distribution(name: str) -> str:
        if name in (absent, "torch"):
            raise metadata.PackageNotFoundError(name)
        return name

    monkeypatch.setattr(metadata, "requires", lambda _: listed)
    monkeypatch.setattr(metadata, "distribution", distribution)
    assert needs.is_installed("baselines") is installed
    assert needs.is_installed("train") is False
    assert needs.is_installed("nothing-we-know") is None
    state = "installed" if installed else "not installed"
    assert f"needs     pip install 'ivicl[baselines]' ({state})" in run("methods")[1]
