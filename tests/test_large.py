from __future__ import annotations

import numpy as np
import pytest

from ivicl import IVBounds, IVData
from ivicl.methods.pretrained.large import keep_probability, shrink
from stand_in import made_up

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}


@pytest.mark.parametrize(
    "weights", [np.ones(5000), np.full(5000, 1e9), np.repeat([1.0, 10.0, 1e6], [2000, 2000, 1000])]
)
def test_the_share_kept_leaves_about_the_wanted_rows(weights):
    share = keep_probability(weights, 1500)
    kept = np.random.default_rng(0).binomial(weights.astype(np.int64), share)
    assert (kept > 0).sum() == pytest.approx(1500, rel=0.1)


def test_a_subsample_is_of_people_and_keeps_the_law():
    rng = np.random.default_rng(0)
    n = 20_000
    z = rng.integers(0, 2, n)
    data = IVData.from_arrays(z, z, rng.random(n) < 0.3, rng.normal(size=n), w=rng.integers(1, 50, n))
    small = shrink(data, 4000, np.random.default_rng(1))
    assert len(small.w) == pytest.approx(4000, rel=0.1)
    assert small.n < data.n / 10
    assert small.w @ small.y / small.n == pytest.approx(data.w @ data.y / data.n, abs=0.03)
    # Heavy rows must lose people, not only be dropped: otherwise the sample would claim more than it knows.
    assert small.w.max() < data.w.max()


def test_small_data_are_left_alone():
    data = IVData.from_frame(made_up(100), covariates=["x0"], **ROLES)
    assert shrink(data, 100, np.random.default_rng(0)) is data


def test_a_subsample_is_said_and_keeps_its_own_number(stand_in):
    res = IVBounds(max_rows=1000).fit(made_up(5000), covariates=["x0"], **ROLES)
    assert res.n == 5000
    assert res.details["n_used"] == pytest.approx(1000, rel=0.15)
    assert any("subsample" in warning for warning in res.warnings)
    again = IVBounds(max_rows=1000).fit(made_up(5000), covariates=["x0"], **ROLES)
    assert (again.lower, again.upper) == (res.lower, res.upper)


def test_without_covariates_nothing_is_sampled(stand_in):
    res = IVBounds(max_rows=10).fit(made_up(5000, amounts=True), **ROLES)
    assert res.details["n_used"] == 5000
    assert not any("subsample" in warning for warning in res.warnings)


def test_discrete_data_are_compressed_without_loss(stand_in):
    frame = made_up(20_000)
    frame["x0"] = np.sign(frame["x0"])
    res = IVBounds(max_rows=1000).fit(frame, covariates=["x0"], **ROLES)
    assert res.details["n_used"] == 20_000
    assert res.details["rows_used"] <= 16


@pytest.mark.slow
def test_the_width_does_not_grow_with_distinct_rows():
    """One law, from 4 thousand to 256 thousand distinct rows: more data must not widen the interval."""
    widths = []
    for n in (4096, 32_768, 262_144):
        frame = made_up(n, seed=7, d=5)
        widths.append(IVBounds().fit(frame, covariates=[f"x{j}" for j in range(5)], **ROLES).width)
    assert widths[1] < widths[0] + 0.01
    assert widths[2] < widths[1] + 0.01


def test_a_sample_says_what_it_costs(stand_in):
    """In numbers, and about right: the stand-in's sampling part shrinks as one over the root of the people."""
    frame = made_up(8000)
    wide = IVBounds(max_rows=1000).fit(frame, covariates=["x0"], **ROLES)
    cost = next(warning for warning in wide.warnings if "wider by about" in warning)
    found = float(cost.split("wider by about ")[1].split(" of ")[0])
    parts = wide.width_parts
    assert found == pytest.approx(parts.not_enough_data * (1 - (wide.details["n_used"] / 8000) ** 0.5), rel=0.2)
    whole = IVBounds().fit(frame, covariates=["x0"], **ROLES)
    assert not any("wider by about" in warning for warning in whole.warnings)
