"""IVData: every way in gives the same numbers, everything done is reported, every mistake has its own sentence."""

from __future__ import annotations

import datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ivicl import InputError, IVData

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}
BASE = {
    "z": [0, 0, 0, 1, 1, 1],
    "t": [0, 1, 0, 1, 1, 0],
    "y": [0, 1, 1, 1, 0, 1],
    "age": [30.0, 41.0, 52.5, 28.0, 60.0, 33.0],
    "site": ["b", "a", "c", "a", "b", "b"],
    "n": [1, 2, 1, 3, 1, 1],
}
COVARIATES = ["age", "site"]


def read(**changes) -> IVData:
    columns = BASE | {k: v for k, v in changes.items() if k in BASE}
    options = {k: v for k, v in changes.items() if k not in BASE}
    return IVData.from_frame(pl.DataFrame(columns, strict=False), **(ROLES | options))


def test_every_kind_of_frame_gives_the_same_data():
    frames = {
        "polars": pl.DataFrame(BASE),
        "polars 128-bit": pl.DataFrame(BASE).with_columns(pl.col(pl.Int64).cast(pl.Int128)),
        "lazy": pl.LazyFrame(BASE),
        "pandas": pd.DataFrame(BASE),
        "pandas nullable": pd.DataFrame(BASE).convert_dtypes(),
        "pyarrow": pa.table(BASE),
        "duckdb": duckdb.sql("select * from base", connection=_connection()),
        "dict": BASE,
    }
    expected = IVData.from_frame(frames["polars"], **ROLES, covariates=COVARIATES, weights="n")
    assert expected.covariates == ("age", "site=b", "site=c")
    np.testing.assert_array_equal(expected.x[:, 1], [1, 0, 0, 0, 1, 1])
    for name, frame in frames.items():
        found = IVData.from_frame(frame, **ROLES, covariates=COVARIATES, weights="n")
        # Engines have no order of rows; all rows here differ in age.
        order, same = np.argsort(found.x[:, 0]), np.argsort(expected.x[:, 0])
        for field in ("x", "z", "t", "y", "w"):
            np.testing.assert_array_equal(getattr(found, field)[order], getattr(expected, field)[same], err_msg=name)
        assert found.report == expected.report, name


def _connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("base", pa.table(BASE))
    return connection


def test_counts_weights_and_merging():
    data = read(weights="n")
    assert data.n == 9
    expected = np.zeros((2, 2, 2))
    for z, t, y, n in zip(BASE["z"], BASE["t"], BASE["y"], BASE["n"], strict=True):
        expected[z, t, y] += n
    np.testing.assert_array_equal(data.counts(), expected)
    merged = IVData.from_arrays(BASE["z"] * 3, BASE["t"] * 3, BASE["y"] * 3, x=BASE["age"] * 3).merged()
    assert len(merged.w) == 6
    assert merged.n == 18
    np.testing.assert_array_equal(merged.x[:, 0], sorted(BASE["age"]))
    again = IVData.from_counts(expected)
    np.testing.assert_array_equal(again.counts(), expected)
    assert again.n == 9


def test_merging_without_covariates_gives_at_most_eight_rows():
    rng = np.random.default_rng(0)
    data = IVData.from_arrays(*rng.integers(0, 2, (3, 1000)))
    assert len(data.merged().w) == 8
    np.testing.assert_array_equal(data.merged().counts(), data.counts())
    assert data.merged().x.shape == (8, 0)


@pytest.mark.parametrize(
    ("values", "one"),
    [
        (["control", "treated"] * 3, "treated"),
        ([False, True] * 3, True),
        ([2, 7] * 3, 7),
        ([-1.5, 0.0] * 3, 0),
        (["no", "yes"] * 3, "yes"),
    ],
)
def test_two_valued_columns_are_coded_and_reported(values, one):
    data = read(t=values)
    np.testing.assert_array_equal(data.t, [0, 1] * 3)
    assert data.report.codings["treatment"].one == one
    if one is not True:
        assert any("treatment 't'" in note for note in data.report.notes)


def test_the_user_may_choose_which_value_is_one():
    assert read(t=["a", "b"] * 3, ones={"t": "a"}).t.tolist() == [1, 0] * 3
    assert read(t=[0, 1] * 3, ones={"t": "0"}).t.tolist() == [1, 0] * 3
    assert read(t=[False, True] * 3, ones={"t": "false"}).t.tolist() == [1, 0] * 3
    with pytest.raises(InputError, match=r"treatment 't' has no value 'c'; it has 'a', 'b'\."):
        read(t=["a", "b"] * 3, ones={"t": "c"})
    with pytest.raises(InputError, match=r"outcome 'y' means 1, but it has more: 0, 1, 9; .* 9 looks like a code"):
        read(y=[0, 1, 1, 0, 0, 9], ones={"y": 1})  # else the code would make an amount of it, unsaid
    with pytest.raises(InputError, match="ones names 'age'"):
        read(ones={"age": 1})


