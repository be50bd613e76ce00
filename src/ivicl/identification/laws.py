"""Laws of the observed data, P(T=t, Y=k | Z=z), as arrays [..., z, t, k]: from rows, from counts, smoothed, soft."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np

Number = TypeVar("Number")
"""An int, an array or a tensor: computing the cell index is only arithmetic."""
TABLES_AT_ONCE = 16_384
"""How many thresholds of an amount are handled at once."""


def cell_index(z: Number, t: Number, y: Number) -> Number:
    """The place of (z, t, y) in a flattened table [z][t][y]; the same arithmetic for numbers, arrays and tensors."""
    return 4 * z + 2 * t + y  # type: ignore[operator, return-value]


def count_arms(z: np.ndarray, t: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The (2, 2) table of people [z][t], from rows with 0/1 values and weights."""
    return np.bincount((2 * z + t).astype(np.int64), w, 4).reshape(2, 2)


def count_levels(z: np.ndarray, t: np.ndarray, level: np.ndarray, w: np.ndarray, n_levels: int) -> np.ndarray:
    """The (2, 2, K) table of people [z][t][k] for an outcome on levels 0 ... K - 1."""
    place = ((2 * z + t) * n_levels + level).astype(np.int64)
    return np.bincount(place, w, 4 * n_levels).reshape(2, 2, n_levels)


def count_cells(z: np.ndarray, t: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The (2, 2, 2) table of people [z][t][y] for an outcome of 0 and 1."""
    return np.bincount(cell_index(z, t, y).astype(np.int64), w, 8).reshape(2, 2, 2)


def count_thresholds(
    z: np.ndarray, t: np.ndarray, y: np.ndarray, w: np.ndarray, outcome_range: tuple[float, float]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The counts of 1{Y >= c} for every c in the range: (M, 2, 2, 2) tables, and how much of the range each stands for.

    Between two observed values the table does not change, so finitely many tables carry the whole integral
    E[Y(1) - Y(0)] = integral over c of E[1{Y(1) >= c} - 1{Y(0) >= c}]: no grid, no discretisation error. They are
    yielded some at a time: an amount may have as many tables as people, and a table is larger than a row.
    """
    low, high = outcome_range
    levels, place = np.unique(y, return_inverse=True)
    people = count_levels(z, t, place, w, len(levels) + 1)  # one more level, without people: the rest of the range
    lengths = np.diff(np.concatenate([[low], levels, [high]]))
    del levels, place
    from_above = people[..., ::-1]
    np.cumsum(from_above, axis=-1, out=from_above)
    for start in range(0, len(lengths), TABLES_AT_ONCE):
        here = slice(start, start + TABLES_AT_ONCE)
        ones = np.moveaxis(people[..., here], -1, 0)
        yield np.stack([people[..., 0] - ones, ones], axis=-1), lengths[here]


def law_of(counts: np.ndarray, pseudo_count: float = 0.0) -> np.ndarray:
    """P(T=t, Y=k | Z=z) from counts (..., 2, 2, K).

    With a pseudo-count for each cell it is the posterior mean under a Dirichlet prior (`strata.cell_pseudo_count`).
    """
    counts = np.asarray(counts, dtype=np.float64) + pseudo_count
    law: np.ndarray = counts / arm_totals(counts)[..., None, None]
    return law


def arm_totals(counts: np.ndarray) -> np.ndarray:
    """(..., 2) people by arm, from counts (..., 2, 2, K); slice by slice if K = 2, as numpy sums few entries slowly."""
    if counts.shape[-1] == 2:
        total: np.ndarray = counts[..., 0, 0] + counts[..., 0, 1] + counts[..., 1, 0] + counts[..., 1, 1]
    else:
        total = counts.sum(axis=(-2, -1))
    return total


def arm_means(z: np.ndarray, t: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E[Y 1{T=t} | Z=z] and P(T=t | Z=z), each (2, 2) indexed [z][t]."""
    people, totals = count_arms(z, t, w), count_arms(z, t, w * y)
    arms = people.sum(axis=1, keepdims=True)
    return totals / arms, people / arms


def soft_law(means: np.ndarray, shares: np.ndarray, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """The binary law (..., 2, 2, 2) that has an amount's means: q(1,t|z) = E[Y 1{T=t} | z] for Y scaled to [0, 1].

    It is the law of 1{U <= Y} with U uniform on the range, which has the same effect. Balke and Pearl's ends at this
    law are the set of effects that the means allow.

    Args:
        means: E[Y 1{T=t} | Z=z], (..., 2, 2) indexed [z][t], in the outcome's units.
        shares: P(T=t | Z=z), (..., 2, 2).
        low: the smallest possible outcome.
        high: the largest possible outcome.
    """
    ones = np.clip((means - low * shares) / (high - low), 0.0, shares)
    return np.stack([shares - ones, ones], axis=-1)
