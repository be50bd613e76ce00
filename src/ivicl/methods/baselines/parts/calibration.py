"""Calibration of predicted probabilities by a temperature and one intercept per class, cross-fitted over the folds."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

PRIOR_SD = 0.5
"""Prior sd of the log temperature and of the intercepts around no change: it tames the fit if there are few people."""


def fit_scaling(log_p: np.ndarray, label: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(log temperature, intercepts) that minimise the weighted log loss of softmax(temperature log_p + intercepts)."""
    rows = np.arange(len(label))

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        temperature, intercepts = np.exp(parameters[0]), parameters[1:]
        log_q = log_softmax(temperature * log_p + intercepts, axis=1)
        value = -(weight * log_q[rows, label]).sum() + 0.5 * (parameters**2).sum() / PRIOR_SD**2
        residual = np.exp(log_q)
        residual[rows, label] -= 1.0
        residual *= weight[:, None]
        gradient = np.concatenate([[temperature * (residual * log_p).sum()], residual.sum(0)])
        return value, gradient + parameters / PRIOR_SD**2

    bounds = [(-1.5, 1.5)] + [(-3.0, 3.0)] * log_p.shape[1]
    found = minimize(loss, np.zeros(1 + log_p.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds)
    parameters: np.ndarray = found.x
    return parameters


def cross_calibrate(
    p: np.ndarray, label: np.ndarray, weight: np.ndarray, observed: np.ndarray, fold: np.ndarray
) -> np.ndarray:
    """Calibrated copy of out-of-fold predictions p (m, C). Fold k is scaled by a fit to the other folds' predictions.

    `observed` marks the rows with a label (for p given Z=z, the rows of arm z). Classes of probability zero keep it.
    """
    calibrated = p.copy()
    possible = p.max(0) > 0
    if possible.sum() < 2:
        return calibrated
    class_index = np.cumsum(possible) - 1
    log_p = np.log(np.maximum(p[:, possible], 1e-12))
    for k in np.unique(fold):
        use = observed & (fold != k) & possible[label]
        if use.any():
            parameters = fit_scaling(log_p[use], class_index[label[use]], weight[use])
            scaled = np.exp(log_softmax(np.exp(parameters[0]) * log_p[fold == k] + parameters[1:], axis=1))
            full = np.zeros((len(scaled), p.shape[1]))
            full[:, possible] = scaled
            calibrated[fold == k] = np.where(p[fold == k] > 0, full, 0.0)
    calibrated /= calibrated.sum(1, keepdims=True)
    return calibrated


def log_loss(p: np.ndarray, label: np.ndarray, weight: np.ndarray) -> float:
    """Weighted mean of -log p of the label, with p floored at 1e-6 so that one impossible label cannot decide alone."""
    return float(-(weight * np.log(np.maximum(p[np.arange(len(label)), label], 1e-6))).sum() / weight.sum())