def test_bounded_outcomes_keep_their_units():
    data = read(y=[10.0, 20, 30, 40, 50, 60])
    assert not data.binary
    assert data.outcome_range == (10.0, 60.0)
    np.testing.assert_allclose(data.y01, [0, 0.2, 0.4, 0.6, 0.8, 1.0])
    wide = read(y=[10.0, 20, 30, 40, 50, 60], outcome_range=(0, 100))
    np.testing.assert_allclose(wide.y01, np.arange(1, 7) / 10)
    binary = wide.threshold(35)
    assert binary.binary
    np.testing.assert_array_equal(binary.y, [0, 0, 0, 1, 1, 1])
    with pytest.raises(InputError, match="binary outcome"):
        wide.counts()


def test_two_amounts_are_binary_unless_a_range_is_given():
    assert read(y=[10, 20] * 3).binary
    amounts = read(y=[10, 20] * 3, outcome_range=(0, 100))
    assert not amounts.binary
    np.testing.assert_array_equal(amounts.y, [10, 20] * 3)
    assert read(y=[0, 0, 0, 0, 0, 0]).binary
    assert read(y=["3", "4.5", "6", "3", "4.5", "6"]).outcome_range == (3.0, 6.0)


def test_missing_values_drop_the_row_and_are_counted():
    data = read(z=[0, None, 0, 1, 1, 1], y=[0, 1, None, 1, 0, 1], age=[30.0, 41, 52, None, 60, 33], covariates=["age"])
    assert (data.n, data.report.n_rows, data.report.n_dropped) == (3, 3, 3)
    assert "1 rows dropped: outcome 'y' is missing" in data.report.notes
    assert "1 rows dropped: covariate 'age' is missing" in data.report.notes


def test_missing_covariates_as_indicators():
    data = read(age=[30.0, None, 50.0, 28.0, None, 33.0], covariates=["age"], missing="indicator")
    assert data.covariates == ("age", "age=missing")
    np.testing.assert_array_equal(data.x[:, 1], [0, 1, 0, 0, 1, 0])
    assert data.x[1, 0] in (30.0, 33.0)
    assert data.report.n_dropped == 0
    text = read(site=["b", "a", None, "a", "b", "b"], covariates=["site"], missing="indicator")
    assert text.covariates == ("site=b", "site=missing")


def test_missing_raise():
    with pytest.raises(InputError, match="covariate 'age' is missing in 2 rows"):
        read(age=[30.0, None, 50.0, 28.0, None, 33.0], covariates=["age"], missing="raise")


def test_nan_none_and_blank_text_are_all_missing():
    frame = pd.DataFrame(BASE)
    frame["age"] = [30.0, np.nan, 1, 1, 1, 1]
    frame["site"] = ["a", "b", None, " ", "b", pd.NA]
    data = IVData.from_frame(frame, **ROLES, covariates=COVARIATES)
    assert data.report.n_dropped == 4


def test_dates_decimals_and_booleans_as_covariates():
    days = [datetime.date(1970, 1, 1 + i) for i in range(6)]
    frame = {**BASE, "day": days, "price": [Decimal("1.5")] * 5 + [Decimal("2.5")], "flag": [True, False] * 3}
    data = IVData.from_frame(pl.DataFrame(frame), **ROLES, covariates=["day", "price", "flag"])
    np.testing.assert_array_equal(data.x[:, 0], np.arange(6))
    np.testing.assert_array_equal(data.x[:, 1], [1.5] * 5 + [2.5])
    np.testing.assert_array_equal(data.x[:, 2], [1, 0] * 3)


