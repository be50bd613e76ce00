"""What the covariates say about the instrument: which people could have been in either arm?"""

from __future__ import annotations

import numpy as np

from ivicl._shared.products import cross, times
from ivicl._shared.scaling import standardise
from ivicl._shared.special import expit
from ivicl.data import IVData
from ivicl.data.encoding import weighted_quantile
from ivicl.results.diagnostics.records import Positivity

MOST_ROWS = 50_000
"""The most rows that P(Z=1 | X) is learnt from; more would cost seconds and change nothing that is reported."""


def positivity(data: IVData) -> Positivity | None:
    """The range of P(Z=1 | X), by logistic regression with a ridge; None without covariates that vary."""
    x, z, w = standardised_rows(data)
    if not x.shape[1]:
        return None
    chance = logistic_ridge(x, z, w, penalty=float(x.shape[1]))
    low, high = weighted_quantile(chance, w, np.array([0.01, 0.99]))
    return Positivity(
        range=(float(chance.min()), float(chance.max())),
        central_98_percent=(float(low), float(high)),
        share_z1=float(data.mass @ data.z / data.mass.sum()),
    )


def varying(x: np.ndarray) -> np.ndarray:
    """(D,) which covariates take at least two values that rounding cannot explain."""
    if not len(x):
        return np.zeros(x.shape[1], dtype=bool)
    low, high = x.min(0), x.max(0)
    varies: np.ndarray = 0.5 * high - 0.5 * low > 1e-13 * np.maximum(np.abs(low), np.abs(high))
    return varies


def standardised_rows(data: IVData, most: float = MOST_ROWS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariates that vary, standardised, with z and masses; of very many rows, a random choice with a fixed seed."""
    varies, z, w = varying(data.x), data.z, data.mass
    if len(w) > most:
        rows = np.random.default_rng(0).choice(len(w), int(most), replace=False)
        x = data.x[rows][:, varies]
        if len(np.unique(z[rows])) == 2 and varying(x).all():
            return standardise(x, w[rows]), z[rows], w[rows]
    return standardise(data.x[:, varies], w), z, w


def logistic_ridge(x: np.ndarray, z: np.ndarray, w: np.ndarray, penalty: float, steps: int = 25) -> np.ndarray:
    """(N,) fitted P(Z=1 | x) by damped Newton steps; the intercept is not penalised."""
    features = np.column_stack([np.ones(len(x)), x])
    ridge = np.full(features.shape[1], penalty)
    ridge[0] = 1e-9 * w.sum()
    share = np.clip(w @ z / w.sum(), 1e-12, 1 - 1e-12)
    beta = np.zeros(features.shape[1])
    beta[0] = np.log(share / (1 - share))
    current = _objective(features, z, w, ridge, beta)
    for _ in range(steps):
        fitted = expit(times(features, beta))
        gradient = cross(features, w * (z - fitted)) - ridge * beta
        curvature = cross(features * (w * fitted * (1 - fitted))[:, None], features) + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while size > 1e-4 and (value := _objective(features, z, w, ridge, beta + size * step)) < current:
            size /= 2
        if size <= 1e-4:
            break
        beta = beta + size * step
        if value - current < 1e-10 * abs(current):
            break
        current = value
    return expit(times(features, beta))


def _objective(features: np.ndarray, z: np.ndarray, w: np.ndarray, ridge: np.ndarray, beta: np.ndarray) -> float:
    """Penalised log likelihood."""
    score = times(features, beta)
    return float(cross(w, z * score - np.logaddexp(0, score)) - ridge @ beta**2 / 2)
