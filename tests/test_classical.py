"""The classical methods: known answers, nesting, units, violated inequalities."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from ivicl import InputError, IVBounds, IVData
from ivicl.identification.inequalities import check_counts
from ivicl.methods.arm_effects import ArmEffects

CHOLESTYRAMINE = [158, 14, 0, 0, 52, 12, 23, 78]
VITAMIN_A = [74, 11514, 0, 0, 34, 2385, 12, 9663]
NO_COVARIATE_METHODS = ("balke-pearl", "manski", "manski-iv", "no-defiers", "sharp", "late")


@pytest.mark.parametrize(("counts", "known"), [(VITAMIN_A, (-0.1946, 0.0054)), (CHOLESTYRAMINE, (0.3913, 0.7792))])
@pytest.mark.parametrize("method", ["balke-pearl", "sharp"])
def test_known_answers(counts, known, method):
    found = IVBounds(method=method).fit_counts(counts)
    assert (round(found.lower, 4), round(found.upper, 4)) == known


def eight_level_data(seed: int, n: int = 3000) -> IVData:
    rng = np.random.default_rng(seed)
    z, kind = rng.integers(0, 2, n), rng.choice(4, n, p=[0.2, 0.25, 0.45, 0.1])
    t = np.select([kind == 0, kind == 1, kind == 2], [1, 0, z], 1 - z)
    y = np.clip(rng.binomial(7, 0.2 + 0.1 * kind) + t, 0, 7)
    return IVData.from_arrays(z, t, y.astype(float))


@pytest.mark.parametrize("seed", range(5))
def test_sharp_is_inside_thresholds_is_inside_manski_at_eight_levels(seed):
    data = eight_level_data(seed)
    found = {m: IVBounds(method=m).fit_data(data) for m in ("sharp", "balke-pearl", "manski-iv", "manski")}
    for inner, outer in (("sharp", "balke-pearl"), ("balke-pearl", "manski-iv"), ("manski-iv", "manski")):
        assert found[inner].lower >= found[outer].lower - 1e-9
        assert found[inner].upper <= found[outer].upper + 1e-9
    assert found["manski"].width == pytest.approx(7.0)


def test_grouped_levels_are_wider_than_all_levels():
    data = eight_level_data(0)
    fine, coarse = (IVBounds(method="sharp", levels=k).fit_data(data) for k in (64, 4))
    assert coarse.lower <= fine.lower
    assert coarse.upper >= fine.upper
    assert any("joined into" in w for w in coarse.warnings)
    assert not any("joined into" in w for w in fine.warnings)


def test_units_shift_and_scale():
    data = eight_level_data(1)
    moved = IVData.from_arrays(data.z, data.t, 100 + 5 * data.y)
    for method in NO_COVARIATE_METHODS:
        plain, scaled = IVBounds(method=method).fit_data(data), IVBounds(method=method).fit_data(moved)
        assert scaled.lower == pytest.approx(5 * plain.lower, abs=1e-7)
        assert scaled.upper == pytest.approx(5 * plain.upper, abs=1e-7)


def test_a_wider_possible_range_widens_the_bounds():
    data = eight_level_data(1)
    wide = IVData.from_arrays(data.z, data.t, data.y, outcome_range=(-3, 10))
    for method in ("balke-pearl", "manski", "manski-iv", "no-defiers", "sharp"):
        narrow, wider = IVBounds(method=method).fit_data(data), IVBounds(method=method).fit_data(wide)
        assert wider.lower < narrow.lower - 0.1
        assert wider.upper > narrow.upper + 0.1


@pytest.mark.parametrize("method", NO_COVARIATE_METHODS)
def test_weights_are_copies(method):
    data = eight_level_data(3, 200)
    weights = np.random.default_rng(0).integers(1, 5, 200)
    copies = np.repeat(np.arange(200), weights)
    weighted = IVData.from_arrays(data.z, data.t, data.y, w=weights)
    copied = IVData.from_arrays(data.z[copies], data.t[copies], data.y[copies])
    first, second = IVBounds(method=method).fit_data(weighted), IVBounds(method=method).fit_data(copied)
    assert (first.lower, first.upper) == pytest.approx((second.lower, second.upper), abs=1e-9)
    merged = IVBounds(method=method).fit_data(copied.merged())
    assert (first.lower, first.upper) == pytest.approx((merged.lower, merged.upper), abs=1e-9)


def test_within_strata_of_covariates():
    rng = np.random.default_rng(0)
    n = 4000
    x, z = rng.integers(0, 2, n), rng.integers(0, 2, n)
    t = np.where(rng.random(n) < 0.9, np.where(x == 1, z, 1 - z), 0)  # the instrument works in opposite directions
    y = np.where(rng.random(n) < 0.7, t, rng.integers(0, 2, n))
    frame = pl.DataFrame({"x": x, "z": z, "t": t, "y": y})
    roles = {"outcome": "y", "treatment": "t", "instrument": "z", "covariates": ["x"]}
    found = IVBounds(method="balke-pearl", within="covariates").fit(frame, **roles)
    parts = [
        IVBounds(method="balke-pearl").fit(frame.filter(pl.col("x") == v), **(roles | {"covariates": []}))
        for v in (0, 1)
    ]
    share = x.mean()
    assert found.lower == pytest.approx((1 - share) * parts[0].lower + share * parts[1].lower)
    assert found.upper == pytest.approx((1 - share) * parts[0].upper + share * parts[1].upper)
    plain = IVBounds(method="balke-pearl").fit(frame, **roles)
    assert found.width < plain.width - 0.3
    assert any("covariates were not used" in w for w in plain.warnings)


def test_a_stratum_with_one_arm_counts_with_the_whole_range():
    data = IVData.from_arrays([0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1], x=[0, 0, 1, 1])
    found = IVBounds(method="balke-pearl", within="covariates").fit_data(data)
    assert (found.lower, found.upper) == (0.5 * 1.0 + 0.5 * -1.0, 1.0)
    assert any("2 of 4 people" in w for w in found.warnings)


def test_within_refuses_other_words():
    with pytest.raises(InputError, match="within must be"):
        IVBounds(method="balke-pearl", within="age").fit_counts(VITAMIN_A)


# --- instrumental inequalities

VIOLATING = np.array([[[5, 5], [90, 0]], [[5, 5], [0, 90]]], dtype=float)


def test_the_violated_inequality_is_named_with_its_p_value():
    found = check_counts(VIOLATING)
    violated = [i for i in found if i.violated]
    assert [(i.t, i.y) for i in violated] == [(1, 1)]
    assert violated[0].excess == pytest.approx(0.8)
    assert violated[0].p_value < 1e-20
    assert min(i.p_value for i in found if not i.violated) > 0.5


def test_inequality_p_value_is_uniform_on_the_boundary():
    """E[V | 1] = E[V | 0] exactly: one-sided p-values below 0.05 come up 5 % of the time."""
    rng = np.random.default_rng(0)
    low = 0
    for _ in range(2000):
        arm_1 = rng.multinomial(400, [0.2, 0.2, 0.1, 0.5])
        arm_0 = rng.multinomial(600, [0.2, 0.2, 0.5, 0.1])
        counts = np.stack([arm_0, arm_1]).reshape(2, 2, 2)
        low += next(i.p_value for i in check_counts(counts) if (i.t, i.y) == (1, 1)) < 0.05
    assert 0.035 < low / 2000 < 0.065


@pytest.mark.filterwarnings("ignore::ivicl.errors.DesignWarning")
@pytest.mark.parametrize("method", NO_COVARIATE_METHODS)
def test_violating_samples_never_crash_never_cross_and_say_so(method):
    rng = np.random.default_rng(0)
    tables = [VIOLATING, VIOLATING[::-1], [0, 0, 4, 0, 0, 0, 0, 4], [0, 0, 0, 1, 0, 0, 1, 0]]
    tables += [rng.multinomial(8, np.full(8, 1 / 8)) for _ in range(40)]
    for table in tables:
        if np.reshape(table, (2, 4)).sum(axis=1).min() == 0:
            continue
        found = IVBounds(method=method).fit_counts(table)
        assert -1 <= found.lower <= found.upper <= 1
        violated = any(i.violated for i in found.diagnostics.inequalities)
        if violated and method in ("balke-pearl", "sharp"):
            assert any("violates the instrumental inequality" in w for w in found.warnings)


@pytest.mark.filterwarnings("ignore::ivicl.errors.DesignWarning")
def test_for_a_binary_outcome_sharp_is_balke_pearl_whatever_the_sample():
    rng = np.random.default_rng(1)
    violated = 0
    for _ in range(60):
        table = rng.multinomial(10, rng.dirichlet(np.full(4, 0.4)), 2).reshape(2, 2, 2)
        closed, sharp = (IVBounds(method=m).fit_counts(table) for m in ("balke-pearl", "sharp"))
        assert (sharp.lower, sharp.upper) == pytest.approx((closed.lower, closed.upper), abs=1e-12)
        violated += sharp.details["law_moved"] > 1e-9
    assert violated > 5


@pytest.mark.filterwarnings("ignore::ivicl.errors.DesignWarning")
def test_impossible_samples_of_amounts_give_bounds_and_say_so():
    """Arms that share no outcome among the treated: no threshold need show it, the levels together do."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        n = 30
        z, t = np.repeat([0, 1], n), (rng.random(2 * n) < 0.9).astype(int)
        y = np.where(t == 1, 2 * rng.integers(0, 4, 2 * n) + z, rng.integers(0, 8, 2 * n)).astype(float)
        found = IVBounds(method="sharp").fit_data(IVData.from_arrays(z, t, y, outcome_range=(0, 7)))
        assert -7 <= found.lower <= found.upper <= 7
        assert found.details["law_moved"] > 0.3
        assert any("nearest law that satisfies it" in w for w in found.warnings)


