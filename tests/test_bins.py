"""Covariates cut into groups on request: the same groups in memory and in every engine, and nothing is sampled."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from engines import ENGINES
from ivicl import IVBounds, IVData
from ivicl.data import compression
from ivicl.data.binning import Bins
from ivicl.errors import InputError
from stand_in import made_up

ROLES: dict[str, Any] = {"outcome": "y", "treatment": "t", "instrument": "z", "covariates": ["x0", "x1", "few"]}


def table(n: int = 4000) -> pl.DataFrame:
    """Two continuous covariates, some values missing, and one with three values; weights."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(made_up(n) | {"few": rng.integers(0, 3, n), "people": rng.integers(1, 4, n)})
    return frame.with_columns(x1=pl.when(pl.int_range(n) % 41 == 3).then(None).otherwise(pl.col("x1")))


@pytest.mark.parametrize("more", [{}, {"weights": "people"}, {"missing": "indicator"}])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_cuts_where_memory_does(engine, more, monkeypatch):
    frame = table()
    expected = IVData.from_frame(frame.to_pandas(), bins=8, **ROLES, **more)
    monkeypatch.setattr(compression, "MOST_ENTRIES", 2500)
    found = IVData.from_frame(ENGINES[engine](frame), bins=8, **ROLES, **more)
    assert found.report.sampled_from is None
    assert found.report.notes == expected.report.notes
    assert any("'x0', 'x1': cut into 8 groups" in note for note in found.report.notes)
    ours, theirs = found.merged(), expected.merged()
    for field in ("x", "z", "t", "y", "w"):
        np.testing.assert_allclose(getattr(ours, field), getattr(theirs, field), rtol=1e-12)
    assert len(np.unique(ours.x[:, 0])) == 8
    assert len(np.unique(ours.x[:, -1] if not more.get("missing") else ours.x[:, ours.covariates.index("few")])) == 3


def test_without_bins_the_same_table_is_sampled(monkeypatch):
    """The negative control."""
    monkeypatch.setattr(compression, "MOST_ENTRIES", 2500)
    monkeypatch.setattr(compression, "MOST_VALUES", 0)
    assert IVData.from_frame(table().lazy(), **ROLES).report.sampled_from == 4000


def test_groups_have_about_equal_size_and_their_median():
    values = np.random.default_rng(0).exponential(size=1000)
    bins = Bins.of(values, np.ones(1000), 5)
    place = np.searchsorted(bins.cuts, values, side="left")
    assert np.bincount(place).tolist() == [200] * 5
    for k in range(5):
        assert abs((values[place == k] < bins.middles[k]).mean() - 0.5) < 0.01
    assert Bins.of(np.repeat([1.0, 2.0, 3.0], 50), np.ones(150), 3) is None
    weighted = Bins.of(values, np.where(values > np.median(values), 3.0, 1.0), 2)
    assert weighted.cuts[0] > np.median(values), "people count, not rows"


def test_few_values_that_most_people_have_do_not_make_empty_groups():
    values = np.concatenate([np.zeros(900), np.arange(1.0, 101.0)])
    bins = Bins.of(values, np.ones(1000), 10)
    assert len(bins.middles) == len(bins.cuts) + 1 < 10
    assert bins.middles[0] == 0


def test_text_files_are_cut_too(tmp_path, monkeypatch):
    from ivicl.data import scanning

    monkeypatch.setattr(scanning, "LARGE_TEXT", 100)
    frame = table(1000)
    frame.write_csv(tmp_path / "a.csv")
    found = IVData.from_frame(scanning.open_table(str(tmp_path / "a.csv")), bins=4, **ROLES).merged()
    expected = IVData.from_frame(frame, bins=4, **ROLES).merged()
    np.testing.assert_allclose(found.x, expected.x)
    np.testing.assert_array_equal(found.w, expected.w)


@pytest.mark.parametrize("bins", [1, 0, 2.5, True, "4"])
def test_other_numbers_of_bins_are_refused(bins):
    with pytest.raises(InputError, match="bins must be a whole number of at least 2"):
        IVBounds("manski").fit(table(100), bins=bins, **ROLES)


def test_the_flag(tmp_path):
    import json

    from typer.testing import CliRunner

    from ivicl.cli import app

    table(600).write_csv(tmp_path / "a.csv")
    roles = ["-y", "y", "-t", "t", "-z", "z", "-x", "x0,x1"]
    call = ["fit", str(tmp_path / "a.csv"), *roles, "-m", "manski", "--bins", "5", "--format", "json"]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    assert any("cut into 5 groups" in note for note in json.loads(done.stdout)["notes"])
