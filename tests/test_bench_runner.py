"""The runner and the tables: resumable, failures as rows, the right averages beside the paper's numbers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

from ivicl import IVBounds
from ivicl.benchmarks import catalog, compare, runner
from ivicl.benchmarks.dataset import BenchmarkDataset
from ivicl.benchmarks.method_spec import MethodSpec, expand_methods
from ivicl.benchmarks.plan import Job, plan, study_jobs
from ivicl.benchmarks.runner import run_jobs
from ivicl.benchmarks.sets import jobs as jobs_benchmark
from ivicl.benchmarks.sets import star
from ivicl.benchmarks.store import SCHEMA, RunStore
from ivicl.benchmarks.studies import calibration, sensitivity
from ivicl.benchmarks.studies.calibration import LEVELS, calibration_table
from ivicl.data import IVData
from ivicl.errors import InputError

SETTING = "linear/n=128/d=2"


def test_method_with_options() -> None:
    spec = MethodSpec.parse("levis@form=smooth@alpha=0.2")
    assert (spec.method.name, spec.alpha, spec.options) == ("levis", 0.2, {"form": "smooth"})
    assert MethodSpec.parse("ivicl@independent").combine == "independent"
    assert MethodSpec.parse("ivicl@effect").options == {"covers": "effect"}
    assert MethodSpec.parse("bayes-bp").alpha == 0.1
    assert MethodSpec.parse("plugin@folds=3").options == {"folds": 3}
    for wrong in ("nothing", "levis@smooth", "plugin@"):
        with pytest.raises(InputError):
            MethodSpec.parse(wrong)


def test_the_network_is_run_under_the_papers_combinations_too_but_not_where_they_agree() -> None:
    assert expand_methods(["ivicl", "late"]) == ("ivicl", "ivicl@effect", "ivicl@independent", "late")
    assert {j.method for j in plan("jobs", ["weak"], range(2), ["ivicl"])} == {
        "ivicl",
        "ivicl@effect",
        "ivicl@independent",
    }
    here = plan("synthetic", ["default"], range(2), ["ivicl", "ivicl@comonotone"])
    assert {j.method for j in here} == {"ivicl", "ivicl@effect"}


def test_runs_are_written_once_resumed_and_survive_a_cut_line(tmp_path, monkeypatch) -> None:
    jobs = plan("links", [SETTING], range(3), ["balke-pearl", "late"])
    run_jobs(jobs[:2], RunStore(tmp_path), progress=False)
    log = tmp_path / "runs.jsonl"
    assert len(log.read_text().splitlines()) == 2
    log.write_text(log.read_text() + '{"benchmark": "lin')
    log.write_text(log.read_text() + "\n")
    done = []
    real = runner.execute
    monkeypatch.setattr(runner, "execute", lambda job, **k: done.append(job.key) or real(job, **k))
    frame = run_jobs(jobs, RunStore(tmp_path), progress=False)
    assert len(done) == 4
    assert frame.height == 6 and frame["status"].unique().to_list() == ["ok"]
    assert pl.read_parquet(tmp_path / "runs.parquet").equals(frame)
    assert frame.schema["valid"] == pl.Boolean and frame.schema["seconds"] == pl.Float64


def test_what_another_network_answered_is_run_again(tmp_path) -> None:
    jobs = plan("links", [SETTING], [0], ["ivicl", "late"])
    frame = run_jobs(jobs, RunStore(tmp_path), progress=False)
    (shipped,) = set(frame["network"]) - {""}
    assert runner.missing(jobs, RunStore(tmp_path)) == []
    log = tmp_path / "runs.jsonl"
    log.write_text(log.read_text().replace(shipped, "0" * 64))
    again = runner.missing(jobs, RunStore(tmp_path))
    assert again == [job for job in jobs if job.method != "late"]
    assert run_jobs(jobs, RunStore(tmp_path), progress=False)["network"].to_list() == frame["network"].to_list()


def test_a_folder_that_holds_only_the_table_goes_on_from_there(tmp_path) -> None:
    jobs = plan("links", [SETTING], range(2), ["balke-pearl", "late"])
    before = run_jobs(jobs[:2], RunStore(tmp_path), progress=False)
    (tmp_path / "runs.jsonl").unlink()
    assert runner.missing(jobs, RunStore(tmp_path)) == jobs[2:]
    frame = run_jobs(jobs, RunStore(tmp_path), progress=False)
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 2
    assert frame[:2].equals(before) and RunStore(tmp_path).frame().equals(frame)
    before.drop("seconds").write_parquet(tmp_path / "runs.parquet")
    assert runner.missing(jobs, RunStore(tmp_path)) == jobs[:2], "another version's table is not misread"


def test_failures_are_rows_and_are_tried_again(tmp_path, monkeypatch) -> None:
    job = Job("links", SETTING, 0, "exact")  # the exact posterior refuses an outcome with many values
    store = RunStore(tmp_path)
    frame = run_jobs([job], store, progress=False)
    assert frame["status"].to_list() == ["failed"]
    assert "at most 5 values" in frame["error"][0] and frame["lower"][0] is None
    assert frame["n"][0] == 128
    assert not store.done(job.key)
    bad_setting = runner.execute(Job("links", "linear/n=oops/d=2", 0, "late"))
    assert bad_setting.status == "failed" and "has no setting" in bad_setting.error


def test_scores_of_a_run_are_those_of_the_interval() -> None:
    run = runner.execute(Job("links", SETTING, 1, "manski-iv"))
    case = Job("links", SETTING, 1, "manski-iv").dataset()
    assert run.width == pytest.approx((run.upper - run.lower) / (case.data.y.max() - case.data.y.min()))
    assert run.covers_effect == (run.lower <= case.effect <= run.upper)
    assert run.threads >= 1 and run.timed and run.seconds > 0
    assert run.network == ""


def test_validity_means_the_identified_set_where_it_is_known() -> None:
    data = IVData.from_arrays(z=[0, 1, 0, 1], t=[0, 1, 1, 0], y=[0, 1, 0, 1])
    known = BenchmarkDataset(data, effect=0.2, bounds=(0.1, 0.4), bounds_x=(0.0, 0.5))
    assert known.valid(0.1, 0.4) and not known.valid(0.15, 0.4) and not known.valid(0.1, 0.39)
    assert known.covers_effect(0.15, 0.3)
    assert known.covers_bounds_x(0.1, 0.4) is False
    label_only = BenchmarkDataset(data, effect=0.2)
    assert label_only.valid(0.15, 0.3) and label_only.covers_bounds_x(0, 1) is None


def test_warm_up_is_not_counted(monkeypatch) -> None:
    calls = []

    class Slow:
        def fit_data(self, data):
            calls.append(len(data.z))
            time.sleep(0.15 if len(calls) == 1 else 0.0)
            return IVBounds(method="manski").fit_data(data)

    monkeypatch.setattr(MethodSpec, "estimator", lambda self, model="": Slow())
    run = runner.execute(Job("links", "linear/n=600/d=2", 0, "manski"))
    assert calls == [runner.WARM_UP_ROWS, 600]
    assert run.seconds < 0.14


def test_parallel_runs_agree_with_serial_ones_and_are_not_timed(tmp_path) -> None:
    environment = dict(os.environ)
    jobs = plan("links", [SETTING], range(2), ["balke-pearl"])
    serial = run_jobs(jobs, RunStore(tmp_path / "a"), progress=False).sort("seed")
    parallel = run_jobs(jobs, RunStore(tmp_path / "b"), workers=2, progress=False).sort("seed")
    assert serial["lower"].to_list() == parallel["lower"].to_list()
    assert parallel["timed"].to_list() == [False, False]
    assert parallel["threads"].to_list() == [1, 1] and os.environ == environment
    table = compare.plain_table(parallel, catalog.benchmark("links"))
    assert table.rows[0].ours["seconds_per_1k"] is None


KILLED = """
import os, signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from ivicl.benchmarks.workers import _leave_with_parent

