"""ITT and LATE given covariates: against two-stage least squares, under confounding, with weak instruments."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ivicl import IVBounds, IVData
from ivicl._shared.ridge import logistic_without_own, ridge_without_own
from ivicl._shared.special import expit
from ivicl.methods.one_step_means import LEAST_PEOPLE, _ranks, adjusted_means


def study(rng: np.random.Generator, n: int, chance: float = 0.0, strength: float = 0.6) -> dict[str, np.ndarray]:
    """Equal effects of 0.3 (in a range of 4) whatever x; `chance` makes P(Z=1) depend on x, and x moves y a lot."""
    x = rng.normal(size=(n, 3))
    e = 1 / (1 + np.exp(-2 * chance * x[:, 0]))
    z = (rng.random(n) < e).astype(float)
    u = rng.random(n)
    t = (u < 0.5 * (1 - strength) + strength * z).astype(float)
    y = np.clip(0.3 * t + 0.4 * x[:, 0] + 0.2 * x[:, 1] + 0.2 * (u - 0.5) + 0.1 * rng.normal(size=n), -2, 2)
    return {"z": z, "t": t, "y": y, "x": x}


def data_of(made: dict[str, np.ndarray], covariates: bool = True) -> IVData:
    return IVData.from_arrays(made["z"], made["t"], made["y"], made["x"] if covariates else None, outcome_range=(-2, 2))


def two_stage_least_squares(made: dict[str, np.ndarray]) -> tuple[float, float]:
    """The coefficient of t with z as its instrument and x beside, and its heteroskedasticity-robust standard error."""
    own = np.column_stack([np.ones(len(made["z"])), made["x"]])
    without = lambda v: v - own @ np.linalg.lstsq(own, v, rcond=None)[0]  # noqa: E731
    z, t, y = (without(made[name]) for name in "zty")
    effect = (z @ y) / (z @ t)
    residual = y - effect * t
    return float(effect), float(np.sqrt((z**2) @ residual**2) / abs(z @ t))


def test_it_agrees_with_two_stage_least_squares_where_that_is_its_limit():
    """Randomised, or effects that are equal: both estimate the same number, and as precisely."""
    rng = np.random.default_rng(0)
    for chance in (0.0, 0.4):
        made = study(rng, 4000, chance)
        effect, se = two_stage_least_squares(made)
        found = IVBounds(method="late").fit_data(data_of(made))
        assert found.adjusted and found.estimates.lower == pytest.approx(effect, abs=0.6 * se)
        assert found.estimates.se_lower == pytest.approx(se, rel=0.25)


def test_covariates_that_predict_the_outcome_make_it_narrower_and_confounders_are_taken_out():
    rng = np.random.default_rng(1)
    made = study(rng, 3000)
    plain, adjusted = (IVBounds(method="late").fit_data(data_of(made, used)) for used in (False, True))
    assert adjusted.width < 0.6 * plain.width
    confounded = study(rng, 3000, chance=0.6)
    plain, adjusted = (IVBounds(method="late").fit_data(data_of(confounded, used)) for used in (False, True))
    assert plain.lower > 0.4, "x moves both the instrument and the outcome"
    assert adjusted.lower < 0.3 < adjusted.upper
    itt = adjusted.estimands["ITT"]
    assert itt.lower < 0.6 * 0.3 < itt.upper and itt.adjusted


def test_the_interval_holds_the_effect_as_often_as_it_says():
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(150):
        means = adjusted_means(data_of(study(rng, 300, chance=0.3)))
        lower, upper, _ = means.effects().ratio_interval(0.1)
        held += 4 * lower <= 0.3 <= 4 * upper
    assert 0.83 <= held / 150 <= 0.96


def test_a_weak_instrument_gives_the_whole_range():
    found = IVBounds(method="late").fit_data(data_of(study(np.random.default_rng(3), 300, strength=0.0)))
    assert (found.lower, found.upper) == (-4.0, 4.0) and any("too weak" in w for w in found.warnings)


def test_weights_are_copies_and_order_and_units_of_covariates_do_not_matter():
    rng = np.random.default_rng(4)
    made = study(rng, 200)
    k, order = rng.integers(1, 4, 200), rng.permutation(200)
    copies = np.repeat(np.arange(200), k)
    weighted = adjusted_means(IVData.from_arrays(made["z"], made["t"], made["y"], made["x"], w=k))
    copied = adjusted_means(IVData.from_arrays(*(made[name][copies] for name in "ztyx")))
    np.testing.assert_allclose(weighted.means, copied.means, atol=1e-9)
    np.testing.assert_allclose(weighted.covariance, copied.covariance, rtol=1e-6, atol=1e-12)
    plain = adjusted_means(IVData.from_arrays(*(made[name] for name in "ztyx")))
    other = adjusted_means(IVData.from_arrays(*(made[name][order] for name in "zty"), -1e6 * made["x"][order] + 5))
    np.testing.assert_allclose(plain.means, other.means, atol=1e-7)


def test_the_partial_f_is_that_of_a_regression_with_the_covariates():
    made = study(np.random.default_rng(8), 800, chance=0.5)
    own = np.column_stack([np.ones(800), made["x"]])
    z, t = (v - own @ np.linalg.lstsq(own, v, rcond=None)[0] for v in (made["z"], made["t"]))
    slope = (z @ t) / (z @ z)
    robust = (z**2 @ (t - slope * z) ** 2) / (z @ z) ** 2
    stage = IVBounds(method="late").fit_data(data_of(made)).diagnostics.first_stage
    assert stage.partial_f == pytest.approx(slope**2 / robust, rel=1e-6) and stage.partial_f < stage.f
    assert IVBounds(method="late").fit_data(data_of(made, False)).diagnostics.first_stage.partial_f is None


def test_too_few_people_or_covariates_that_do_not_vary_are_said():
    rng = np.random.default_rng(5)
    for made in (study(rng, LEAST_PEOPLE), study(rng, 100) | {"x": np.ones((100, 1))}):
        found = IVBounds(method="late").fit_data(data_of(made))
        assert not found.adjusted and any("covariates were not used" in w for w in found.warnings)


def test_left_out_predictions_are_those_of_fits_without_the_row():
    rng = np.random.default_rng(6)
    x, w = rng.normal(size=(40, 3)), np.ones(40)
    y = (x[:, :1] + rng.normal(size=(40, 1)) > 0).astype(float)
    known = np.arange(40) < 30
    found = ridge_without_own(x, y, w, known)
    candidates = []
    for penalty in (1e-4, 1e-3, 1e-2, 0.1, 1.0, 100.0):
        alone = np.empty(40)
        for i in range(40):
            rows = np.flatnonzero(known & (np.arange(40) != i))
            design = np.column_stack([np.ones(len(rows)), x[rows]])
            ridge = np.diag([0.0, *np.full(3, penalty * 30)])
            alone[i] = np.r_[1.0, x[i]] @ np.linalg.solve(design.T @ design + ridge, design.T @ y[rows, 0])
        candidates.append(alone)
    # Centring on all known rows and on all but one differ by a little; the penalty chosen is one of those above.
    assert min(np.abs(alone - found[:, 0]).max() for alone in candidates) < 1e-8
    chances = logistic_without_own(x, y[:, 0], w)
    assert np.corrcoef(chances, x[:, 0])[0, 1] > 0.8 and ((chances > 0) & (chances < 1)).all()


def test_estimands_given_covariates_are_coherent_and_hold_the_truth():
    rng = np.random.default_rng(7)
    made = study(rng, 3000, chance=0.4)
    found = IVBounds(method="ivicl").fit_data(data_of(made)).estimands
    for name in ("ATT", "ATU"):
        assert found[name].adjusted and found[name].lower < 0.3 < found[name].upper
    assert found["LATE"].lower < 0.3 < found["LATE"].upper
    assert found["EY1"].estimate_lower < 0.3 < found["EY1"].estimate_upper, "y has mean 0 without the treatment"
    assert min(found["ATT"].lower, found["ATU"].lower) < found["ATE"].upper


def test_very_many_rows_are_adjusted_in_blocks(monkeypatch):
    """Every block has fits of its own, and their average is what one fit of all says, up to what fits differ by."""
    from ivicl.methods import one_step_means

    rng = np.random.default_rng(5)
    x, z = rng.normal(size=(6000, 3)), rng.integers(0, 2, 6000)
    t = rng.random(6000) < 0.2 + 0.5 * z + 0.1 * (x[:, 0] > 0)
    y = np.clip(0.3 + 0.2 * t + 0.1 * x[:, 1] + 0.1 * rng.normal(size=6000), 0, 1)
    data = IVData.from_arrays(z=z, t=t, y=y, x=x, outcome_range=(0.0, 1.0))
    whole = one_step_means.adjusted_means(data)
    monkeypatch.setattr(one_step_means, "MOST_ROWS", 1600)
    blocks = one_step_means.adjusted_means(data)
    errors = np.sqrt(np.diagonal(whole.covariance))
    assert np.abs(blocks.means - whole.means).max() > 0
    assert (np.abs(blocks.means - whole.means) < 0.2 * errors).all()
    np.testing.assert_allclose(np.sqrt(np.diagonal(blocks.covariance)), errors, rtol=0.05)


def test_heavy_tails_do_not_hide_what_a_covariate_does():
    """A few huge values make up most of the variance of the column; assignment and outcome go with the ranks."""
    rng = np.random.default_rng(0)
    n = 3000
    x = rng.standard_t(1.5, n)
    u = x / (1 + np.abs(x))
    z = (rng.random(n) < expit(1.2 * u)).astype(int)
    t = (rng.random(n) < 0.2 + 0.5 * z).astype(int)
    y = 0.5 + 0.3 * u + 0.1 * t + 0.05 * rng.normal(size=n)
    means = adjusted_means(IVData.from_arrays(z, t, y, x[:, None], outcome_range=(-0.5, 1.5)))
    effects = means.effects()
    assert abs(2 * effects.outcome - 0.05) < 4 * 2 * math.sqrt(effects.var_outcome)
    assert abs(2 * effects.ratio - 0.1) < 0.05


def test_ranks_count_people_and_ties_have_one_rank():
    x = np.array([[3.0], [1.0], [1.0], [9.0]])
    once = _ranks(np.repeat(x, [1, 2, 1, 4], axis=0), np.ones(8))
    np.testing.assert_allclose(once[:, 0], [3.5 / 8, *[1.5 / 8] * 3, *[6 / 8] * 4])
    np.testing.assert_allclose(_ranks(x, np.array([1.0, 2, 1, 4]))[:, 0], [3.5 / 8, 1.5 / 8, 1.5 / 8, 6 / 8])


def test_equal_outcomes_in_an_arm_are_not_certainty():
    """Ten people in each arm who comply, and all fare as their arm: the ratio is not known to be exactly one."""
    for counts, truth in (([10, 0, 0, 0, 0, 0, 0, 10], 1.0), ([0, 10, 0, 0, 0, 0, 0, 10], 0.0)):
        res = IVBounds(method="late").fit_counts(counts)
        assert res.lower < truth - 0.1 and res.upper >= truth
        assert 0.1 < res.width < 0.7
        assert IVBounds(method="late").fit_counts([50 * count for count in counts]).width < 0.02
