"""`bayes-bp`, `bayes`, and the sparse Gaussian process under them."""

from __future__ import annotations

import sys

import gpytorch
import numpy as np
import pytest
import torch

from ivicl import IVBounds, IVData
from ivicl.errors import InputError, MissingDependencyError
from ivicl.methods.baselines.parts.gp import (
    JITTER,
    GPOptions,
    LatentGP,
    posterior_latents,
    spread_points,
    standardised_columns,
)
from ivicl.methods.baselines.parts.simulate import SWITCH

CHOLESTYRAMINE = np.array([158, 14, 0, 0, 52, 12, 23, 78])
QUICK = {"max_steps": 400, "draws": 1000, "window": 50}


def random_model(shared, family, m=7, dims=2, latents=3):
    torch.manual_seed(0)
    model = LatentGP(torch.randn(m, dims), latents, shared, GPOptions(family=family)).double()
    with torch.no_grad():
        model.centre.normal_()
        if family == "full":
            model.spread.copy_(torch.randn(latents, m, m).tril() * 0.3 + torch.eye(m))
        else:
            model.spread.copy_(0.2 + torch.rand(latents, m))
    return model


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("family", ["full", "mean-field"])
def test_same_numbers_as_gpytorchs_variational_strategy(shared, family):
    ours = random_model(shared, family)

    class Theirs(gpytorch.models.ApproximateGP):
        def __init__(self):
            variational = gpytorch.variational
            shape = {"batch_shape": torch.Size([3]), "mean_init_std": 0.0}
            q = (
                variational.CholeskyVariationalDistribution(7, **shape)
                if family == "full"
                else variational.MeanFieldVariationalDistribution(7, **shape)
            )
            super().__init__(
                variational.VariationalStrategy(
                    self, ours.inducing, q, learn_inducing_locations=False, jitter_val=JITTER
                )
            )
            self.smooth, self.level = ours.smooth, ours.level

        def forward(self, x):
            mean = torch.zeros(x.shape[:-1], dtype=x.dtype)
            return gpytorch.distributions.MultivariateNormal(mean, self.smooth(x) + self.level(x))

    theirs = Theirs().double()
    q = theirs.variational_strategy._variational_distribution
    with torch.no_grad():
        q.variational_mean.copy_(ours.centre)
        if family == "full":
            q.chol_variational_covar.copy_(ours.spread.tril())
        else:
            q._variational_stddev.copy_(ours.spread)
    theirs.variational_strategy.variational_params_initialized.fill_(1)
    theirs.eval()
    x = torch.randn(5, 2, dtype=torch.float64)
    with torch.no_grad():
        expected = theirs(x)
        mean, variance = ours(x)
    torch.testing.assert_close(mean, expected.mean, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(variance, expected.variance, atol=2e-3, rtol=1e-3)  # they add their jitter here too
    torch.testing.assert_close(ours.kl(), theirs.variational_strategy.kl_divergence().sum(), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_posterior_draws_have_the_moments_of_q_and_are_joint_over_rows(shared):
    model = random_model(shared, "full")
    x = torch.randn(6, 2, dtype=torch.float64)
    x[5] = x[0]  # the same point twice: the draws must agree there
    (_, f), *rest = posterior_latents(model, x, 20_000, torch.Generator().manual_seed(1))
    assert not rest and f.shape == (20_000, 3, 6)
    with torch.no_grad():
        mean, variance = model(x)
    torch.testing.assert_close(f.mean(0), mean, atol=0.08, rtol=0.0)
    torch.testing.assert_close(f.var(0), variance, atol=0.05, rtol=0.06)
    assert (f[..., 0] - f[..., 5]).std() < 0.05


def test_standardise_and_inducing_points():
    x = np.column_stack([np.arange(10.0) * 1e6, np.full(10, 3.0)])
    made = standardised_columns(x, np.ones(10))
    assert made.shape == (10, 1)
    assert made.std() == pytest.approx(1.0)
    np.testing.assert_array_equal(standardised_columns(np.ones((4, 2)), np.ones(4)), np.zeros((4, 1)))
    points = spread_points(made, 4, np.random.default_rng(0))
    assert len(np.unique(points)) == 4
    assert len(spread_points(np.zeros((9, 1)), 4, np.random.default_rng(0))) == 1


def test_bayes_bp_settles_on_the_classical_bound_as_people_grow():
    small = IVBounds(method="bayes-bp", alpha=0.1, **QUICK).fit_counts(CHOLESTYRAMINE)
    large = IVBounds(method="bayes-bp", alpha=0.1, **QUICK).fit_counts(CHOLESTYRAMINE * 100)
    np.testing.assert_allclose([large.lower, large.upper], [0.3913, 0.7792], atol=0.03)
    assert small.width > large.width + 0.05
    ends = large.identified_set
    assert ends.lower.mean == pytest.approx(large.estimates.lower, abs=0.003)
    assert ends.lower.quantile(0.05) == pytest.approx(large.lower, abs=0.005)


def test_bayes_is_too_narrow_beside_the_exact_posterior():
    from ivicl.methods.classical.exact_sampler import exact_posterior

    found = IVBounds(method="bayes", **QUICK).fit_counts(CHOLESTYRAMINE)
    low, high = exact_posterior(CHOLESTYRAMINE, n_draws=20_000, tolerance=0.01).interval(0.01)
    assert found.width < 0.85 * (high - low)
    assert -1 <= found.lower < found.upper <= 1
    assert any("narrower" in warning for warning in found.warnings)


def test_covariates_seed_and_global_state():
    data = SWITCH.draw(300, np.random.default_rng(0))
    settings = {"max_steps": 30, "draws": 100, "inducing": 8, "window": 10}
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    for method in ("bayes-bp", "bayes"):
        one = IVBounds(method=method, **settings).fit_data(data)
        two = IVBounds(method=method, **settings).fit_data(data)
        other = IVBounds(method=method, random_state=1, **settings).fit_data(data)
        assert (one.lower, one.upper) == (two.lower, two.upper)
        assert one.lower != other.lower
        assert one.details["inducing"] == 8
    assert torch.equal(before, torch.random.get_rng_state()) and torch.get_num_threads() == threads


def test_early_stopping_and_its_absence_are_reported():
    stopped = IVBounds(method="bayes-bp", max_steps=3000, window=25, patience=2, draws=100).fit_counts(CHOLESTYRAMINE)
    assert stopped.details["stopped_early"] and stopped.details["steps"] < 3000
    cut = IVBounds(method="bayes-bp", max_steps=20, draws=100).fit_counts(CHOLESTYRAMINE)
    assert not cut.details["stopped_early"] and any("max_steps" in warning for warning in cut.warnings)


def test_copies_and_weights_agree():
    data = SWITCH.draw(60, np.random.default_rng(1))
    settings = {"max_steps": 20, "draws": 100, "inducing": 5}
    weighted = IVData.from_arrays(data.z, data.t, data.y, data.x, np.full(60, 2))
    copies = IVData.from_arrays(*(np.repeat(v, 2) for v in (data.z, data.t, data.y)), np.repeat(data.x, 2, axis=0))
    a, b = (IVBounds(method="bayes", **settings).fit_data(d) for d in (weighted, copies))
    assert a.lower == pytest.approx(b.lower, abs=1e-6)


@pytest.mark.parametrize("method", ["bayes-bp", "bayes"])
def test_bounded_outcome(method):
    rng = np.random.default_rng(2)
    z, t = rng.integers(0, 2, (2, 400))
    y = rng.choice([0.0, 5.0, 20.0], 400)
    result = IVBounds(method=method, **{**QUICK, "max_steps": 100}).fit_data(IVData.from_arrays(z, t, y))
    assert result.details["thresholds"] == 2
    assert -20 <= result.lower < 0 < result.upper <= 20
    assert result.width > 3


def test_options_and_missing_packages(monkeypatch):
    for options, word in (({"family": "flow"}, "family"), ({"inducing": 0}, "inducing"), ({"draws": 5}, "draws")):
        with pytest.raises(InputError, match=word):
            IVBounds(method="bayes", **options).fit_counts(CHOLESTYRAMINE)
    with pytest.raises(InputError, match="randomised"):
        data = IVData.from_arrays([0, 1, 0, 1], [0, 1, 1, 0], [0.0, 1.0, 2.0, 3.0])
        IVBounds(method="bayes", combine="randomised").fit_data(data)
    monkeypatch.setitem(sys.modules, "gpytorch", None)
    with pytest.raises(MissingDependencyError, match=r"ivicl\[baselines\]"):
        IVBounds(method="bayes").fit_counts(CHOLESTYRAMINE)