# --- no defiers, LATE


def test_no_defiers_width_is_one_minus_the_first_stage():
    found = IVBounds(method="no-defiers").fit_counts(CHOLESTYRAMINE)
    assert found.width == pytest.approx(1 - found.diagnostics.first_stage.difference)


def test_no_defiers_does_not_depend_on_the_coding_of_z():
    table = np.array([30, 20, 10, 40, 50, 30, 10, 10]).reshape(2, 2, 2)
    first, second = (IVBounds(method="no-defiers").fit_counts(c) for c in (table, table[::-1]))
    assert (first.lower, first.upper) == pytest.approx((second.lower, second.upper))
    assert any("lowers the treatment" in w for w in first.warnings)


def test_late_is_the_wald_ratio_and_says_which_estimand_it_is():
    found = IVBounds(method="late", alpha=0.05).fit_counts(CHOLESTYRAMINE)
    assert found.estimand == "LATE"
    assert found.estimates.lower == pytest.approx((90 / 165 - 14 / 172) / (101 / 165))
    assert found.lower < found.estimates.lower < found.upper
    assert "not the ATE" in found.summary()


def test_anderson_rubin_covers_even_with_a_weak_instrument():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(800):
        n = 300
        z, u = rng.integers(0, 2, n), rng.random(n)
        t = (u < 0.45 + 0.1 * z).astype(float)
        y = (rng.random(n) < 0.2 + 0.3 * t + 0.4 * (u < 0.5)).astype(float)
        found = IVBounds(method="late", alpha=0.1).fit_data(IVData.from_arrays(z, t, y))
        covered += found.lower <= 0.3 <= found.upper
    assert covered / 800 > 0.87


def test_a_useless_instrument_gives_the_whole_range():
    assert ArmEffects(0.1, 0.0, 0.01, 0.01, 0.0).ratio_interval(0.05) == (-1.0, 1.0, False)
    found = IVBounds(method="late").fit_counts([10, 10, 10, 10, 10, 10, 10, 10])
    assert (found.lower, found.upper) == (-1.0, 1.0)
    assert "estimate" not in found.details


@pytest.mark.filterwarnings("ignore::ivicl.errors.DesignWarning")
def test_constant_treatment_is_data():
    found = IVBounds(method="balke-pearl").fit_counts([10, 20, 0, 0, 12, 18, 0, 0])
    assert found.lower == pytest.approx(-0.6, abs=0.07)
    assert found.width == pytest.approx(1.0, abs=0.07)


def test_unknown_options_are_refused_by_every_classical_method():
    for method in NO_COVARIATE_METHODS:
        with pytest.raises(InputError, match="no option 'typo'"):
            IVBounds(method=method, typo=1).fit_counts(VITAMIN_A)
