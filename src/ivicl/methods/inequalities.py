"""Pearl's inequalities in a data set with any kind of outcome, and a sentence about the one that fails worst."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ivicl._shared.numbers import shown_p
from ivicl.data import IVData
from ivicl.data.encoding import weighted_quantile
from ivicl.identification.inequalities import Inequality, check_counts
from ivicl.identification.losses import LOST
from ivicl.methods.design.factors import effective
from ivicl.methods.lost import soft_table


def check(data: IVData) -> list[Inequality]:
    """The four inequalities; for an outcome that is not binary, each at the threshold with the smallest p-value.

    If only means are known, the soft law is tested, which is conservative, because amounts vary less than yes and no.
    Under a design the tests count as many people as the data are worth.
    """
    data = effective(data)
    if data.binary:
        return check_counts(data.counts(), lost=data.lost_counts())
    if data.v is not None:
        found = check_counts(soft_table(data)[..., :LOST], lost=data.lost_counts())
        return [replace(inequality, by_means=True) for inequality in found]
    worst: dict[tuple[int, int], Inequality] = {}
    for c in _test_thresholds(data):
        for inequality in check_counts(data.threshold(c).counts(), float(c), data.lost_counts()):
            key = (inequality.t, inequality.y)
            if key not in worst or inequality.p_value < worst[key].p_value:
                worst[key] = inequality
    return list(worst.values())


def _test_thresholds(data: IVData, most: int = 9) -> np.ndarray:
    levels = np.unique(data.y)[1:]
    if len(levels) <= most:
        return levels if len(levels) else np.array([data.outcome_range[1]])
    return np.unique(weighted_quantile(data.y, data.w, np.linspace(0, 1, most + 2)[1:-1]))


def warning_of(inequalities: list[Inequality]) -> str | None:
    """One sentence about the worst violation, or None."""
    worst = max(inequalities, key=lambda i: i.excess)
    if not worst.violated:
        return None
    return (
        f"the sample violates the instrumental inequality {worst.name()} by {worst.excess:.4f} "
        f"(one-sided {shown_p(worst.p_value)})"
    )
