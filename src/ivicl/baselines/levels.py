"""A bounded outcome as a few ordered levels: the thresholds at which it becomes a binary problem.

With thresholds c_1 < ... < c_M, 1{Y >= c_j} are M binary outcomes and Y is about base + sum_j step_j 1{Y >= c_j}.
Bounds of the M effects, weighted by the steps, add to bounds of the effect on Y. They are outer bounds: each is sharp
by itself, their sum need not be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class OutcomeLevels:
    """Level of each row and the height of each step."""

    level: np.ndarray
    """(n,) integers 0..M."""
    steps: np.ndarray
    """(M,) outcome units."""
    slack: float
    """How far rounding to the levels can move the effect, at the very worst, either way."""
    notes: tuple[str, ...]


def outcome_levels(y: np.ndarray, outcome_range: tuple[float, float], binary: bool, n_thresholds: int) -> OutcomeLevels:
    """Binary: the outcome itself. Few values: those values, exactly. Else M equal steps, rounded to the nearest."""
    low, high = outcome_range
    values = np.unique(np.concatenate([y, [low, high]]))
    if binary or len(values) - 1 <= n_thresholds:
        return OutcomeLevels(np.searchsorted(values, y), np.diff(values), 0.0, ())
    step = (high - low) / n_thresholds
    level = np.clip(np.floor((y - low) / step + 0.5), 0, n_thresholds).astype(np.intp)
    note = (
        f"the outcome was rounded to {n_thresholds} equal steps of {step:.4g}, which can move the effect by up to "
        f"{step:.4g} at the very worst."
    )
    return OutcomeLevels(level, np.full(n_thresholds, step), step, (note,))
