"""Benchmarks and studies as objects: their settings, and those that come from outside of the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import ivicl.cli
from ivicl.benchmarks import Benchmark, BenchmarkDataset, Study, catalog
from ivicl.benchmarks.base import Shown
from ivicl.benchmarks.compare import compare_all, levels_text, tables_of
from ivicl.benchmarks.method_spec import MethodSpec, colour_of, curve_name, label_of
from ivicl.benchmarks.plan import plan, study_jobs
from ivicl.benchmarks.runner import run_jobs
from ivicl.benchmarks.settings import Number, SettingForm
from ivicl.benchmarks.store import RunStore
from ivicl.data import IVData
from ivicl.errors import InputError


def command(monkeypatch, *words: str) -> int:
    """The exit code of `ivicl ...`."""
    monkeypatch.setattr(sys, "argv", ["ivicl", *words])
    with pytest.raises(SystemExit) as end:
        ivicl.cli.main()
    return int(end.value.code or 0)


@pytest.mark.parametrize(
    ("name", "wrong", "nearest"),
    [
        ("synthetic", "defualt", "default"),
        ("airplane", "beta=2", "default"),
        ("jobs", "wek", "weak"),
        ("jobs", "beta=much", "beta=<number>"),
        ("jobs", "beta=nan", "beta=<number>"),
        ("star", "small-regular/reading", "small-regular/reading/weak"),
        ("star", "small-regular/reading/week", "small-regular/reading/weak"),
        ("links", "liner/n=1024/d=5", "linear/n=1024/d=5"),
        ("links", "linear/n=oops/d=2", "linear/n=1024/d=5"),
        ("links", "deep/n=19/d=5", "deep/n=1024/d=5"),
        ("links", "deep/d=5/n=64", "deep/n=1024/d=5"),
        ("links", "deep/n=64/d=5/e=1", "deep/n=1024/d=5"),
    ],
)
def test_a_wrong_setting_is_one_sentence_with_the_nearest(monkeypatch, capsys, tmp_path, name, wrong, nearest) -> None:
    folder = tmp_path / "runs"
    assert command(monkeypatch, "bench", name, "--methods", "late", "--setting", wrong, "-o", str(folder)) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"ivicl: benchmark '{name}' has no setting '{wrong}'; the nearest is '{nearest}")
    assert said.count("\n") == 1 and not folder.exists()


def test_every_shipped_benchmark_was_asked_for_a_wrong_setting() -> None:
    (mark,) = test_a_wrong_setting_is_one_sentence_with_the_nearest.pytestmark
    assert {name for name, *_ in mark.args[1]} == set(catalog.benchmarks())


@pytest.mark.parametrize(
    "words",
    [
        ("strength", "--setting", "weak"),
        ("mass-covering", "--methods", "late"),
        ("jobs", "--file", "nws=trial.csv"),
        ("jobs", "--file", "trial.csv"),
        ("linkz",),
        ("jobs", "--seeds", "0"),
    ],
)
def test_other_wrong_calls_are_one_sentence_too(monkeypatch, capsys, tmp_path, words) -> None:
    assert command(monkeypatch, "bench", *words, "-o", str(tmp_path)) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and any(word.split("=")[0] in said for word in words)


def test_the_usual_settings_are_settings() -> None:
    for benchmark in catalog.benchmarks().values():
        for setting in (*benchmark.settings, *benchmark.quick_settings):
            benchmark.check(setting)
            if benchmark.form is not None:
                benchmark.form.parse(setting)
    for study in catalog.studies().values():
        if study.runs is not None:
            for setting in study.runs.settings + study.runs.quick_settings:
                catalog.benchmark(study.runs.benchmark).check(setting)


def test_parts_of_a_setting() -> None:
    form = SettingForm((("a", Number("k", whole=True, least=2)), (Number("x"),)))
    assert str(form) == "(a|k=<whole number of at least 2>)/x=<number>"
    assert form.parse("a/x=-1.5") == ("a", -1.5) and form.parse("k=3/x=1e2") == (3, 100.0)
    for wrong in ("a", "a/x=", "k=1/x=1", "k=2.5/x=1", "a/x=inf", "a/y=1", "b/x=1", ""):
        with pytest.raises(InputError, match=r"is not of the form \(a\|k="):
            form.parse(wrong)


def toss(setting: str, seed: int) -> BenchmarkDataset:
    rng = np.random.default_rng(seed)
    z, t, y = rng.integers(0, 2, (3, 300))
    return BenchmarkDataset(IVData.from_arrays(z=z, t=t, y=y), effect=0.0, bounds=(-0.25, 0.25))


COINS = Benchmark("coins", "Z, T and Y are tosses of coins", toss, ("fair",), binary=True)


def test_a_benchmark_of_ones_own_is_run_as_an_object(tmp_path) -> None:
    jobs = plan(COINS, COINS.settings, range(2), ["manski", "ivicl"])
    assert {job.method for job in jobs} == {"manski", "ivicl", "ivicl@effect"}, "its outcome is binary"
    with pytest.raises(InputError, match="benchmark 'coins' has no setting 'biased'; the nearest is 'fair'"):
        plan(COINS, ["biased"], range(2), ["manski"])
    runs = run_jobs(jobs[:2], RunStore(tmp_path), progress=False)
    (table,) = tables_of(runs, COINS)
    assert compare_all(runs, COINS) == [], "the paper has no table of it"
    assert table.rows[0].ours["validity"] == (1.0, 0.0) and table.title == "coins: fair"


def test_the_recipe_of_contributing_is_a_benchmark(tmp_path) -> None:
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
    recipe = text.split("## Adding a benchmark")[1].split("```python\n")[1].split("```")[0]
    names: dict[str, object] = {}
    exec(compile(recipe, "thirds.py", "exec"), names)
    made = names["BENCHMARK"]
    assert isinstance(made, Benchmark)
    runs = run_jobs(plan(made, ["n=4000"], range(2), ["late"]), RunStore(tmp_path), progress=False)
    assert runs["status"].to_list() == ["ok", "ok"] and runs["covers_effect"].all()
    assert runs["n"].to_list() == [4000, 4000]
    assert runs["rho"].to_numpy() == pytest.approx(1 / 3, abs=0.05), "a third complies"


def test_a_study_has_runs_or_a_computation() -> None:
    with pytest.raises(InputError, match="either runs or a computation"):
        Study("none", "None", "", 1, 1)
    study = Study("own", "Own", "", 1, 1, compute=lambda seeds, model: Shown(pl.DataFrame(), lambda path: path))
    assert study_jobs(study, ["late"]) == []


PACKAGE = """
from pathlib import Path
import polars as pl
from ivicl.benchmarks import Benchmark, Study, StudyRuns
from ivicl.methods import Method, MethodBounds
from test_bench_objects import toss

