"""Arbitrary small frames: a result or one of our errors, never a traceback of another library."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ivicl import InputError, IVBounds, IVData

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.sampled_from(["", " ", "0", "1", "a", "nan", "inf", "yes", "é", "1e400", "[1]"]),
    st.text(max_size=4),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
    st.decimals(),
    st.binary(max_size=3),
    st.lists(st.integers(), max_size=2),
    st.complex_numbers(),
    st.dictionaries(st.text(max_size=1), st.integers(), max_size=1),
)
KINDS = (
    st.booleans(),
    st.integers(0, 1),
    st.sampled_from([0, 1, None]),
    st.floats(),
    st.floats(-1, 1),
    st.sampled_from(["a", "b"]),
    st.text(max_size=3),
    VALUES,
)


@st.composite
def frames(draw) -> dict[str, list]:
    n = draw(st.integers(0, 7))
    columns = {
        name: st.lists(draw(st.sampled_from(KINDS)), min_size=n, max_size=n) for name in ("z", "t", "y", "x", "v")
    }
    found = {name: draw(values) for name, values in columns.items()}
    found["w"] = draw(
        st.lists(draw(st.sampled_from([st.just(1), st.integers(0, 10**9), VALUES])), min_size=n, max_size=n)
    )
    return found


def holds(data: IVData) -> None:
    for values in (data.x, data.z, data.t, data.y, data.w):
        assert values.dtype == np.float64
        assert np.isfinite(values).all()
    assert data.x.shape == (len(data.z), len(data.covariates))
    assert set(np.unique(data.z)) == {0.0, 1.0}
    assert set(np.unique(data.t)) <= {0.0, 1.0}
    assert data.w.min() >= 1
    assert data.outcome_range[0] <= data.y.min() <= data.y.max() <= data.outcome_range[1]
    assert data.report.n == data.n


def attempt(frame, **options) -> IVData | None:
    try:
        data = IVData.from_frame(frame, outcome="y", treatment="t", instrument="z", covariates=["x", "v"], **options)
    except InputError as error:
        message = str(error)
        assert message.endswith((".", "...")) and "\n" not in message.strip() and len(message) < 500
        return None
    holds(data)
    return data


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(frames(), st.sampled_from(["drop", "indicator", "raise"]), st.booleans())
@example(
    {"z": [0, 1], "t": [0, 1], "y": [1e308, -1e308], "x": [1e308, -1e308], "v": ["", "a"], "w": [1, 1]}, "drop", False
)
@example(
    {"z": [0, 1], "t": [-(2**63) - 1, 0], "y": [2**64, 3], "x": [2**100, 1], "v": [0, 0], "w": [1, 1]}, "drop", False
)
def test_any_small_frame(columns, missing, weighted):
    options = {"missing": missing, "weights": "w" if weighted else None}
    attempt(columns, **options)
    attempt(pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in columns.items()}), **options)
    try:
        frame = pl.DataFrame(columns, strict=False)
    except (Exception, pl.exceptions.PanicException):  # polars itself cannot hold these values: nothing to give us
        return
    attempt(frame, **options)


@pytest.mark.filterwarnings("ignore::ivicl.errors.DesignWarning")
@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 1), st.sampled_from([0, 1, 0.5, 2, -1e6, 1e-9, 1e12])),
        min_size=2,
        max_size=12,
    ),
    st.sampled_from(["balke-pearl", "manski", "manski-iv", "no-defiers", "late", "sharp"]),
)
def test_any_usable_data_gives_ordered_bounds_inside_the_range(rows, method):
    z, t, y = zip(*rows, strict=True)
    try:
        data = IVData.from_arrays(z, t, y)
    except InputError:
        return
    found = IVBounds(method=method).fit_data(data)
    span = data.outcome_range[1] - data.outcome_range[0]
    assert -span <= found.lower <= found.upper <= span
    assert math.isfinite(found.width)
    assert found.to_json()
    assert found.summary()


def test_signalling_nan_and_infinite_decimals():
    values = [Decimal("sNaN"), Decimal("NaN"), Decimal("1"), Decimal("2")]
    columns = {"z": [0, 1, 0, 1], "t": [0, 1, 1, 0], "y": [0, 1, 0, 1], "x": values, "v": [1, 2, 3, 4]}
    data = attempt(columns)
    assert data is not None and data.report.n_dropped == 2
    assert attempt(columns | {"x": [Decimal("Infinity"), 1, 2, 3]}) is None


def test_time_zones_and_odd_dates_do_not_crash():
    zone = datetime.timezone(datetime.timedelta(hours=5))
    values = [
        datetime.datetime(2020, 1, 1, tzinfo=zone),
        datetime.datetime(1, 1, 1),
        datetime.datetime(9999, 1, 1),
        None,
    ]
    attempt({"z": [0, 1, 0, 1], "t": [0, 1, 1, 0], "y": [0, 1, 0, 1], "x": values, "v": [1, 2, 3, 4]})
