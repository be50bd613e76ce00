"""Equal rows of arrays, found and counted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

FEW = 4_096
"""Rows up to which numpy is quicker: polars wakes its threads for each of many small studies."""


def merge_equal(keys: Mapping[str, np.ndarray], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A row of each group of equal ones, in the order of the keys, and the sum of the group's weights."""
    if len(weights) > FEW:
        return _by_polars(keys, weights)
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


def _by_polars(keys: Mapping[str, np.ndarray], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import polars as pl

    frame = pl.DataFrame(dict(keys) | {"the weight": weights}).with_row_index("the row")
    frame = frame.group_by(list(keys)).agg(pl.col("the row").min(), pl.col("the weight").sum()).sort(list(keys))
    return frame["the row"].to_numpy(), frame["the weight"].to_numpy()
