"""The exclusive-KL fits and their comparison with the exact posterior."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.optimize import check_grad

from enumeration import compatible
from ivicl.benchmarks import variational
from ivicl.benchmarks.studies import mass_covering
from ivicl.posterior import EFFECT_EDGES, BinnedPosterior

PERFECT_COMPLIANCE = np.array([700, 300, 0, 0, 0, 0, 400, 600.0])
WEAK = np.array([300, 100, 40, 60, 250, 90, 70, 90.0])


def test_cells_hold_the_strata_that_the_law_says() -> None:
    for cell, (z, t, y) in enumerate(np.ndindex(2, 2, 2)):
        np.testing.assert_array_equal(np.flatnonzero(variational.MEMBERS[cell]), compatible(z, t, y))


def test_gradient_of_the_elbo() -> None:
    rng = np.random.default_rng(0)
    lower = np.tril_indices(15, -1)
    noise, at = rng.normal(size=(8, 15)), 0.5 * rng.normal(size=135)

    def value(p: np.ndarray) -> float:
        return variational._negative_elbo(p, WEAK, noise, lower)[0]

    def slope(p: np.ndarray) -> np.ndarray:
        return variational._negative_elbo(p, WEAK, noise, lower)[1]

    assert check_grad(value, slope, at) < 1e-4 * np.linalg.norm(slope(at))


def test_where_the_effect_is_identified_both_fits_are_right() -> None:
    rng = np.random.default_rng(0)
    for fit in (
        variational.mean_field(PERFECT_COMPLIANCE, rng),
        variational.logistic_normal(PERFECT_COMPLIANCE, rng, starts=1, grid=512),
    ):
        assert fit.effects.mean() == pytest.approx(0.3, abs=0.03)
        assert 0.005 < fit.effects.std() < 0.06


def test_mean_field_elbo_rises_and_the_richer_family_has_the_higher_one() -> None:
    rng = np.random.default_rng(0)
    few = variational._em(WEAK, 4, np.random.default_rng(1), steps=26)[1]
    many = variational._em(WEAK, 4, np.random.default_rng(1), steps=2000)[1]
    assert (many >= few - 1e-9).all()
    rich = variational.logistic_normal(WEAK, rng, starts=1, grid=1024)
    assert rich.elbo > many.max()


def test_mean_field_settles_on_a_part_of_the_identified_set() -> None:
    effects = variational.mean_field(WEAK, np.random.default_rng(0)).effects
    low, high = np.quantile(effects, [0.005, 0.995])
    assert high - low < 0.3 * 0.88  # the identified set is [-0.22, 0.66]


def test_scores() -> None:
    flat = BinnedPosterior(EFFECT_EDGES, np.where((EFFECT_EDGES[1:] > 0) & (EFFECT_EDGES[1:] <= 0.5), 1.0, 0.0))
    part = BinnedPosterior(EFFECT_EDGES, np.where((EFFECT_EDGES[1:] > 0) & (EFFECT_EDGES[1:] <= 0.125), 1.0, 0.0))
    case = mass_covering.Comparison("a", WEAK, flat, {"mean-field": part}, (0.0, 0.5), effect=0.3)
    table = mass_covering.scores([case])
    exact, narrow = table.iter_rows(named=True)
    assert exact["share_of_set"] == pytest.approx(0.99, abs=0.005) and exact["covers_effect"] == 1
    assert narrow["share_of_set"] == pytest.approx(0.2475, abs=0.005) and narrow["covers_effect"] == 0
    assert exact["kl_from_exact"] == pytest.approx(0, abs=1e-3)
    # Three quarters of the mass lie where the other has one part in 10,000 over 128 bins.
    expected = 0.25 * np.log(0.25 / (1 - 1e-4)) + 0.75 * np.log((1 / 32) / (1e-4 / 128))
    assert narrow["kl_from_exact"] == pytest.approx(expected, rel=0.01)
    assert mass_covering.summary(table)["method"].to_list() == ["exact", "mean-field"]
    assert mass_covering.divergence(flat, flat) < 1e-3


@pytest.mark.slow
def test_the_exact_posterior_covers_the_set_and_the_variational_fits_do_not() -> None:
    table = mass_covering.scores(mass_covering.known_comparisons())
    share = dict(table.group_by("method").agg(pl.col("share_of_set").mean()).iter_rows())
    assert share["exact"] > 0.97
    assert share["mean-field"] < 0.6 and share["logistic-normal"] < 0.6
