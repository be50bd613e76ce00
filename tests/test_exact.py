"""The exact posterior: against full enumeration, against itself, against the identified set, and calibrated."""

from __future__ import annotations

import numpy as np
import pytest

from enumeration import EFFECT, draws, mixture
from ivicl import InputError, IVBounds
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.methods.classical.exact_sampler import WATCHED, exact_posterior, exact_posteriors
from ivicl.methods.classical.line_move import line_move
from ivicl.methods.classical.strata_chains import StrataChains

CHOLESTYRAMINE = np.array([158, 14, 0, 0, 52, 12, 23, 78]).reshape(2, 2, 2)
VITAMIN_A = np.array([74, 11514, 0, 0, 34, 2385, 12, 9663]).reshape(2, 2, 2)
MILLION = np.array([100000, 150000, 80000, 170000, 50000, 150000, 140000, 160000]).reshape(2, 2, 2)

SMALL_TABLES = {
    "spread over all cells": [1, 1, 1, 1, 1, 1, 1, 1],
    "one-sided": [3, 1, 0, 0, 1, 0, 1, 3],
    "no instrument effect": [2, 0, 1, 1, 2, 0, 1, 1],
    "violates an inequality": [0, 0, 4, 0, 0, 0, 0, 4],
    "uneven arms": [1, 0, 0, 0, 1, 2, 3, 2],
    "all alike": [0, 5, 0, 0, 0, 5, 0, 0],
}


def test_line_move_draws_the_density_on_the_line():
    """Cells 0.2, 0.3 grow and 0.25, 0.4 shrink; the exact law of the first cell comes from quadrature."""
    from scipy.integrate import quad

    chains = 40_000
    shapes_up, shapes_down = np.tile([[0.3], [0.5]], chains), np.tile([[0.4], [0.2]], chains)

    def density(u: float) -> float:
        return u**-0.7 * (u + 0.1) ** -0.5 * (0.45 - u) ** -0.6 * (0.45 - u + 0.15) ** -0.8

    whole = quad(density, 0, 0.2)[0] + quad(density, 0.2, 0.45)[0]
    rng = np.random.default_rng(0)
    grow, shrink = np.tile([[0.2], [0.3]], chains), np.tile([[0.25], [0.4]], chains)
    for _ in range(12):
        grow, shrink = line_move(grow, shrink, shapes_up, shapes_down, rng)
    np.testing.assert_allclose(grow[0] + shrink[0], 0.45)
    np.testing.assert_allclose(grow[1] - grow[0], 0.1)
    for cut in (1e-6, 1e-3, 0.05, 0.2, 0.4, 0.449):
        exact = (quad(density, 0, min(cut, 0.2))[0] + (quad(density, 0.2, cut)[0] if cut > 0.2 else 0)) / whole
        assert (grow[0] < cut).mean() == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / chains) + 1e-4)


@pytest.mark.parametrize("name", SMALL_TABLES)
def test_agrees_with_full_enumeration(name):
    counts = np.array(SMALL_TABLES[name]).reshape(2, 2, 2)
    strata = draws(counts, 0.1, 200_000, np.random.default_rng(1))
    found = exact_posteriors(counts[None], n_chains=256, n_draws=12_800, rng=np.random.default_rng(2))
    latent, weight = mixture(counts, 0.1)
    exact_mean = weight @ ((latent + 0.1) @ EFFECT) / (counts.sum() + 1.6)
    assert found.posterior().mean == pytest.approx(exact_mean, abs=0.02)
    effects = strata @ EFFECT
    for level in (0.05, 0.25, 0.5, 0.75, 0.95):
        # Compared as probabilities: where the density is low a quantile is noisy, its level is not.
        assert found.posterior().cdf(np.quantile(effects, level)) == pytest.approx(level, abs=0.02)
    lower, upper = sharp_ends(_laws(strata))
    for ends, exact in ((found.identified_set().lower, lower), (found.identified_set().upper, upper)):
        assert ends.mean == pytest.approx(exact.mean(), abs=0.02)
        assert ends.sd == pytest.approx(exact.std(), abs=0.015)


def _laws(strata: np.ndarray) -> np.ndarray:
    from enumeration import compatible

    laws = np.zeros((len(strata), 2, 2, 2))
    for z, t, y in np.ndindex(2, 2, 2):
        laws[:, z, t, y] = strata[:, compatible(z, t, y)].sum(axis=1)
    return laws


def test_same_seed_same_answer_and_batch_of_one():
    settings = {"n_chains": 32, "n_draws": 800}
    one = exact_posterior(CHOLESTYRAMINE, rng=np.random.default_rng(3), **settings)
    again = exact_posterior(CHOLESTYRAMINE, rng=np.random.default_rng(3), **settings)
    other = exact_posterior(CHOLESTYRAMINE, rng=np.random.default_rng(4), **settings)
    assert one == again
    assert one != other


