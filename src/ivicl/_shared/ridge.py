"""Two small learners that need only numpy: ridge and penalised logistic regression, with leave-one-out predictions.

Leave-one-out has a closed form for ridge, so no folds have to be drawn: the answer depends neither on chance nor on the
order of the rows. A row of weight k stands for k people, of whom one at a time is left out.
"""

from __future__ import annotations

import numpy as np

from ivicl._shared.products import cross, times
from ivicl._shared.special import expit

PENALTIES = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 100.0)
"""Ridge penalties for standardised columns, per person; the last gives almost the mean alone."""
LOGISTIC_PENALTIES = (1.0, 10.0, 100.0, 1e4)
"""Penalties for standardised columns, in total; the last gives almost a constant."""
ROWS_WORTH_CHOOSING = 20_000
"""With more rows than this the weakest logistic penalty is used: the choice no longer matters, and it takes time."""
MOST_LEVERAGE = 0.99


def ridge_without_own(x: np.ndarray, targets: np.ndarray, w: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(N, K) predictions of K targets from columns x (N, D), learnt from the rows `known`, each row without itself.

    Each target gets the penalty with the best leave-one-out predictions.
    """
    w_known = w[known]
    n = w_known.sum()
    centre, means = cross(w_known, x[known]) / n, cross(w_known, targets[known]) / n
    away = x - centre
    inside, left = away[known], targets[known] - means
    values, vectors = np.linalg.eigh(cross(inside * w_known[:, None], inside))
    values = np.maximum(values, 0.0)
    turned = times(away, vectors)
    turned_known = turned[known]
    products = cross(turned_known * w_known[:, None], left)
    best = np.full(targets.shape[1], np.inf)
    predicted = np.empty_like(targets, dtype=np.float64)
    for penalty in PENALTIES:
        shrunk = 1.0 / (values + penalty * n)
        leverage = np.minimum(1.0 / n + times(turned_known**2, shrunk), MOST_LEVERAGE)
        residuals = (left - times(turned_known, shrunk[:, None] * products)) / (1.0 - leverage)[:, None]
        losses = cross(w_known, residuals**2)
        for k in np.flatnonzero(losses < best):
            best[k] = losses[k]
            predicted[:, k] = means[k] + times(turned, shrunk * products[:, k])
            predicted[known, k] = targets[known, k] - residuals[:, k]
    return predicted


def logistic_without_own(x: np.ndarray, target: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(N,) probabilities of a 0/1 target from columns x (N, D), each without its own row (by one Newton step)."""
    columns = np.column_stack([np.ones(len(x)), x])
    choices = LOGISTIC_PENALTIES if len(x) <= ROWS_WORTH_CHOOSING else LOGISTIC_PENALTIES[:1]
    best, chosen = np.inf, np.empty(len(x))
    for penalty in choices:
        logit = _logits_without_own(columns, target, w, penalty)
        loss = float(cross(w, np.logaddexp(0.0, logit) - target * logit))
        if loss < best:
            best, chosen = loss, expit(logit)
    return chosen


def _logits_without_own(columns: np.ndarray, target: np.ndarray, w: np.ndarray, penalty: float) -> np.ndarray:
    share = float(np.clip(cross(w, target) / w.sum(), 1e-6, 1 - 1e-6))
    coefficients = np.zeros(columns.shape[1])
    coefficients[0] = np.log(share / (1 - share))
    ridge = np.diag(np.r_[1e-9, np.full(columns.shape[1] - 1, penalty)])
    for _ in range(25):
        probability = expit(times(columns, coefficients))
        information = np.maximum(probability * (1 - probability), 1e-9)
        hessian = cross(columns * (w * information)[:, None], columns) + ridge
        step = np.linalg.solve(hessian, cross(columns, w * (target - probability)) - ridge @ coefficients)
        coefficients = coefficients + step
        if np.abs(step).max() < 1e-8:
            break
    logit = times(columns, coefficients)
    probability = expit(logit)
    information = np.maximum(probability * (1 - probability), 1e-9)
    spread = np.einsum("ij,ij->i", times(columns, np.linalg.inv(hessian)), columns)
    leverage = np.minimum(information * spread, MOST_LEVERAGE)
    without: np.ndarray = logit - spread * (target - probability) / (1.0 - leverage)
    return without
