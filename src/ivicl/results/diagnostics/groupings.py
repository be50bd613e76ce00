"""Ways to sort people into groups by their covariates, in which a pattern would show that a method missed.

By one covariate, finely and as finely as the people allow; by every two and every three, coarsely and less so; and by
random trees over four. Cuts are at quantiles, so that a monotone transformation changes nothing.
Shapes: N rows, D covariates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

PARTS = ((1, 30), (1, 400), (2, 2), (2, 8), (3, 2), (3, 5))
"""So many covariates together, each cut into so many parts at most."""
LEAST_PEOPLE = 6
"""People per group, on average, at least; otherwise covariates are cut into fewer parts."""
MOST_TOGETHER = 220
"""The most pairs, and the most triples; if there are more, some are drawn, always the same."""
TREES = 64
TREE_COVARIATES = 4
DEEPEST = 7


def groupings(x: np.ndarray, w: np.ndarray) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """The covariates used and the group (N,) of each row, grouping by grouping; `w` counts the people of a row."""
    rng = np.random.default_rng(0)  # the same groupings for the same table
    varying = np.flatnonzero(np.ptp(x, axis=0) > 0).tolist()
    below = {k: _below(x[:, k], w) for k in varying}
    people = float(w.sum())
    cuts: dict[tuple[int, int], np.ndarray] = {}
    together = {order: _some(varying, order, rng) for order in (1, 2, 3)}
    done = set[tuple[tuple[int, ...], tuple[int, ...]]]()
    for order, most in PARTS:
        parts = int(min(most, (people / LEAST_PEOPLE) ** (1 / order)))
        if parts < 2:
            continue
        for k in varying:
            if (k, parts) not in cuts:
                cuts[k, parts] = _cut(x[:, k], below[k], parts)
        levels = {k: int(cuts[k, parts].max()) + 1 for k in varying}
        for chosen in together[order]:
            used = tuple(levels[k] for k in chosen)
            if (chosen, used) not in done:
                done.add((chosen, used))
                group = cuts[chosen[0], parts]
                for k in chosen[1:]:
                    group = group * levels[k] + cuts[k, parts]
                yield chosen, group
    if len(varying) >= TREE_COVARIATES:
        depth = int(np.clip(math.log2(people / (2 * LEAST_PEOPLE)), 2, DEEPEST))
        for _ in range(TREES):
            yield _tree(below, depth, rng)


def _below(column: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(N,) share of the people with a smaller value."""
    values, place = np.unique(column, return_inverse=True)
    at = np.bincount(place, w, len(values))
    share: np.ndarray = ((np.cumsum(at) - at) / at.sum())[place]
    return share


def _cut(column: np.ndarray, below: np.ndarray, parts: int) -> np.ndarray:
    """The part of each row: its value if there are few values, else the range between two quantiles."""
    values = np.unique(column)
    cut = np.searchsorted(values, column) if len(values) <= parts else np.floor(below * parts)
    return np.unique(cut, return_inverse=True)[1]


def _tree(below: dict[int, np.ndarray], depth: int, rng: np.random.Generator) -> tuple[tuple[int, ...], np.ndarray]:
    """Leaves of a tree that cuts all branches alike, by a few covariates in turn, at random quantiles."""
    chosen = tuple(sorted(rng.choice(list(below), TREE_COVARIATES, replace=False).tolist()))
    leaf = np.zeros(len(below[chosen[0]]), dtype=np.intp)
    for level in range(depth):
        leaf = 2 * leaf + (below[chosen[level % TREE_COVARIATES]] >= rng.uniform(0.2, 0.8))
    return chosen, leaf


def _some(varying: list[int], order: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    if order == 1 or math.comb(len(varying), order) <= MOST_TOGETHER:
        return list(combinations(varying, order))
    drawn = {tuple(sorted(rng.choice(varying, order, replace=False).tolist())) for _ in range(MOST_TOGETHER)}
    return sorted(drawn)
