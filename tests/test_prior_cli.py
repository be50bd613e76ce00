"""`ivicl prior`: files that a user can read back, a picture with its data, errors in one sentence."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from ivicl.cli import app
from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.learn.prior import PriorConfig, generator_for, sample_rows

runner = CliRunner()


def run(*arguments: str):
    return runner.invoke(app, ["prior", *arguments], catch_exceptions=False)


def test_sampled_rows_come_back_as_a_users_data(tmp_path):
    out = tmp_path / "tables.parquet"
    run("sample", "-o", str(out), "--tables", "70", "--rows", "40", "--covariates", "3", "--seed", "5")
    data, labels = pl.read_parquet(out), pl.read_parquet(tmp_path / "tables.labels.parquet")
    assert data.shape == (70 * 40, 8) and labels["table"].to_list() == list(range(70))
    truth = sample_rows(PriorConfig.default(), generator_for(5, 1), 64, 40, 3)  # the second micro-batch
    one = data.filter(pl.col("table") == 66)
    assert labels["effect"][66] == pytest.approx(truth.effect[2].item())
    read = IVData.from_frame(
        one, outcome="y", treatment="t", instrument="z", covariates=["x1", "x2", "x3"], weights="w"
    )
    assert np.allclose(read.x, truth.x[2].numpy()) and np.array_equal(read.t, truth.t[2].numpy())
    assert labels["lower"][66] <= labels["effect"][66] <= labels["upper"][66]


@pytest.mark.parametrize("kind", ["counts", "compressed"])
def test_weighted_kinds_hold_only_rows_with_people_and_do_not_depend_on_how_many_are_asked_for(tmp_path, kind):
    for tables in (3, 9):
        run("sample", "-o", str(tmp_path / f"{tables}.parquet"), "--kind", kind, "--tables", str(tables))
    few, more = (pl.read_parquet(tmp_path / f"{n}.parquet") for n in (3, 9))
    assert few.equals(more.filter(pl.col("table") < 3))
    assert few["w"].min() >= 1 and few.group_by("table").agg(pl.col("w").sum())["w"].min() >= 20
    draws = pl.read_parquet(tmp_path / "9.labels.parquet").select(pl.col("^draw.*$"))
    assert draws.width >= 16 and draws.to_numpy().std() > 0.1


def test_plot_writes_a_picture_and_its_data(tmp_path):
    out = tmp_path / "prior.png"
    result = run("plot", "-o", str(out), "--covariates", "2", "--tables", "60", "--rows", "32")
    draws = pl.read_csv(tmp_path / "prior.csv")
    assert out.read_bytes()[:4] == b"\x89PNG" and draws.shape == (180, 4)
    assert {"prior", "covariates", "shifted", "effect"} == set(draws.columns)
    assert result.stdout.splitlines()[0].split("\t")[:2] == ["prior", "covariates"]
    sd = dict(draws.group_by("prior").agg(pl.col("effect").std()).iter_rows())
    assert sd["paper, no shift"] < sd["default"]


def test_summary_prints_one_line_a_kind():
    lines = [line.split("\t") for line in run("summary", "--tables", "64", "--rows", "64").stdout.splitlines()]
    assert [line[0] for line in lines] == ["kind", "rows", "compressed", "counts"]
    assert all(0 <= float(line[2]) <= 1 for line in lines[1:])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sample", "-o", "t.parquet", "--kind", "wide"], "--kind is 'wide'"),
        (["sample", "-o", "t.parquet", "--preset", "papper"], "'papper'"),
        (["sample", "-o", "missing/t.parquet"], "does not exist"),
        (["plot", "-o", "p.png", "--covariates", "1,two"], "'1,two'"),
        (["plot", "-o", "p.gif"], "p.gif"),
    ],
)
def test_wrong_calls_are_explained(arguments, message):
    with pytest.raises(InputError, match=message):
        run(*arguments)


def test_importing_the_command_line_does_not_import_torch():
    code = "import sys, ivicl.cli; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