if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_leave_with_parent)
    print(pool.submit(os.getpid).result(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_end_with_a_program_that_was_killed(tmp_path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    printed = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, timeout=60, check=False).stdout
    worker = int(printed)
    for _ in range(100):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker outlived its parent by ten seconds")


def test_one_run_has_no_standard_error_and_only_timed_runs_state_their_threads() -> None:
    runs = (
        fake_runs()
        .filter(pl.col("method") == "plugin")
        .with_columns(timed=pl.col("seed") == 0, threads=pl.when(pl.col("seed") == 0).then(2).otherwise(1))
    )
    (table,) = compare.compare_all(runs, jobs_benchmark.BENCHMARK)
    text = compare.to_markdown([table])
    assert "| 5.00 | 68.50 ± 17.00 |" in text
    assert "times with 2 threads" in text
    seconds = compare.to_frame([table]).filter(pl.col("metric") == "seconds_per_1k")
    assert seconds["ours"].to_list() == [5.0] and seconds["ours_se"].to_list() == [None]


def fake_runs() -> pl.DataFrame:
    rows = []
    for setting, valid, width in (
        ("weak", True, 0.8),
        ("weak", False, 0.6),
        ("strong", True, 0.2),
        ("strong", True, 0.4),
    ):
        row = dict.fromkeys(runner.Run.__dataclass_fields__)
        row |= dict(benchmark="jobs", setting=setting, seed=len(rows), method="plugin", model="", status="ok")
        row |= dict(valid=valid, covers_effect=valid, width=width, sharp_width=0.5, n=200, rho=0.3, seconds=1.0)
        row |= dict(timed=True, threads=2, error="", network="", levels="", estimand="ATE", alpha=0.01, version="")
        rows.append(row)
    rows.append({**rows[0], "method": "late", "status": "failed", "error": "boom", "valid": None, "width": None})
    return pl.DataFrame(rows, schema=SCHEMA)


def test_the_jobs_table_pools_weak_and_strong_and_stands_beside_the_paper() -> None:
    (table,) = compare.compare_all(fake_runs(), jobs_benchmark.BENCHMARK)
    row = table.rows[0]
    assert row.ours["validity"] == pytest.approx((0.75, 0.25))
    assert row.ours["width"] == pytest.approx((0.5, np.std([0.8, 0.6, 0.2, 0.4], ddof=1) / 2))
    assert row.ours["seconds_per_1k"] == pytest.approx((5.0, 0.0))
    assert row.paper["width"] == (0.541, 0.029)
    assert table.rows[1].failed == 1 and table.failures == ("late: boom",)
    text = compare.to_markdown([table])
    assert (
        "| Plug-in | 0.75 ± 0.25 | 0.70 ± 0.09 | 0.500 ± 0.129 | 0.541 ± 0.029 | 5.00 ± 0.00 | 68.50 ± 17.00 | 0.500"
        in text
    )
    assert r"0.500 $\pm$ 0.129 & 0.541 $\pm$ 0.029" in compare.to_latex([table])
    cells = compare.to_frame([table]).filter((pl.col("metric") == "width") & (pl.col("method") == "plugin"))
    assert cells.select("ours", "paper").row(0) == (0.5, 0.541)


def test_all_eleven_halves_of_the_papers_tables_are_there() -> None:
    tables = [table for benchmark in catalog.benchmarks().values() for table in benchmark.paper]
    assert len(tables) == 11 and len(star.PAPER) == 8
    assert all(len(t.cells) == 6 for t in tables)
    assert {s for t in star.PAPER for s in t.settings} == set(star.SETTINGS)
    by_setting = {t.settings[0]: t for t in star.PAPER}
    assert by_setting["small-regular/math/strong"].cells["plugin"][0] == (0.90, 0.10)
    assert by_setting["aide-regular/reading/weak"].cells["bayes"][1] == (0.072, 0.001)


def test_calibration_reads_a_posterior_at_every_level() -> None:
    jobs = study_jobs(calibration.STUDY, ["balke-pearl"], 2)
    assert len(LEVELS) == 18 and jobs[0].levels == LEVELS and len(jobs) == 6
    rows = []
    for effect in (-0.4, 0.0, 0.3, 0.9):
        ends = {f"{v:g}": [-v, v] for v in LEVELS}
        run = fake_runs().row(0, named=True) | dict(benchmark="links", setting="deep/n=64/d=5", effect=effect)
        rows.append(run | dict(levels=json.dumps(ends), method="ivicl"))
    table = calibration_table(pl.DataFrame(rows, schema=fake_runs().schema))
    at_half = table.filter(pl.col("level") == 0.5).row(0, named=True)
    assert at_half["coverage"] == 0.75 and at_half["datasets"] == 4 and not at_half["fixed"]
    assert at_half["coverage_se"] == pytest.approx(np.sqrt(0.75 * 0.25 / 4))


def test_sensitivity_sweeps_are_the_papers_at_ninety_per_cent() -> None:
    jobs = study_jobs(sensitivity.STUDY, ["ivicl", "late"], 30)
    assert {j.method for j in jobs} == {
        "ivicl@alpha=0.1",
        "ivicl@effect@alpha=0.1",
        "ivicl@independent@alpha=0.1",
        "late@alpha=0.1",
    }
    cells = {tuple(j.setting.split("/")[1:]) for j in jobs}
    assert {("n=4096", "d=5"), ("n=256", "d=5"), ("n=1024", "d=32"), ("n=1024", "d=2")} <= cells and len(cells) == 10
    assert {j.seed for j in jobs} == set(range(1000, 1030))
