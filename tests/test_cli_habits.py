"""Flags that may be given again, and the example in the help of every command."""

from __future__ import annotations

import json
import shlex

import numpy as np
import polars as pl
import pytest
from typer.main import get_command

from ivicl import datasets
from ivicl.cli import app


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the files that the examples name: the published trial, with made-up columns beside it."""
    counts = datasets.load("cholestyramine")
    people = counts.select(pl.exclude("people").repeat_by("people").explode())
    rng = np.random.default_rng(0)
    trial = people.rename({"z": "assigned", "t": "taken", "y": "outcome"}).with_columns(
        age=pl.Series(rng.integers(30, 60, len(people))),
        sex=pl.Series(rng.choice(["f", "m"], len(people))),
        site=pl.Series(rng.integers(0, 3, len(people))),
        half=pl.Series(np.arange(len(people)) % 2),
        income=pl.Series(rng.normal(size=len(people))),
    )
    trial.write_csv(tmp_path / "trial.csv")
    studies = [counts.with_columns(campaign=pl.lit(name), part=pl.lit(1)) for name in ("spring", "autumn")]
    pl.concat(studies).rename({"z": "offered", "t": "saw", "y": "bought"}).write_csv(tmp_path / "studies.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


ROLES = ["-y", "outcome", "-t", "taken", "-z", "assigned"]
WAYS = {
    "again": ["-x", "age", "-x", "sex", "-x", "site"],
    "by commas": ["-x", "age,sex,site"],
    "both": ["-x", "age, sex", "-x", "site,"],
}


@pytest.mark.parametrize("way", WAYS)
def test_covariates_given_again_are_all_kept(run, here, way):
    covariates, encoded = WAYS[way], ["age", "sex=m", "site"]
    _, out, err = run("fit", "trial.csv", *ROLES, *covariates, "-m", "manski", "-f", "json")
    assert json.loads(out)["covariates"] == encoded, err
    _, out, err = run("check", "trial.csv", *ROLES, *covariates, "-f", "json")
    assert list(json.loads(out)["diagnostics"]["balance"]["standardised_differences"]) == encoded, err
    _, out, err = run("batch", "trial.csv", "--by", "half", *ROLES, *covariates, "-m", "manski", "-o", "-")
    assert [json.loads(line)["covariates"] for line in out.splitlines()] == 2 * [",".join(encoded)], err
    trial = ["-y", "outcome", "-t", "assigned", "-u", "income"]
    code, _, err = run("convert-rct", "trial.csv", *trial, *covariates, "-o", "iv.csv")
    assert code == 0, err
    assert pl.read_csv("iv.csv").columns == ["age", "sex", "site", "z", "assigned", "outcome"]


def test_hidden_covariates_given_again_are_all_kept(run, here):
    trial = ["convert-rct", "trial.csv", "-y", "outcome", "-t", "assigned", "-o", "iv.csv"]
    code, out, err = run(*trial, "-u", "income", "-u", "age,site")
    assert code == 0, err
    assert json.loads(out)["hidden"] == ["income", "age", "site"]


def test_a_batch_by_several_columns_given_again(run, here):
    roles = ["-y", "bought", "-t", "saw", "-z", "offered", "-w", "people", "-m", "balke-pearl", "-o", "-"]
    again = run("batch", "studies.csv", "--by", "campaign", "--by", "part", *roles)[1]
    assert [json.loads(line)["campaign"] for line in again.splitlines()] == ["spring", "autumn"]
    assert again == run("batch", "studies.csv", "--by", "campaign,part", *roles)[1]


def examples() -> dict[str, str]:
    """Command -> the example that its help ends with."""
    found, left = {}, [("ivicl", get_command(app))]
    while left:
        name, command = left.pop()
        if hasattr(command, "commands"):
            left += [(f"{name} {sub}", each) for sub, each in command.commands.items()]
        else:
            found[name] = (command.epilog or "").removeprefix("Example: ")
    return found


@pytest.mark.parametrize("name", examples())
def test_every_command_has_an_example_that_it_understands(name):
    words = shlex.split(examples()[name])
    assert " ".join(words).startswith(name), f"the help of {name} has no example"
    group, command = name.split()[1:-1], get_command(app)
    for part in [*group, name.split()[-1]]:
        command = command.commands[part]
    context = command.make_context(name, words[len(name.split()) :])
    assert any(value is not None for value in context.params.values())


CHEAP = {
    "fit": "bounds.json",
    "counts": None,
    "check": None,
    "batch": "bounds.csv",
    "compare": "methods.csv",
    "methods": None,
    "model": None,
    "convert-rct": "iv.csv",
}


@pytest.mark.parametrize("name", CHEAP)
def test_the_example_runs(run, here, name):
    code, out, err = run(*shlex.split(examples()[f"ivicl {name}"])[1:])
    assert code == 0, err
    written = CHEAP[name]
    assert len((here / written).read_text() if written else out) > 200
