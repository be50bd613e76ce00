"""A wrong call or wrong data is one line on stderr and exit code 2, also while the model loads beside the reading."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import ivicl.cli
from ivicl.data import Roles
from ivicl.errors import InputError

ROLES = ["-y", "y", "-t", "t", "-z", "z"]
DATA = "z,t,y\n0,0,1\n1,1,1\n0,1,0\n1,1,0\n"


def ivicl_command(*arguments: str, **more) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ivicl.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **more)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fit", "data.csv", *ROLES, "--range", "0"], "--range must be LOW,HIGH, but is '0'."),
        (["fit", "data.csv", *ROLES, "--one", "t"], "--one must be NAME=VALUE, but is 't'."),
        (
            ["fit", "data.csv", *ROLES, "--alpha", "2"],
            "alpha must lie between 0 and 1 (0.05 for a level of 95 %), but is 2.0.",
        ),
        (["fit", "data.csv", *ROLES, "--set", "rows=3"], "method 'ivicl' has no option 'rows'"),
        (["fit", "data.csv", *ROLES, "--set", "max_rows=0"], "max_rows"),
        (["fit", "data.csv", *ROLES, "--model", "nowhere.onnx"], "nowhere.onnx"),
        (["fit", "data.csv", "-y", "why", "-t", "t", "-z", "z"], "there is no column 'why' for the outcome"),
        (["fit", "nowhere.csv", *ROLES], "there is no file 'nowhere.csv'; it was looked for in"),
        (["counts", "1", "2", "3"], "eight counts are needed"),
        (["counts", *"1234567", "many"], "a count must be a number, but is 'many'."),
    ],
)
def test_one_line_and_exit_code_2_with_the_network(tmp_path, arguments, sentence):
    """In a process of its own: what a thread prints when Python exits is seen nowhere else."""
    (tmp_path / "data.csv").write_text(DATA)
    done = ivicl_command(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ivicl: ") and sentence in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("fault", ["raise ValueError('of the loader')", "import concurrent.futures.thread"])
def test_a_method_that_is_still_loading_when_the_command_has_failed_says_nothing(fault):
    """The second is what happened: importing it fails once the interpreter is on its way out."""
    program = f"""
import sys, time
import ivicl.methods.registry as registry
from ivicl.cli import main
from ivicl.methods import Method

def load(request):
    time.sleep(2)
    {fault}

registry.shipped()["slow"] = Method("slow", "Slow", "math:sqrt", "estimate", "", prepare=load)
sys.argv = ["ivicl", "fit", "nowhere.csv", *"-y y -t t -z z -m slow".split()]
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("ivicl: there is no file 'nowhere.csv';") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["counts", *"12345678", "--nonsense"], "--nonsense"),
        (["fit", "data.csv", "-y", "y", "-t", "t"], "Missing option '-z' / '--instrument'"),
        (
            ["counts", *"12345678", "--alpha", "small"],
            "--alpha must be a number, but is 'small'; see ivicl counts --help.",
        ),
    ],
)
def test_a_call_that_cannot_be_read_is_one_line_too(run, arguments, sentence):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("ivicl: ") and sentence in err and err.count("\n") == 1
    assert err.endswith("--help.\n")


def test_no_command_prints_the_help_once(run):
    code, out, err = run()
    assert code in (0, 2)  # as the version of typer has it
    assert out.count("Usage: ivicl") == 1 and err == ""


def test_an_interruption_is_130_without_a_traceback(run, monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ivicl.data.scanning.open_table", interrupted)
    code, out, err = run("fit", "data.csv", *ROLES, "-m", "manski")
    assert (code, out, err.strip()) == (130, "", "")  # typer may end the line of the ^C
    monkeypatch.setattr(ivicl.cli, "app", lambda **_: interrupted())
    assert run("fit") == (130, "", "")


def test_our_own_faults_keep_their_traceback_and_exit_with_1():
    program = (
        "import sys, ivicl.methods.registry as r; from ivicl.methods import Method; "
        "r.shipped()['broken'] = Method('broken', 'Broken', 'math:sqrt', 'estimate', ''); from ivicl.cli import main; "
        "sys.argv = ['ivicl', 'counts', *'12345678', '-m', 'broken']; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_a_reader_who_leaves_early_is_not_a_fault():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "ivicl.cli", "methods", "--format", "json"]
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_json_alone_on_standard_output(run, tmp_path):
    (tmp_path / "data.csv").write_text(DATA)
    for command in (["fit", "-m", "balke-pearl"], ["check"]):
        code, out, _ = run(command[0], str(tmp_path / "data.csv"), *ROLES, *command[1:], "-f", "json")
        assert code == 0
        assert json.loads(out)["n"] == 4


@pytest.mark.parametrize("role", ["outcome", "treatment", "instrument", "weights", "covariates"])
def test_a_column_instead_of_its_name_is_one_short_sentence(role):
    import numpy as np
    import pandas as pd
    import polars as pl

    names = {"outcome": "y", "treatment": "t", "instrument": "z"}
    said = "covariate 1" if role == "covariates" else f"the {role}"
    for column in (pd.Series(range(1000)), pl.Series(range(1000)), np.arange(1000)):
        given = [column] if role == "covariates" else column
        with pytest.raises(InputError) as refused:
            Roles(**names | {role: given})
        kind = type(column).__name__
        expected = f"{said} must be the name of a column of the table, but is a {kind}; arrays go through"
        assert str(refused.value).startswith(expected)


def test_covariates_none_one_name_and_a_frame_of_them():
    import pandas as pd

    names = {"outcome": "y", "treatment": "t", "instrument": "z"}
    assert Roles(**names, covariates=None).covariates == ()
    assert Roles(**names, covariates="age").covariates == ("age",)
    assert Roles(**names, covariates=pd.Series(["age", "sex"])).covariates == ("age", "sex")
    with pytest.raises(InputError, match=r"^covariate 1 must be the name of a column of the table, but is 3"):
        Roles(**names, covariates=3)


def test_covariates_none_fits(tmp_path):
    from ivicl import IVBounds

    frame = {"z": [0, 0, 1, 1], "t": [0, 1, 1, 1], "y": [1, 0, 1, 0]}
    for covariates in (None, ()):
        found = IVBounds(method="manski").fit(frame, outcome="y", treatment="t", instrument="z", covariates=covariates)
        assert found.covariates == ()
