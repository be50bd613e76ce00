"""A few functions that scipy has too, written here so that the core does not depend on scipy's 100 MB."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np


def expit(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), without overflow."""
    value: np.ndarray = 0.5 * (1 + np.tanh(0.5 * x))
    return value


def chi_squared_tail(x: float, degrees: int) -> float:
    """P(chi-squared with this many degrees of freedom > x): a finite sum of Poisson terms, computed by logarithms."""
    half = 0.5 * x
    if half <= 0:
        return 1.0
    odd = degrees % 2
    powers = np.arange(degrees // 2) + 0.5 * odd
    logs = [-half + power * math.log(half) - math.lgamma(power + 1) for power in powers]
    tail = math.fsum(math.exp(log) for log in logs)
    return min(1.0, tail + (math.erfc(math.sqrt(half)) if odd else 0.0))


def f_tail(x: float, first: float, second: float) -> float:
    """P(F with `first` and `second` degrees of freedom > x)."""
    if math.isnan(x):
        return math.nan
    if x <= 0 or math.isinf(x):
        return float(x <= 0)
    share = second / (second + first * x)
    a, b = 0.5 * second, 0.5 * first
    if share <= (a + 1) / (a + b + 2):
        return math.exp(float(_log_beta_cdf(np.array(math.log(share)), a, b)))
    other = math.log(first * x / (second + first * x))
    return -math.expm1(float(_log_beta_cdf(np.array(other), b, a)))


def log_t_tail(x: np.ndarray, degrees: float) -> np.ndarray:
    """Logarithm of P(Student's t with this many degrees of freedom > x), for x of at least zero."""
    square = np.asarray(x, dtype=np.float64) ** 2
    share = degrees / (degrees + square)
    a, b = 0.5 * degrees, 0.5
    far = share <= (a + 1) / (a + b + 2)
    tail = np.empty_like(share)
    tail[far] = math.log(0.5) + _log_beta_cdf(np.log(share[far]), a, b)
    near = np.maximum(square[~far] / (degrees + square[~far]), 1e-300)
    tail[~far] = math.log(0.5) + np.log1p(-np.exp(_log_beta_cdf(np.log(near), b, a)))
    return tail


def t_quantiles(levels: np.ndarray, degrees: float) -> np.ndarray:
    """Quantiles of Student's t at levels strictly between 0 and 1; by Newton's method on the logarithm of the tail."""
    levels = np.asarray(levels, dtype=np.float64)
    tails = np.minimum(levels, 1 - levels)
    log_norm = math.lgamma(0.5 * (degrees + 1)) - math.lgamma(0.5 * degrees) - 0.5 * math.log(degrees * math.pi)
    x = np.array([-NormalDist().inv_cdf(tail) for tail in tails])  # a start: Student's quantile lies further out
    for _ in range(100):
        log_tail = log_t_tail(x, degrees)
        log_density = log_norm - 0.5 * (degrees + 1) * np.log1p(x**2 / degrees)
        moved = np.maximum(x + (log_tail - np.log(tails)) * np.exp(log_tail - log_density), 0.0)
        last = np.abs(moved - x).max(initial=0.0) < 1e-9 * max(1.0, float(x.max(initial=0.0)))
        x = moved
        if last:
            break
    quantiles: np.ndarray = np.where(levels < 0.5, -x, x)
    return quantiles


def symmetric_beta_quantiles(gamma: float, levels: np.ndarray) -> np.ndarray:
    """Quantiles of Beta(gamma, gamma) at levels of at most one half.

    Found by Newton's method on the logarithms of quantile and level: with gamma = 0.1 the quantile at 1e-5 is 1e-48.
    """
    log_levels = np.log(levels)
    log_norm = _log_beta(gamma, gamma)
    # The cdf is x^gamma / (gamma B) near zero, and one half at one half.
    log_x = np.minimum((log_levels + math.log(gamma) + log_norm) / gamma, math.log(0.5))
    for _ in range(100):
        log_cdf = _log_beta_cdf(log_x, gamma, gamma)
        slope = np.exp(gamma * log_x + (gamma - 1) * np.log1p(-np.exp(log_x)) - log_norm - log_cdf)
        moved = np.minimum(log_x - (log_cdf - log_levels) / slope, math.log(0.5))
        last = np.abs(moved - log_x).max(initial=0.0) < 1e-9  # the next step would be about the square of this one
        log_x = moved
        if last:
            break
    quantiles: np.ndarray = np.exp(log_x)
    return quantiles


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _log_beta_cdf(log_x: np.ndarray, a: float, b: float) -> np.ndarray:
    """Logarithm of the Beta(a, b) cdf, for x up to (a + 1) / (a + b + 2), where its continued fraction converges fast.

    The fraction is the usual one, evaluated by Lentz's method.
    """
    x = np.exp(log_x)
    numerator = np.ones_like(x)
    denominator = 1 / (1 - (a + b) * x / (a + 1))
    fraction = denominator
    for m in range(1, 10_000):
        factor = np.ones_like(x)
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            denominator = 1 / (1 + step * denominator)
            numerator = 1 + step / numerator
            factor = denominator * numerator
            fraction = fraction * factor
        if np.abs(factor - 1).max(initial=0.0) < 1e-15:
            break
    value: np.ndarray = a * log_x + b * np.log1p(-x) - math.log(a) - _log_beta(a, b) + np.log(fraction)
    return value
