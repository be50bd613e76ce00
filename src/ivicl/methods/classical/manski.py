"""Manski's bounds: what the range of the outcome alone implies, without and with the instrument."""

from __future__ import annotations

import numpy as np

from ivicl.data import IVData
from ivicl.methods.base import NO_SAMPLING_ERROR, MethodBounds, MethodOptions


def arm_means(data: IVData) -> tuple[np.ndarray, np.ndarray]:
    """E[Y 1{T=t} | Z=z] and P(T=t | Z=z), each (2, 2) indexed [z][t]."""
    cell = (2 * data.z + data.t).astype(np.int64)
    people = np.bincount(cell, data.w, 4).reshape(2, 2)
    totals = np.bincount(cell, data.w * data.y, 4).reshape(2, 2)
    arms = people.sum(axis=1, keepdims=True)
    return totals / arms, people / arms


def bounds(data: IVData, options: MethodOptions) -> MethodBounds:
    """`method="manski"`: the natural bounds, which use no instrument; their width is the outcome's range."""
    options.take_extra("manski")
    low, high = data.outcome_range
    treated, untreated = data.w * (data.t == 1), data.w * (data.t == 0)
    share = treated.sum() / data.n
    seen_1, seen_0 = treated @ data.y / data.n, untreated @ data.y / data.n
    lower = seen_1 + (1 - share) * low - seen_0 - share * high
    upper = seen_1 + (1 - share) * high - seen_0 - share * low
    return MethodBounds(float(lower), float(upper), warnings=(NO_SAMPLING_ERROR,), details={"sampling_error": False})


def bounds_iv(data: IVData, options: MethodOptions) -> MethodBounds:
    """`method="manski-iv"`: Y(0) and Y(1) are each mean independent of the instrument."""
    options.take_extra("manski-iv")
    low, high = data.outcome_range
    means, shares = arm_means(data)
    ends = []
    crossed = False
    for t in (0, 1):
        # Whoever did not take t could have had any outcome in the range; each arm bounds the same mean.
        least = float((means[:, t] + (1 - shares[:, t]) * low).max())
        most = float((means[:, t] + (1 - shares[:, t]) * high).min())
        crossed |= least > most
        ends.append((least, most) if least <= most else ((least + most) / 2,) * 2)
    warnings = [NO_SAMPLING_ERROR]
    if crossed:
        warnings.append(
            "the sample contradicts the assumption: the two arms bound the mean of a potential outcome by intervals "
            "that do not meet; the middle of the gap was taken."
        )
    (least_0, most_0), (least_1, most_1) = ends
    return MethodBounds(
        least_1 - most_0,
        most_1 - least_0,
        warnings=tuple(warnings),
        details={"sampling_error": False, "mean_if_untreated": ends[0], "mean_if_treated": ends[1]},
    )