coins = Benchmark("coins", "tosses", toss, ("fair",), binary=True)
jobs = Benchmark("jobs", "a name that is taken", toss, ("fair",))
always = Method("always", "Always", lambda data, request: MethodBounds(-0.5, 0.5), interval="confidence",
                summary="the same for all", paper_alpha=0.2)


def draw(table: pl.DataFrame, path: Path) -> Path:
    path.write_bytes(b"picture")
    return path


tossing = Study("tossing", "Tossing", "Ends of the intervals.", 2, 1, runs=StudyRuns(
    "coins", ("fair",), ("fair",), table=lambda runs: runs.select("method", "lower", "upper"), figure=draw))
"""
POINTS = """
[ivicl.benchmarks]
coins = tossed:coins
jobs = tossed:jobs
[ivicl.studies]
tossing = tossed:tossing
[ivicl.methods]
always = tossed:always
"""


@pytest.fixture
def outside(tmp_path):
    """Calls `ivicl bench` where a package is installed that brings a benchmark, a study and a method."""
    (tmp_path / "tossed.py").write_text(PACKAGE)
    info = tmp_path / "tossed-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tossed\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    folders = [str(tmp_path), str(Path(__file__).parent), str(Path(ivicl.__file__).parents[1])]

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(folders)}
        program = [sys.executable, "-m", "ivicl", "bench", *words]
        return subprocess.run(program, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120)

    return call


def test_a_package_brings_a_benchmark_a_study_and_a_method(outside, tmp_path) -> None:
    done = outside("coins", "--methods", "always,manski", "--seeds", "3", "--workers", "2", "-o", "runs", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "| always | 1.00 ± 0.00 | – | 1.000 ± 0.000 |" in done.stdout and "| 3 (0) |" in done.stdout
    assert "alpha is 0.2 for always; no allowance for sampling error in manski" in done.stdout
    assert (tmp_path / "runs" / "coins.tex").exists()
    study = outside("tossing", "--methods", "always", "-o", "runs", "--quiet")
    assert study.returncode == 0, study.stderr
    assert "alpha is 0.2 for always" in study.stdout
    assert (tmp_path / "runs" / "tossing.csv").read_text().splitlines()[1] == "always,-0.5,0.5"
    listed = outside().stdout
    assert "coins           tosses; settings fair" in listed and "tossing         study: Ends" in listed
    assert "a name that is taken" not in listed and "National Supported Work" in listed


def test_rows_are_named_and_coloured_by_their_methods() -> None:
    assert label_of("ivicl") == "IV-ICL (default)"
    assert label_of("ivicl@effect@alpha=0.1") == "IV-ICL (effect, alpha=0.1)"
    assert curve_name("ivicl@effect@alpha=0.1") == "IV-ICL (effect)"
    assert (label_of("levis@form=smooth"), label_of("late")) == ("Levis et al. (form=smooth)", "late")
    assert label_of("gone@x=1") == "gone (x=1)", "runs may be older than what is installed"
    assert len({colour_of(m) for m in ("ivicl@alpha=0.1", "ivicl@effect", "ivicl@independent@alpha=0.1", "late")}) == 4
    assert colour_of("ivicl@max_rows=9") == colour_of("ivicl")
    assert colour_of("gone", 0) != colour_of("gone", 1)


def test_levels_are_those_of_the_runs() -> None:
    specs = [MethodSpec.parse(m) for m in ("ivicl", "ivicl@effect", "levis", "bayes-bp", "plugin", "late@alpha=0.05")]
    runs = pl.DataFrame({"method": [s.text for s in specs], "alpha": [s.alpha for s in specs]})
    assert levels_text(runs) == (
        "alpha is 0.01 for IV-ICL; alpha is 0.05 for late, Levis et al.; alpha is 0.1 for Bayes-BP; "
        "no allowance for sampling error in Plug-in"
    )
