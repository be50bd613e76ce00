"""The propensities that rct_to_iv builds when none are given: p_z = s(s_z(O) + b_z), p_t = s(s_t(O, U) + beta Z + b_t).

The paper says that s_z is nonlinear in the observed covariates, that s_t is confounded through the hidden ones, and
that the intercepts make the means one half. The functions themselves are our choice. They depend on the trial's
covariates and on `function_seed` only, so that all seeds of a benchmark share one mechanism.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ivicl._shared.scaling import standardise
from ivicl._shared.special import expit

HIDDEN_UNITS = 8


def nonlinear_score(o: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random sum of tanh ridges of the covariates, with mean 0 and variance 1 over the rows."""
    d = o.shape[1]
    if d == 0:
        return np.zeros(len(o))
    weights = rng.normal(size=(d, HIDDEN_UNITS)) / np.sqrt(d)
    ridges = np.tanh(1.5 * standardise(o) @ weights + rng.normal(size=HIDDEN_UNITS))
    return standardise((ridges @ rng.normal(size=HIDDEN_UNITS))[:, None])[:, 0]


def hidden_score(u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A score that rises with every hidden covariate, with mean 0 and variance 1: it makes T and Y share a cause."""
    d = u.shape[1]
    if d == 0:
        return np.zeros(len(u))
    return standardise((np.tanh(standardise(u)) @ rng.uniform(0.5, 1.5, d))[:, None])[:, 0]


def clipped(p: np.ndarray, clip: float) -> np.ndarray:
    inside: np.ndarray = np.clip(p, clip, 1 - clip)
    return inside


def calibrated_intercept(mean_at: Callable[[float], float]) -> float:
    """The b at which mean_at(b), a rising function, is one half."""
    low, high = -60.0, 60.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if mean_at(middle) < 0.5 else (low, middle)
    return high


def default_instrument(o: np.ndarray, clip: float, function_seed: int) -> np.ndarray:
    """p_z(O) for every row; its mean is one half."""
    score = nonlinear_score(o, np.random.default_rng([function_seed, 0]))
    b = calibrated_intercept(lambda b: float(clipped(expit(score + b), clip).mean()))
    return clipped(expit(score + b), clip)


def default_treatment(
    o: np.ndarray,
    u: np.ndarray,
    p_z: np.ndarray,
    beta: float,
    confounding: float,
    clip: float,
    function_seed: int,
) -> np.ndarray:
    """(N, 2): p_t(O, U, z) for z = 0 and z = 1; its mean over the rows and over Z is one half."""
    rng = np.random.default_rng([function_seed, 1])
    score = 0.5 * nonlinear_score(o, rng) + confounding * hidden_score(u, rng)
    logits = score[:, None] + beta * np.array([0.0, 1.0])
    share = np.column_stack([1 - p_z, p_z])
    b = calibrated_intercept(lambda b: float((share * clipped(expit(logits + b), clip)).sum(axis=1).mean()))
    return clipped(expit(logits + b), clip)