def test_a_text_of_many_levels_does_not_make_many_columns():
    n = 300
    frame = pl.DataFrame({**{k: BASE[k] * 50 for k in "zty"}, "id": [f"p{i}" for i in range(n)]})
    data = IVData.from_frame(frame, **ROLES, covariates=["id"])
    assert data.x.shape[1] <= 20
    assert any("300 different texts" in note for note in data.report.notes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outcome": "Yy"}, r"there is no column 'Yy' for the outcome; the nearest name is 'y'\."),
        ({"covariates": ["aeg"]}, r"no column 'aeg' for covariate 1; the nearest name is 'age'"),
        ({"z": [0, 1, 2, 0, 1, 2]}, r"instrument 'z' must have two values, but has 3: 0, 1, 2; keep"),
        ({"t": ["a", "b", "c"] * 2}, r"treatment 't' must have two values, but has 3: 'a', 'b', 'c'; keep"),
        ({"z": [1] * 6}, r"instrument 'z' is always 1, so there is nothing to compare; the table"),
        ({"t": ["drug"] * 6}, r"treatment 't' is always 'drug', so it is not clear whether that is 0 or 1"),
        ({"y": [None] * 6}, r"no row is left: outcome 'y' is missing in all 6 rows; name the column"),
        ({"age": [1.0, np.inf, -np.inf, 1, 1, 1], "covariates": ["age"]}, "column 'age' holds 2 infinite values"),
        ({"y": [1.0, 2, 3, np.inf, 4, 5]}, "column 'y' holds 1 infinite value"),
        ({"n": [1, -2, 1, 1, 1, 1], "weights": "n"}, r"weights 'n' must not be negative, but one is -2; a row"),
        (
            {"n": [1, 0.5, 1, 1, 1, 1], "weights": "n"},
            r"weights 'n' must be whole numbers .* but one is 0.5; weights of a survey",
        ),
        ({"n": [0] * 6, "weights": "n"}, "weights 'n' sum to zero"),
        ({"n": [1, None, 1, 1, 1, 1], "weights": "n"}, "weights 'n' has 1 missing values"),
        ({"site": list("abcabc"), "weights": "site"}, "weights 'site' must be whole numbers, but holds text"),
        (
            {"y": [0.0, 0.5, 1.2, 0, 1, 1], "outcome_range": (0, 1)},
            r"outcome 'y' must lie between 0 and 1, but 1 values",
        ),
        ({"outcome_range": (1, 0)}, "outcome_range must be a smaller and a larger"),
        ({"outcome_range": "ab"}, "outcome_range must be two numbers"),
        ({"y": ["a", "b", "c"] * 2}, "outcome 'y' must be numbers or two values, but has 3"),
        ({"y": [3.7] * 6}, "outcome 'y' is always 3.7, so its possible range must be given"),
        ({"treatment": "z"}, "column 'z' is given twice: as treatment and as instrument"),
        ({"covariates": ["age", "age"]}, "column 'age' is given twice: as covariate 1 and as covariate 2"),
        ({"missing": "ignore"}, "missing must be one of drop, indicator, raise"),
    ],
)
def test_mistakes_have_their_own_sentence(changes, message):
    with pytest.raises(InputError, match=message):
        read(**changes)


def test_duplicate_column_names_are_refused():
    frame = pd.DataFrame(BASE)
    frame.columns = ["z", "t", "y", "y", "site", "n"]
    with pytest.raises(InputError, match="more than one column named 'y'"):
        IVData.from_frame(frame, **ROLES)


@pytest.mark.parametrize("thing", [None, 3, "file.csv", [1, 2, 3], np.zeros((3, 3)), pl.Series([1, 2])])
def test_what_is_not_a_table_is_refused(thing):
    with pytest.raises(InputError, match="not a table"):
        IVData.from_frame(thing, **ROLES)


def test_empty_frame_and_lengths():
    with pytest.raises(InputError, match="no rows"):
        IVData.from_frame(pl.DataFrame({"z": [], "t": [], "y": []}), **ROLES)
    with pytest.raises(InputError, match="arrays differ in length: z has 2, t has 3"):
        IVData.from_arrays([0, 1], [0, 1, 1], [0, 1])
    with pytest.raises(InputError, match="covariates has 1 names, but x has 2 columns"):
        IVData.from_arrays([0, 1], [0, 1], [0, 1], x=np.zeros((2, 2)), covariates=["a"])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([1, 2, 3], "eight numbers"),
        (np.ones((2, 4)), "eight numbers"),
        ([1, 1, 1, -1, 1, 1, 1, 1], "one is -1"),
        ([1, 1, 1, 0.5, 1, 1, 1, 1], "one is 0.5"),
        ([1, 1, 1, np.nan, 1, 1, 1, 1], "one is nan"),
        ([1, 1, 1, 1, 0, 0, 0, 0], "nobody with z = 1"),
        (["a"] * 8, "must be numbers"),
    ],
)
def test_bad_count_tables(table, message):
    with pytest.raises(InputError, match=message):
        IVData.from_counts(table)


def test_huge_weights_are_exact():
    data = IVData.from_counts([10**9, 1, 10**9, 0, 3, 0, 0, 10**12])
    assert data.n == 1_002_000_000_004
    assert data.counts()[0, 0, 1] == 1
