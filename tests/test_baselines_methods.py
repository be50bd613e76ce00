"""`plugin`, `levis` and `whitehouse` through IVBounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from ivicl import IVBounds, IVData
from ivicl.errors import InputError
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.methods.baselines.parts.levels import outcome_levels
from ivicl.methods.baselines.parts.nuisance import NuisanceConfig, estimate_nuisances
from ivicl.methods.baselines.parts.one_step import critical_value, estimate_ends
from ivicl.methods.baselines.parts.scores import default_sharpness
from ivicl.methods.baselines.parts.simulate import MARGIN, SWITCH, WITH_MARGIN, NewtonLogistic

CHOLESTYRAMINE = [158, 14, 0, 0, 52, 12, 23, 78]
FAST = NewtonLogistic()


def fit(method, data, **options):
    return IVBounds(method=method, **{"learner": FAST, "n_jobs": 1, **options}).fit_data(data)


def ends(result):
    return result.estimates.lower, result.estimates.upper


@pytest.mark.parametrize(
    ("method", "options"),
    [("plugin", {}), ("levis", {}), ("levis", {"form": "smooth"}), ("whitehouse", {}), ("whitehouse", {"beta": 5.0})],
)
def test_no_covariates_gives_the_classical_bound(method, options):
    with_constant = IVData.from_counts(CHOLESTYRAMINE)
    for data in (with_constant, IVData.from_arrays(with_constant.z, with_constant.t, with_constant.y,
                                                   np.ones((len(with_constant.z), 1)), with_constant.w)):  # fmt: skip
        result = IVBounds(method=method, **options).fit_data(data)
        np.testing.assert_allclose(ends(result), [0.3913, 0.7792], atol=5e-5)
        if method == "plugin":
            np.testing.assert_allclose([result.lower, result.upper], ends(result))
        else:
            assert result.lower < 0.36 and result.upper > 0.80


def test_standard_errors_without_covariates_are_the_delta_method():
    """L = p11.1 + p00.0 - 1 binds: two binomial frequencies of independent arms."""
    result = IVBounds(method="levis").fit_counts(CHOLESTYRAMINE)
    a, n1 = 78 / 165, 165
    b, n0 = 158 / 172, 172
    expected = np.sqrt(a * (1 - a) / n1 + b * (1 - b) / n0)
    assert result.estimates.se_lower == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("method", ["plugin", "levis", "whitehouse"])
def test_estimates_are_near_the_truth(method):
    result = fit(method, SWITCH.draw(6000, np.random.default_rng(1)))
    np.testing.assert_allclose(ends(result), SWITCH.true_ends(), atol=0.05)


def test_smooth_form_is_corrected_outward_and_the_raw_one_can_be_had():
    data = MARGIN.draw(1500, np.random.default_rng(2))
    corrected = fit("levis", data, form="smooth")
    raw = fit("levis", data, form="smooth", corrected=False)
    gap = np.log(8) / default_sharpness(1500)
    np.testing.assert_allclose(corrected.details["uncorrected_bounds"], ends(raw))
    assert corrected.estimates.lower == pytest.approx(raw.estimates.lower - gap)
    assert corrected.estimates.upper == pytest.approx(raw.estimates.upper + gap)


def test_small_beta_widens_whitehouse_within_the_stated_gap():
    data = SWITCH.draw(1500, np.random.default_rng(3))
    wide, sharp = fit("whitehouse", data, beta=8.0), fit("whitehouse", data, beta=400.0)
    assert wide.estimates.lower < sharp.estimates.lower - 0.005
    assert wide.estimates.upper > sharp.estimates.upper + 0.005
    assert wide.details["largest_smoothing_gap"] == pytest.approx(0.9731 / 8)


def test_imbens_manski_lies_between_one_sided_and_two_sided_and_covers_a_point_set_two_sided():
    assert critical_value("imbens-manski", 0.05, 0.0, 0.02) == pytest.approx(norm.ppf(0.975), abs=1e-6)
    assert critical_value("imbens-manski", 0.05, 1.0, 0.02) == pytest.approx(norm.ppf(0.95), abs=1e-6)
    c = critical_value("imbens-manski", 0.05, 0.02, 0.02)
    assert norm.cdf(c + 1.0) - norm.cdf(-c) == pytest.approx(0.95)
    assert critical_value("z", 0.05, 1.0, 0.02) == pytest.approx(norm.ppf(0.975))
    data = MARGIN.draw(800, np.random.default_rng(4))
    z, im = fit("levis", data, interval="z", alpha=0.1), fit("levis", data, alpha=0.1)
    assert z.lower == pytest.approx(z.estimates.lower - norm.ppf(0.95) * z.estimates.se_lower)
    assert z.lower < im.lower and z.upper > im.upper


@pytest.mark.parametrize("method", ["plugin", "levis", "whitehouse"])
def test_copies_weights_and_order_of_rows_change_nothing(method):
    data = SWITCH.draw(300, np.random.default_rng(5))
    order = np.random.default_rng(6).permutation(900)
    copies = IVData.from_arrays(
        *(np.repeat(v, 3)[order] for v in (data.z, data.t, data.y)), np.repeat(data.x, 3, 0)[order]
    )
    weighted = IVData.from_arrays(data.z, data.t, data.y, data.x, np.full(300, 3))
    a, b = fit(method, copies), fit(method, weighted)
    np.testing.assert_allclose([a.lower, a.upper], [b.lower, b.upper], atol=1e-12)
    assert a.lower != fit(method, data).lower  # three times the people are not the same study


def test_same_seed_same_answer_and_another_seed_another_split():
    data = SWITCH.draw(500, np.random.default_rng(7))
    one, two, other = fit("levis", data), fit("levis", data), fit("levis", data, random_state=1)
    assert (one.lower, one.upper) == (two.lower, two.upper)
    assert one.lower != other.lower


class Biased(NewtonLogistic):
    """Deliberately biased: pulled towards the uniform law by delta."""

    def __init__(self, delta=0.0, ridge=0.1, steps=8):
        self.delta = delta
        super().__init__(ridge, steps)

    def predict_proba(self, x):
        p = super().predict_proba(x)
        return (1 - self.delta) * p + self.delta / p.shape[1]


def test_one_step_correction_survives_a_learner_biased_at_rate_n_to_the_quarter():
    n, truth = 1500, MARGIN.true_ends()
    learner = Biased(delta=n**-0.25)
    errors = {"plugin": [], "levis": [], "whitehouse": []}
    for seed in range(6):
        data = MARGIN.draw(n, np.random.default_rng([8, seed]))
        for method, found in errors.items():
            estimate = ends(fit(method, data, learner=learner, calibrate=False))
            found.append(np.subtract(estimate, truth))
    bias = {method: np.abs(np.mean(found, axis=0)) for method, found in errors.items()}
    assert bias["plugin"][0] > 0.08  # the upper end adds two small probabilities, which the pull barely moves
    assert bias["levis"].max() < 0.025 and bias["whitehouse"].max() < 0.03


# --- bounded outcomes


def bounded(n, rng, values=(0.0, 0.25, 1.0)):
    data = MARGIN.draw(n, rng)
    y = np.where(data.y > 0, rng.choice(values[1:], n), values[0])
    return data, y


@pytest.mark.parametrize("method", ["plugin", "levis", "whitehouse"])
def test_bounded_outcome_without_covariates_adds_the_classical_bounds_of_the_thresholds(method):
    data, y = bounded(900, np.random.default_rng(9))
    result = IVBounds(method=method).fit_data(IVData.from_arrays(data.z, data.t, y))
    expected = np.zeros(2)
    for step, c in ((0.25, 0.25), (0.75, 1.0)):
        table = IVData.from_arrays(data.z, data.t, (y >= c).astype(float), outcome_range=(0, 1)).counts()
        expected += step * np.array(sharp_ends(table / table.sum((1, 2), keepdims=True)))
    np.testing.assert_allclose(ends(result), expected, atol=1e-12)
    assert result.details["slack"] == 0.0 and result.details["thresholds"] == 2


def test_standard_error_of_a_bounded_outcome_sums_scores_before_the_sd():
    """Thresholds are correlated: adding their standard errors would overstate, adding variances understate."""
    data, y = bounded(2000, np.random.default_rng(10))
    levels = outcome_levels(IVData.from_arrays(data.z, data.t, y, data.x), 16)
    fitted = estimate_nuisances(data.x, data.z, data.t, levels.level, data.w, 3, NuisanceConfig(learner=FAST, n_jobs=1))
    whole = estimate_ends(fitted, levels.steps, "margin", None)
    parts = [estimate_ends(fitted, levels.steps * (np.arange(2) == j), "margin", None) for j in (0, 1)]
    assert whole.lower == pytest.approx(sum(part.lower for part in parts))
    a, b = (part.se_lower for part in parts)
    assert np.hypot(a, b) * 1.05 < whole.se_lower < (a + b) * 0.999


def test_units_of_the_outcome_carry_over():
    data, y = bounded(700, np.random.default_rng(11))
    for method in ("plugin", "levis", "whitehouse"):
        a = fit(method, IVData.from_arrays(data.z, data.t, y, data.x))
        b = fit(method, IVData.from_arrays(data.z, data.t, 40 * y - 10, data.x))
        np.testing.assert_allclose([b.lower, b.upper], [40 * a.lower, 40 * a.upper], atol=1e-9)


def test_continuous_outcome_is_rounded_to_the_nearest_step_and_the_slack_is_told():
    y = np.array([0.0, 0.24, 0.26, 0.5, 0.74, 1.0, 0.9])
    arms = np.array([0, 1, 0, 1, 0, 1, 0])
    levels = outcome_levels(IVData.from_arrays(arms, arms[::-1], y), 2)
    np.testing.assert_array_equal(levels.level, [0, 0, 1, 1, 1, 2, 2])
    assert levels.slack == 0.5 and "0.5" in levels.notes[0]
    data = MARGIN.draw(500, np.random.default_rng(12))
    y = np.clip(0.6 * data.y + 0.4 * np.random.default_rng(13).random(500), 0, 1)
    result = fit("levis", IVData.from_arrays(data.z, data.t, y, data.x, outcome_range=(0, 1)), n_thresholds=8)
    assert result.details["thresholds"] == 8 and any("rounded" in warning for warning in result.warnings)


# --- what users can get wrong


@pytest.mark.filterwarnings("ignore::ivicl.errors.DesignWarning")
def test_violated_instrument_does_not_cross_the_bounds():
    """Z moves Y among the never-treated: the inequalities fail and the estimated bounds cross."""
    result = IVBounds(method="levis").fit_counts([900, 50, 25, 25, 50, 900, 25, 25])
    assert result.estimates.lower > result.estimates.upper
    assert result.lower <= result.upper and any("contradict" in warning for warning in result.warnings)


def test_options_are_checked():
    data = MARGIN.draw(60, np.random.default_rng(14))
    for method, options, word in (
        ("levis", {"form": "soft"}, "form"), ("levis", {"interval": "wald"}, "interval"),
        ("levis", {"beta": 3}, "beta"), ("whitehouse", {"beta": -1}, "beta"), ("plugin", {"interval": "z"}, "interval"),
        ("levis", {"form": "smooth", "sharpness": -2.0}, "sharpness"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=word):
            fit(method, data, **options)


# --- the long ones


@pytest.mark.slow
@pytest.mark.parametrize("law", WITH_MARGIN, ids=lambda law: law.name)
def test_one_sided_intervals_cover_each_true_bound(law):
    """400 data sets of 2,000 rows; the full table is in records/2026-11-15-baselines-coverage."""
    truth, z = law.true_ends(), norm.ppf(0.95)
    covered = {"margin": [], "softmax": []}
    for seed in range(400):
        data = law.draw(2000, np.random.default_rng([20, seed]))
        config = NuisanceConfig(learner=FAST, calibrate=False, n_jobs=1, random_state=seed)
        fitted = estimate_nuisances(data.x, data.z, data.t, data.y.astype(int), data.w, 2, config)
        for form, found in covered.items():
            e = estimate_ends(fitted, np.ones(1), form, default_sharpness(2000))
            found.append([e.lower - z * e.se_lower <= truth[0], e.upper + z * e.se_upper >= truth[1]])
    for form, found in covered.items():
        rate = np.mean(found, axis=0)
        assert ((rate >= 0.92) & (rate <= 0.98)).all(), (form, rate)


@pytest.mark.slow
def test_errors_shrink_like_one_over_root_n():
    truth, spread = SWITCH.true_ends(), []
    for n in (500, 8000):
        errors = []
        for seed in range(60):
            data = SWITCH.draw(n, np.random.default_rng([21, n, seed]))
            config = NuisanceConfig(learner=FAST, calibrate=False, n_jobs=1)
            fitted = estimate_nuisances(data.x, data.z, data.t, data.y.astype(int), data.w, 2, config)
            for form in ("margin", "softmax"):
                e = estimate_ends(fitted, np.ones(1), form, default_sharpness(n))
                errors.append([e.lower - truth[0], e.upper - truth[1]])
        spread.append(np.sqrt(np.mean(np.square(errors))))
    assert 3.0 < spread[0] / spread[1] < 5.2  # sqrt(8000 / 500) = 4