def test_recoding_mirrors_or_leaves_the_posterior():
    tables = np.stack([CHOLESTYRAMINE, CHOLESTYRAMINE[::-1], CHOLESTYRAMINE[:, ::-1], CHOLESTYRAMINE[:, :, ::-1]])
    found = exact_posteriors(tables, n_chains=128, n_draws=10_000)
    quantiles = np.array([found.posterior(i).quantile([0.05, 0.5, 0.95]) for i in range(4)])
    np.testing.assert_allclose(quantiles[1], quantiles[0], atol=0.006)
    np.testing.assert_allclose(-quantiles[2][::-1], quantiles[0], atol=0.006)
    np.testing.assert_allclose(-quantiles[3][::-1], quantiles[0], atol=0.006)


def test_two_sided_large_table_reaches_a_law_that_fits():
    chains = StrataChains(np.repeat(MILLION[None], 64, axis=0), 0.1, np.random.default_rng(0))
    for _ in range(30):
        chains.sweep()
    law = MILLION / MILLION.sum(axis=(1, 2), keepdims=True)
    assert np.abs(chains.laws().mean(axis=0) - law).max() < 5e-4
    np.testing.assert_allclose(chains.cells.sum(axis=0), 1.0)


def test_bad_settings_are_input_errors():
    with pytest.raises(InputError, match="n_chains must be a multiple of 16"):
        exact_posteriors(CHOLESTYRAMINE[None], n_chains=20)
    with pytest.raises(InputError, match="whole numbers"):
        exact_posteriors(CHOLESTYRAMINE[None] - 1)
    with pytest.raises(InputError, match="gamma must be positive"):
        exact_posterior(CHOLESTYRAMINE, gamma=0)
    with pytest.raises(InputError, match="no option 'chains'"):
        IVBounds(method="exact", chains=3).fit_counts(CHOLESTYRAMINE)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [CHOLESTYRAMINE, VITAMIN_A, MILLION], ids=["cholestyramine", "vitamin A", "million"])
def test_two_seeds_agree_within_three_thousandths(counts):
    first, second = (IVBounds(method="exact", random_state=seed).fit_counts(counts).posterior for seed in (0, 1))
    assert np.abs(first.quantile(WATCHED) - second.quantile(WATCHED)).max() < 0.003


@pytest.mark.slow
def test_twelve_people_against_enumeration_closely():
    counts = np.array([2, 1, 2, 1, 1, 2, 1, 2]).reshape(2, 2, 2)
    effects = draws(counts, 0.1, 1_000_000, np.random.default_rng(1)) @ EFFECT
    found = exact_posterior(counts, n_draws=400_000)
    exact = np.quantile(effects, WATCHED)
    np.testing.assert_allclose(found.quantile(WATCHED), exact, atol=0.006)
    assert (np.abs(found.cdf(exact) - WATCHED) < [5e-4, 2e-3, 4e-3, 2e-3, 5e-4]).all()


@pytest.mark.slow
def test_million_people_stay_inside_the_identified_set(capsys):
    """20 random laws, sparse and dense apart: the 99 % interval is contained in Balke-Pearl to 0.002."""
    rng = np.random.default_rng(7)
    concentration = np.repeat([0.1, 1.0], 10)
    laws = _laws(np.stack([rng.dirichlet(np.full(16, c)) for c in concentration]))
    arms = laws.reshape(20, 2, 4) / laws.reshape(20, 2, 4).sum(axis=2, keepdims=True)
    counts = rng.multinomial(500_000, arms).reshape(20, 2, 2, 2)
    found = exact_posteriors(counts, n_chains=64, n_draws=20_000)
    lower, upper = sharp_ends(counts / counts.sum(axis=(2, 3), keepdims=True))
    gaps = []
    for i in range(20):
        low, high = found.posterior(i).interval(0.01)
        assert low > lower[i] - 0.002
        assert high < upper[i] + 0.002
        gaps.append((low - lower[i], upper[i] - high))
    sparse, dense = np.mean(gaps[:10]), np.mean(gaps[10:])
    with capsys.disabled():
        print(f"\nmean gap to the identified set at an end: sparse laws {sparse:.4f}, dense laws {dense:.4f}")
    assert dense > sparse


@pytest.mark.slow
def test_calibrated_under_its_own_prior():
    """Simulation-based calibration: the true effect's posterior level is uniform, whatever the number of people."""
    from scipy.stats import kstest

    rng = np.random.default_rng(5)
    n_tables = 250
    strata = rng.dirichlet(np.full(16, 0.1), n_tables)
    laws = _laws(strata).reshape(n_tables, 2, 4)
    people = np.exp(rng.uniform(np.log(10), np.log(1e7), n_tables)).astype(int)
    arms = [rng.multinomial(people, laws[:, z] / laws[:, z].sum(axis=1, keepdims=True)) for z in (0, 1)]
    counts = np.stack(arms, axis=1).reshape(n_tables, 2, 2, 2)
    found = exact_posteriors(counts, n_chains=64, n_draws=9_600)
    levels = [float(found.posterior(i).cdf(effect)) for i, effect in enumerate(strata @ EFFECT)]
    assert kstest(levels, "uniform").pvalue > 0.001
