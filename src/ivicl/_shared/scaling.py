"""Covariates on one scale, whatever their units."""

from __future__ import annotations

import numpy as np

from ivicl._shared.products import cross


def share_below(column: np.ndarray, w: np.ndarray, own: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Which of the V values each row (N,) has, and the share (V,) of people with a smaller one, `w` people per row.

    Those with the same value count by `own`: with one half, shares are ranks.

    Examples:
        >>> share_below(np.array([7.0, 5.0, 7.0]), np.array([1.0, 2.0, 1.0]))
        (array([1, 0, 1]), array([0. , 0.5]))
    """
    place = np.unique(column, return_inverse=True)[1].ravel()
    people = np.bincount(place, w)
    return place, (np.cumsum(people) - (1 - own) * people) / people.sum()


def standardise(x: np.ndarray, w: np.ndarray | None = None) -> np.ndarray:
    """Columns of x (N, D) with weighted mean 0 and variance 1; a constant column becomes zero.

    Safe for values such as 1e6 + 0.3 and 1e-9. The network does the same inside its graph (`learn.network.prepare`).
    """
    if not x.shape[1]:
        return x
    w = np.ones(len(x)) if w is None else w
    real = w > 0
    low, high = x[real].min(0), x[real].max(0)
    # All values are halved, so that the range of a column from -1e308 to 1e308 does not overflow.
    span = 0.5 * high - 0.5 * low
    varies = span > 1e-13 * np.maximum(np.abs(low), np.abs(high))
    unit = np.where(varies, (0.5 * x - 0.5 * low) / np.where(varies, span, 1.0), 0.0)
    share = w / w.sum()
    centred = np.where(varies, unit - cross(share, unit), 0.0)
    variance = cross(share, centred**2)
    return centred / np.sqrt(np.where(variance > 0, variance, 1.0))
