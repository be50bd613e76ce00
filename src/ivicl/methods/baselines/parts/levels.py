"""A bounded outcome as a few ordered levels: level k is reached when Y is at least the k-th threshold.

Thresholds are those of `ivicl.methods.outcomes`. Bounds of the effects on 1{Y >= c_j}, weighted by the lengths they
stand for, add up to bounds of the effect on Y. These are outer bounds: each part is sharp, but their sum need not be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.data import IVData
from ivicl.methods.outcomes import choose_thresholds


@dataclass(frozen=True)
class OutcomeLevels:
    """Level of each row and the height of each step."""

    level: np.ndarray
    """(n,) integers 0..M."""
    steps: np.ndarray
    """(M,) in outcome units."""
    slack: float
    """How far rounding to the levels can move the effect at worst, in either direction."""
    notes: tuple[str, ...]


def outcome_levels(data: IVData, n_thresholds: int) -> OutcomeLevels:
    """A binary outcome has two levels, an outcome with few values has these; any other is rounded to M equal steps."""
    cuts = choose_thresholds(data, n_thresholds)
    notes: tuple[str, ...] = ()
    if cuts.slack > 0:
        notes = (
            f"the outcome was rounded to {len(cuts.points)} equal steps of {cuts.lengths[0]:.4g}, which can move the "
            f"effect by up to {cuts.slack:.4g} at the very worst.",
        )
    level = np.searchsorted(np.asarray(cuts.points), data.y, side="right")
    return OutcomeLevels(level, np.asarray(cuts.lengths), cuts.slack, notes)
