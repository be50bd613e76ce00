"""The ends of the average effect in a group of people, given everybody: one-step estimates with standard errors.

The law at each person is estimated from all people, so that a small group borrows strength from the others; the mean
score of the group's own people is added, which removes the bias of the borrowing to first order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ivicl.data import IVData
from ivicl.identification.end_scores import EFFECT_ENDS, end_scores
from ivicl.methods.design.rows_law import rows_law
from ivicl.methods.design.variance import mean_variance
from ivicl.methods.row_laws import RowLaws


@dataclass(frozen=True)
class GroupEnds:
    """The lower and upper end with their standard errors, in outcome units."""

    lower: float
    upper: float
    se_lower: float
    se_upper: float


def group_ends(data: IVData, groups: Sequence[np.ndarray], known: RowLaws | None = None) -> list[GroupEnds]:
    """The ends for groups given as masks (N,) of their rows; each group needs people in both arms.

    `known` is the law that a method found at its rows; without it the law is a ridge regression's.
    """
    low, high = data.outcome_range
    # Merge first, so that raw rows and merged ones give the same, as everywhere that fits at rows are used.
    columns = data.x.shape[1]
    data = replace(data, x=np.column_stack([data.x, *groups])).by_moments()
    data, groups = replace(data, x=data.x[:, :columns]), list(data.x[:, columns:].T > 0)
    law = rows_law(data, known)
    found = end_scores(law.law, law.chance, data.z, data.t, data.y01, data.mass, EFFECT_ENDS)
    ends = []
    for rows in groups:
        share = data.mass[rows] / data.mass[rows].sum()
        value = found.value + share @ (found.at_x[rows] + found.score[rows])
        error = np.sqrt(mean_variance(found.score[rows], data.take(rows), slope=found.slope[rows]).variance)
        lower, upper = (high - low) * np.clip(value, -1.0, 1.0)
        middle = 0.5 * (lower + upper)  # the ends can only cross by noise
        se_lower, se_upper = (high - low) * error
        ends.append(GroupEnds(float(min(lower, middle)), float(max(upper, middle)), float(se_lower), float(se_upper)))
    return ends
