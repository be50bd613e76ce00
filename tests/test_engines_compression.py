"""Tables in engines are merged there, and mean what they mean in memory."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from engines import ENGINES, ROLES, untidy
from ivicl import IVBounds, IVData
from ivicl.data import Roles, compression
from ivicl.errors import InputError
from ivicl.methods.pretrained.runtime import Model
from stand_in import StandIn, made_up


def same_data(found: IVData, expected: IVData) -> None:
    """The same people, and the same report on how they were read."""
    assert found.report == expected.report
    assert found.covariates == expected.covariates
    found, expected = found.merged(), expected.merged()
    for field in ("x", "z", "t", "y", "w"):
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))


@pytest.mark.parametrize("missing", ["drop", "indicator"])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_data_that_memory_gives(engine, missing):
    frame = untidy()
    expected = IVData.from_frame(frame, missing=missing, **ROLES)
    assert expected.report.n_dropped > 100
    found = IVData.from_frame(ENGINES[engine](frame), missing=missing, **ROLES)
    same_data(found, expected)
    assert len(found.w) < 500, "the engine handed over rows that it could have merged"


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_answer_that_memory_gives(engine):
    frame = untidy(1000)
    expected = IVBounds().fit(frame.to_pandas(), **ROLES)
    found = IVBounds().fit(ENGINES[engine](frame), **ROLES)
    assert (found.lower, found.upper) == pytest.approx((expected.lower, expected.upper), abs=1e-6)
    assert found.to_frame().columns == list(expected.to_frame().columns)
    assert (found.n, found.n_rows, found.n_dropped, found.notes) == (
        expected.n,
        expected.n_rows,
        expected.n_dropped,
        expected.notes,
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_many_studies_in_every_engine(engine):
    frame = untidy(1500)
    expected = IVBounds("balke-pearl").fit_many(frame, by="study", **ROLES).sort("study")
    found = IVBounds("balke-pearl").fit_many(ENGINES[engine](frame), by="study", **ROLES)
    assert found["study"].to_list() == ["a", "b", "c"], "an engine has no first row: studies come sorted"
    for name in ("lower", "upper", "n", "n_rows", "n_dropped", "grade", "error"):
        assert found[name].to_list() == pytest.approx(expected[name].to_list(), abs=1e-9), name


def test_the_order_of_the_rows_does_not_matter_even_to_a_sample(monkeypatch):
    monkeypatch.setattr(Model, "shipped", staticmethod(StandIn))
    frame = pl.DataFrame(made_up(3000))
    roles = {"outcome": "y", "treatment": "t", "instrument": "z", "covariates": ["x0"]}
    one, other = (
        IVBounds(max_rows=500).fit(given, **roles) for given in (frame, frame.sample(fraction=1.0, shuffle=True))
    )
    assert one.details["n_used"] == other.details["n_used"] < 1000
    assert (one.lower, one.upper) == (other.lower, other.upper)


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1.0, -2.0, 1.0, 1.0], "weights 'w' must not be negative, but one is -2"),
        ([1.0, 2.5, 1.0, 1.0], "weights 'w' must be whole numbers .* but one is 2.5"),
        ([1.0, None, 1.0, 1.0], "weights 'w' has 1 missing values"),
        ([1.0, float("nan"), 1.0, 1.0], "weights 'w' has 1 missing values"),
        ([1.0, float("inf"), 1.0, 1.0], "infinite"),
        ([0.0, 0.0, 0.0, 0.0], "weights 'w' sum to zero"),
        (["1", "2", "1", "1"], "weights 'w' must be whole numbers, but holds text such as '1', '2'"),
    ],
)
@pytest.mark.parametrize("engine", ["memory", "polars", "duckdb"])
def test_weights_are_refused_alike(engine, weights, sentence):
    frame = pl.DataFrame({"z": [0, 0, 1, 1], "t": [0, 0, 1, 1], "y": [0, 0, 1, 0], "w": weights})
    given = frame if engine == "memory" else ENGINES[engine](frame)
    with pytest.raises(InputError, match=sentence):
        IVData.from_frame(given, outcome="y", treatment="t", instrument="z", weights="w")


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_wrong_names_and_empty_tables_are_said(engine):
    frame = untidy(50)
    with pytest.raises(InputError, match=r"there is no column 'agee' .* nearest name is 'age'"):
        IVData.from_frame(ENGINES[engine](frame), **ROLES | {"covariates": ["agee"]})
    with pytest.raises(InputError, match="the table has no rows"):
        IVData.from_frame(ENGINES[engine](frame.head(0)), **ROLES)


def test_what_an_engine_cannot_do_is_one_sentence():
    broken = untidy(50).lazy().with_columns(age=pl.col("site").cast(pl.Int64, strict=True))
    with pytest.raises(InputError, match=r"could not merge its rows: .*\.$"):
        IVData.from_frame(broken, **ROLES)


@pytest.mark.parametrize("engine", ENGINES)
def test_too_many_different_rows_are_sampled_in_the_engine(engine, monkeypatch):
    monkeypatch.setattr(compression, "MOST_ENTRIES", 400)
    monkeypatch.setattr(compression, "MOST_VALUES", 0)
    frame = pl.DataFrame(made_up(4000))
    roles = {"outcome": "y", "treatment": "t", "instrument": "z", "covariates": ["x0", "x1"]}
    taken = []
    for seed in (1, 1, 2):
        data = IVData.from_roles(ENGINES[engine](frame), Roles(**roles), seed)
        assert data.n == pytest.approx(400, abs=100)
        assert data.report.sampled_from == 4000
        assert any("of the table's 4,000 rows" in note for note in data.report.notes)
        taken.append(frozenset(data.x[:, 0]))
    assert taken[0] == taken[1] != taken[2]
    assert data.w @ data.t / data.n == pytest.approx(float(frame["t"].mean()), abs=0.1)


@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_engines_on_this_machine_hand_over_more_rows_that_all_differ(engine, weights, monkeypatch):
    """Sampling starts where memory ends: the network goes through all rows that there are."""
    monkeypatch.setattr(compression, "MOST_ENTRIES", 400)
    frame = pl.DataFrame(made_up(4000) | {"w": [1, 2, 3, 4] * 1000})
    roles = {"outcome": "y", "treatment": "t", "instrument": "z", "covariates": ["x0", "x1"], "weights": weights}
    found, expected = (IVData.from_frame(given, **roles) for given in (ENGINES[engine](frame), frame))
    same_data(found, expected)
    assert (np.diff(found.x[:, 0]) >= 0).all(), "sorted once, where the rows are"
    monkeypatch.setattr(compression, "MOST_VALUES", 15_999)
    if weights is None:
        assert IVData.from_frame(ENGINES[engine](frame), **roles).report.sampled_from == 4000


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_few_different_rows_are_never_sampled(engine, monkeypatch):
    """The limit is on different rows, not on rows: a table of any length is merged without loss."""
    monkeypatch.setattr(compression, "MOST_ENTRIES", 700)
    frame = untidy(5000).drop("study")
    same_data(IVData.from_frame(ENGINES[engine](frame), **ROLES), IVData.from_frame(frame, **ROLES))


def test_a_sample_of_weighted_rows_is_refused(monkeypatch):
    monkeypatch.setattr(compression, "MOST_ENTRIES", 400)
    monkeypatch.setattr(compression, "MOST_VALUES", 0)
    frame = pl.DataFrame(made_up(2000) | {"w": [3] * 2000})
    with pytest.raises(InputError, match="neither merged nor sampled"):
        IVData.from_frame(frame.lazy(), outcome="y", treatment="t", instrument="z", covariates=["x0"], weights="w")


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "dask"])
def test_designs_and_lost_outcomes_in_every_engine(engine):
    """Clusters, strata and sampling weights are in the key; those without an outcome are counted, or free."""
    frame = untidy(2000).with_columns(
        village=pl.int_range(2000) % 40, block=pl.int_range(2000) % 4, stands_for=1.0 + pl.int_range(2000) % 3
    )
    roles = ROLES | {"cluster": "village", "strata": "block", "sampling_weights": "stands_for"}
    for call in (roles, ROLES | {"missing_outcome": "bounds"}):
        expected = IVData.from_frame(frame, **call)
        found = IVData.from_frame(ENGINES[engine](frame), **call)
        same_data(found, expected)
        assert found.report.lost == expected.report.lost != ((0, 0), (0, 0))
    ours, theirs = (IVBounds("late").fit(given, **roles) for given in (ENGINES[engine](frame), frame))
    assert (ours.lower, ours.upper) == pytest.approx((theirs.lower, theirs.upper), abs=1e-9)


def test_categories_keep_their_order_in_a_lazy_frame():
    frame = untidy(500).with_columns(site=pl.col("site").str.strip_chars().replace("", None))
    frame = frame.with_columns(site=pl.col("site").cast(pl.Enum(["west", "south", "north"])))
    expected = IVData.from_frame(frame, **ROLES)
    assert expected.covariates == ("age", "site=south", "site=north")
    same_data(IVData.from_frame(frame.lazy(), **ROLES), expected)


def test_a_large_frame_in_memory_is_merged_first_and_means_the_same(monkeypatch):
    from ivicl.data import reading

    frame = untidy(2000)
    expected = IVData.from_frame(frame, **ROLES)
    assert len(expected.w) > 1000
    monkeypatch.setattr(reading, "WORTH_MERGING", 100)
    found = IVData.from_frame(frame, **ROLES)
    assert len(found.w) < 500
    same_data(found, expected)
    order = IVBounds("manski").fit_many(frame, by="study", **ROLES)["study"].to_list()
    assert order == frame["study"].unique(maintain_order=True).to_list(), "studies keep their first appearance"
