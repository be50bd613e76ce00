"""Finding and counting equal rows of arrays, and merging rows that differ only in an amount into its moments."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

FEW = 4_096
"""Up to this many rows numpy is quicker: polars would wake its threads for each of many small studies."""
LOOKED_AT = 1_024
"""About how many rows are looked at to tell whether a key is continuous."""
NEARLY_ALL = 0.9
"""The share of these rows that must differ."""


def merge_equal(keys: Mapping[str, np.ndarray], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One row of each group of equal rows, in the order of the keys, and the sum of the group's weights.

    If a key is continuous there is next to nothing to merge, and the rows are sorted instead: grouping them would take
    several times the memory of the table.
    """
    if not len(weights):
        return np.empty(0, np.int64), weights
    columns = list(keys.values())
    if len(weights) <= FEW:
        order = np.lexsort(columns[::-1])
        new = _new(columns, order)
    elif any(map(_continuous, columns)):
        order, new = _sorted(columns)
    else:
        return _by_polars(keys, weights)
    if new.all():
        return order, weights[whole(order, len(weights))]
    first = np.flatnonzero(new)
    return order[first], np.add.reduceat(weights[order], first)


def _continuous(values: np.ndarray) -> bool:
    some = values[:: -(-len(values) // LOOKED_AT)]
    return len(np.unique(some)) > NEARLY_ALL * len(some)


def _sorted(columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The order of rows by all keys, and which of them, in that order, differ from the one before.

    Each key is used only for rows that are equal in all keys before it.
    """
    order = np.argsort(columns[0], kind="stable")
    new = _new(columns[:1], order)
    for values in columns[1:]:
        tied = np.flatnonzero(~(new & np.append(new[1:], True)))
        if not len(tied):
            break
        rows, group = order[tied], np.cumsum(new[tied])
        rows = rows[np.lexsort((values[rows], group))]
        order[tied] = rows
        new[tied] |= _new([values], rows)
    return order, new


def _new(columns: list[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """(N,) which of the rows differ from the one before."""
    new = np.zeros(len(rows), dtype=bool)
    new[:1] = True
    for values in columns:
        ordered = values[rows]
        new[1:] |= ordered[1:] != ordered[:-1]
    return new


def whole(rows: np.ndarray, n: int) -> np.ndarray | slice:
    """The rows, or a slice if they are all n rows in their order: indexing with a slice copies nothing."""
    everything = rows.dtype != bool and len(rows) == n and bool((rows[1:] > rows[:-1]).all())
    return slice(None) if everything else rows


def merge_moments(
    keys: Mapping[str, np.ndarray], y: np.ndarray, weights: np.ndarray, v: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """One row of each group of equal keys, in their order; and the people, mean of y and variance of y in each group.

    `v` is the variance of y among the people of each row, zero if not given. Equal outcomes of a group become one row
    before anything is added up: the sums are then the same to the last bit, whether people come as copies or as
    weights, and in any order.
    """
    rows, people = merge_equal(dict(keys) | {"the outcome": y} | ({} if v is None else {"the variance": v}), weights)
    if not len(rows):
        return rows, people, y[rows], y[rows]
    new = _new(list(keys.values()), rows)
    if new.all():
        alone = whole(rows, len(y))
        return rows, people, y[alone], np.zeros(len(rows)) if v is None else v[alone]
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


def _by_polars(keys: Mapping[str, np.ndarray], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import polars as pl

    frame = pl.DataFrame(dict(keys) | {"the weight": weights}).with_row_index("the row")
    frame = frame.group_by(list(keys)).agg(pl.col("the row").min(), pl.col("the weight").sum()).sort(list(keys))
    return frame["the row"].to_numpy(), frame["the weight"].to_numpy()
