"""Amounts by their means: merged rows with mean and variance, in one pass."""

from __future__ import annotations

import numpy as np
import pytest

from ivicl import IVBounds, IVData
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.methods.design.rows_law import one_law
from stand_in import made_up

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}
X = ["x0", "x1", "x2"]


def amounts(n: int, spread: float, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    z = rng.permutation(n) % 2
    u = rng.random(n)
    t = np.where(u < 0.1, 1, np.where(u < 0.6, z, 0))
    return {"z": z, "t": t, "y": np.clip(0.4 + 0.1 * t + spread * rng.standard_normal(n), 0, 1)}


def test_it_is_the_default_for_amounts_and_leaves_yes_and_no_alone(stand_in):
    res = IVBounds().fit(made_up(300, amounts=True), covariates=X, **ROLES)
    assert res.thresholds.combine == "means"
    assert "Set bounded" in res.summary() and "what the outcome's means allow" in res.summary()
    passes = [shape for shape in stand_in.shapes if shape[2]]  # the ladder's rung without covariates apart
    assert [shape[0] for shape in passes] == [1], "one pass"
    binary = IVBounds().fit(made_up(300), covariates=X, **ROLES)
    assert binary.thresholds is None
    same = IVBounds(combine="comonotone").fit(made_up(300), covariates=X, **ROLES)
    assert (binary.lower, binary.upper) == (same.lower, same.upper)


def test_amounts_that_are_yes_and_no_have_the_answer_of_yes_and_no(stand_in):
    frame = made_up(400)
    told = IVBounds().fit(frame, covariates=X, **ROLES)
    hundreds = IVBounds().fit(frame | {"y": 100 * frame["y"]}, covariates=X, outcome_range=(0, 100), **ROLES)
    assert not hundreds.binary
    assert (hundreds.lower, hundreds.upper) == pytest.approx((100 * told.lower, 100 * told.upper))


def test_recoding_the_outcome_mirrors():
    frame = amounts(400, 0.15)
    one = IVBounds().fit(frame, outcome_range=(0, 1), **ROLES)
    other = IVBounds().fit(frame | {"y": 1 - frame["y"]}, outcome_range=(0, 1), **ROLES)
    assert (other.lower, other.upper) == pytest.approx((-one.upper, -one.lower), abs=1e-4)


def test_the_shipped_network_holds_the_set_that_the_means_allow():
    truth = one_law(IVData.from_frame(amounts(400_000, 0.15, seed=1), outcome_range=(0, 1), **ROLES))
    lower, upper = (float(end[0]) for end in sharp_ends(truth.law))
    fits = [IVBounds().fit(amounts(500, 0.15, seed=2 + k), outcome_range=(0, 1), **ROLES) for k in range(20)]
    held = [res.lower <= lower and res.upper >= upper for res in fits]
    assert np.mean(held) >= 0.85
    old = [
        IVBounds(combine="comonotone").fit(amounts(500, 0.15, seed=2 + k), outcome_range=(0, 1), **ROLES)
        for k in range(20)
    ]
    assert np.mean([res.width for res in fits]) < 0.97 * np.mean([res.width for res in old])


def test_many_distinct_amounts_in_few_places_pass_whole(stand_in):
    """Rows that differ in the outcome alone are one row: nobody is sampled away."""
    frame = amounts(30_000, 0.15) | {"x0": np.arange(30_000) % 3}
    res = IVBounds(max_rows=100).fit(frame, covariates=["x0"], outcome_range=(0, 1), **ROLES)
    assert res.details["rows_used"] == 12 and res.details["n_used"] == 30_000
    continuous = frame | {"x0": np.random.default_rng(0).standard_normal(30_000)}
    res = IVBounds(max_rows=1000).fit(continuous, covariates=["x0"], outcome_range=(0, 1), **ROLES)
    assert 500 < res.details["rows_used"] <= 1100
    assert any("random subsample" in warning for warning in res.warnings)
