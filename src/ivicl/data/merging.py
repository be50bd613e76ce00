"""Equal rows of arrays, found and counted; and those that differ in an amount alone, by its moments."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

FEW = 4_096
"""Rows up to which numpy is quicker: polars wakes its threads for each of many small studies."""


def merge_equal(keys: Mapping[str, np.ndarray], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A row of each group of equal ones, in the order of the keys, and the sum of the group's weights."""
    if len(weights) > FEW:
        order = _all_different(next(iter(keys.values())))
        return _by_polars(keys, weights) if order is None else (order, weights[order])
    if not len(weights):
        return np.empty(0, np.int64), weights
    order = np.lexsort(list(keys.values())[::-1])
    new = np.zeros(len(weights), dtype=bool)
    new[0] = True
    for values in keys.values():
        ordered = values[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    first = np.flatnonzero(new)
    return order[first], np.add.reduceat(weights[order], first)


def whole(rows: np.ndarray, n: int) -> np.ndarray | slice:
    """Rows as they are if they are all of n in their order: a slice copies nothing."""
    everything = rows.dtype != bool and len(rows) == n and bool((rows[1:] > rows[:-1]).all())
    return slice(None) if everything else rows


def merge_moments(
    keys: Mapping[str, np.ndarray], y: np.ndarray, weights: np.ndarray, v: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A row of each group of equal keys, in their order; and the people, the mean of y and its variance in each.

    `v` is the variance of y among the people of each row, zero if not given. Equal outcomes of a group become one row
    before anything is added up: copies and weights, in any order, are then the same sums to the last bit.
    """
    rows, people = merge_equal(dict(keys) | {"the outcome": y} | ({} if v is None else {"the variance": v}), weights)
    if not len(rows):
        return rows, people, y[rows], y[rows]
    new = np.zeros(len(rows), dtype=bool)
    for values in keys.values():
        ordered = values[rows]
        new[1:] |= ordered[1:] != ordered[:-1]
    new[0] = True
    first = np.flatnonzero(new)
    inside = None if v is None else v[rows]
    return rows[first], *moments_by_group(np.cumsum(new) - 1, len(first), y[rows], people, inside)


def moments_by_group(
    group: np.ndarray, groups: int, y: np.ndarray, w: np.ndarray, v: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """People, mean and variance of y in each group, from rows of w people with mean y and variance v."""
    people = np.bincount(group, w, groups)
    size = np.maximum(people, 1e-300)
    mean = np.bincount(group, w * y, groups) / size
    squares = (y - mean[group]) ** 2 + (0 if v is None else v)
    return people, mean, np.bincount(group, w * squares, groups) / size


def _all_different(first: np.ndarray) -> np.ndarray | None:
    """The order of the rows where the first key alone tells them all apart, as continuous covariates do: then there is
    nothing to merge, and grouping would take several times the memory of the table."""
    if len(np.unique(first[:FEW])) < FEW:
        return None
    order = np.argsort(first, kind="stable")
    ordered = first[order]
    return order if (ordered[1:] > ordered[:-1]).all() else None


def _by_polars(keys: Mapping[str, np.ndarray], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import polars as pl

    frame = pl.DataFrame(dict(keys) | {"the weight": weights}).with_row_index("the row")
    frame = frame.group_by(list(keys)).agg(pl.col("the row").min(), pl.col("the weight").sum()).sort(list(keys))
    return frame["the row"].to_numpy(), frame["the weight"].to_numpy()
