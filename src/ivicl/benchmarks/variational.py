"""Exclusive-KL (variational) fits of the 16-strata model without covariates: what the network is compared with.

The model: strata probabilities theta ~ Dirichlet(gamma), counts given Z multinomial with cell probabilities
p[z][t][y] = sum of theta over the strata with T(z) = t, Y(t) = y. Two standard families:

- mean-field: q(theta) q(strata of the people), closed-form coordinate ascent (variational Bayes EM);
- logistic-normal: theta = softmax(h, 0), h ~ N(m, L L') with a full covariance, by maximising the ELBO on fixed
  quasi-random draws. Much richer, but still with a single mode.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma, gammaln, log_softmax
from scipy.stats import qmc

from ivicl.identification.strata import GAMMA, LAW, N_STRATA, effect_of
from ivicl.posterior import BinnedPosterior

TINY = 1e-300
MEMBERS = LAW.T
"""(8, 16): which strata appear in which cell."""


@dataclass(frozen=True)
class VariationalFit:
    """Draws of the effect from the fitted distribution."""

    effects: np.ndarray
    elbo: float
    family: str

    @property
    def posterior(self) -> BinnedPosterior:
        return BinnedPosterior.from_samples(self.effects)


def mean_field(
    counts: np.ndarray, rng: np.random.Generator, *, starts: int = 16, draws: int = 20_000
) -> VariationalFit:
    """Best of several starts of variational Bayes EM, judged by the ELBO."""
    concentration, elbo = _em(counts.reshape(8).astype(float), starts, rng)
    best = int(elbo.argmax())
    theta = rng.dirichlet(np.maximum(concentration[best], 1e-8), draws)
    return VariationalFit(effect_of(theta), float(elbo[best]), "mean-field")


def _em(counts: np.ndarray, starts: int, rng: np.random.Generator, steps: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """(starts, 16) Dirichlet parameters of q(theta) and their ELBOs, for all starts at once."""
    weight = MEMBERS * rng.exponential(size=(starts, 1, N_STRATA))
    elbo = np.full(starts, -np.inf)
    for step in range(steps):
        total = np.maximum(weight.sum(axis=-1, keepdims=True), TINY)
        concentration = GAMMA + np.einsum("c,kcs->ks", counts, weight / total)
        expected_log = digamma(concentration) - digamma(concentration.sum(axis=1, keepdims=True))
        weight = MEMBERS * np.exp(np.maximum(expected_log, -600.0))[:, None, :]
        if step % 25 == 0 or step == steps - 1:
            fit = np.log(np.maximum(weight.sum(axis=-1), TINY)) @ counts
            previous, elbo = elbo, fit - _dirichlet_kl(concentration, expected_log)
            if (elbo - previous < 1e-10 * np.abs(elbo)).all():
                break
    return concentration, elbo


def _dirichlet_kl(concentration: np.ndarray, expected_log: np.ndarray) -> np.ndarray:
    """KL of Dirichlet(concentration) from the prior, one value per row."""

    def log_norm(a: np.ndarray) -> np.ndarray:
        norm: np.ndarray = gammaln(a.sum(axis=-1)) - gammaln(a).sum(axis=-1)
        return norm

    prior = np.full(N_STRATA, GAMMA)
    moved = ((concentration - prior) * expected_log).sum(axis=-1)
    divergence: np.ndarray = log_norm(concentration) - log_norm(prior) + moved
    return divergence


def logistic_normal(
    counts: np.ndarray, rng: np.random.Generator, *, starts: int = 2, grid: int = 2048, draws: int = 20_000
) -> VariationalFit:
    """Best of several starts of a full-covariance Gaussian on the logits, judged by the ELBO."""
    d = N_STRATA - 1
    noise = qmc.MultivariateNormalQMC(np.zeros(d), rng=rng).random(grid)
    counts = counts.reshape(8).astype(float)
    lower = np.tril_indices(d, -1)
    best_value, best = np.inf, None
    for _ in range(starts):
        start = np.concatenate([rng.normal(0, 2, d), np.zeros(d), np.zeros(len(lower[0]))])
        found = minimize(_negative_elbo, start, (counts, noise, lower), "L-BFGS-B", True, options={"maxiter": 500})
        if found.fun < best_value:
            best_value, best = float(found.fun), found.x
    if best is None:
        raise RuntimeError("no start of the variational fit converged")
    mean, factor = _unpack(best, d, lower)
    logits = mean + rng.normal(size=(draws, d)) @ factor.T
    theta = np.exp(log_softmax(np.column_stack([logits, np.zeros(draws)]), axis=1))
    return VariationalFit(effect_of(theta), -best_value, "logistic-normal")


def _unpack(parameters: np.ndarray, d: int, lower: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    factor = np.diag(np.exp(parameters[d : 2 * d]))
    factor[lower] = parameters[2 * d :]
    return parameters[:d], factor


def _negative_elbo(
    parameters: np.ndarray, counts: np.ndarray, noise: np.ndarray, lower: tuple[np.ndarray, ...]
) -> tuple[float, np.ndarray]:
    """Minus the ELBO and its gradient. In the logits Dirichlet(gamma) has the log density gamma * sum log theta."""
    d = N_STRATA - 1
    mean, factor = _unpack(parameters, d, lower)
    logits = mean + noise @ factor.T
    log_theta = log_softmax(np.column_stack([logits, np.zeros(len(noise))]), axis=1)
    theta = np.exp(log_theta)
    cell = np.maximum(theta @ MEMBERS.T, TINY)
    log_joint = np.log(cell) @ counts + GAMMA * log_theta.sum(axis=1)

    # The share of a cell that a stratum holds, times the cell's count, is the number of its people in the stratum.
    people = theta * ((counts / cell) @ MEMBERS)
    slope = (people + GAMMA - theta * (counts.sum() + GAMMA * N_STRATA))[:, :d]
    entropy = parameters[d : 2 * d].sum()
    by_factor = slope.T @ noise / len(noise)
    by_log_diagonal = np.diag(by_factor) * np.diag(factor) + 1.0
    gradient = np.concatenate([slope.mean(axis=0), by_log_diagonal, by_factor[lower]])
    return -float(log_joint.mean() + entropy), -gradient
