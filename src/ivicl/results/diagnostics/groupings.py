"""Ways to sort people into groups by their covariates, in which a pattern would show that a method missed.

By one covariate, finely and as finely as the people allow; by every two and every three, coarsely and less so; and by
random trees over four. Cuts are at quantiles, so that a monotone transformation changes nothing.
Shapes: N rows, D covariates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from ivicl._shared.scaling import share_below

PARTS = ((1, 30), (1, 400), (2, 2), (2, 8), (3, 2), (3, 5))
"""So many covariates together, each cut into so many parts at most."""
LEAST_PEOPLE = 6
"""People per group, on average, at least; otherwise covariates are cut into fewer parts."""
MOST_TOGETHER = 220
"""The most pairs, and the most triples; if there are more, some are drawn, always the same."""
TREES = 64
TREE_COVARIATES = 4
DEEPEST = 7
Ranked = tuple[np.ndarray, np.ndarray]
"""A covariate, sorted once: which of its V values each row (N,) has, and the share of people below each value (V,)."""


def groupings(x: np.ndarray, w: np.ndarray) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """The covariates used and the group (N,) of each row, grouping by grouping; `w` counts the people of a row."""
    rng = np.random.default_rng(0)  # the same groupings for the same table
    varying = np.flatnonzero(np.ptp(x, axis=0) > 0).tolist()
    ranked = {k: share_below(x[:, k], w) for k in varying}
    people = float(w.sum())
    together = {order: _some(varying, order, rng) for order in (1, 2, 3)}
    done = set[tuple[tuple[int, ...], tuple[int, ...]]]()
    for order, most in PARTS:
        parts = int(min(most, (people / LEAST_PEOPLE) ** (1 / order)))
        if parts < 2:
            continue
        cuts = {k: _cut(*ranked[k], parts) for k in varying}
        levels = {k: int(cut.max()) + 1 for k, cut in cuts.items()}
        for chosen in together[order]:
            used = tuple(levels[k] for k in chosen)
            if (chosen, used) not in done:
                done.add((chosen, used))
                group = cuts[chosen[0]]
                for k in chosen[1:]:
                    group = group * levels[k] + cuts[k]
                yield chosen, group
    if len(varying) >= TREE_COVARIATES:
        depth = int(np.clip(math.log2(people / (2 * LEAST_PEOPLE)), 2, DEEPEST))
        for _ in range(TREES):
            yield _tree(ranked, depth, rng)


def _cut(place: np.ndarray, below: np.ndarray, parts: int) -> np.ndarray:
    """The part of each row: its value if there are few values, else the range between two quantiles."""
    if len(below) <= parts:
        return place
    steps = np.diff(np.floor(below * parts)) > 0
    part: np.ndarray = np.r_[0, np.cumsum(steps)][place]
    return part


def _tree(ranked: Mapping[int, Ranked], depth: int, rng: np.random.Generator) -> tuple[tuple[int, ...], np.ndarray]:
    """Leaves of a tree that cuts all branches alike, by a few covariates in turn, at random quantiles."""
    chosen = tuple(sorted(rng.choice(list(ranked), TREE_COVARIATES, replace=False).tolist()))
    leaf = np.zeros(len(ranked[chosen[0]][0]), dtype=np.intp)
    for level in range(depth):
        place, below = ranked[chosen[level % TREE_COVARIATES]]
        leaf = 2 * leaf + (below >= rng.uniform(0.2, 0.8))[place]
    return chosen, leaf


def _some(varying: list[int], order: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    if order == 1 or math.comb(len(varying), order) <= MOST_TOGETHER:
        return list(combinations(varying, order))
    drawn = {tuple(sorted(rng.choice(varying, order, replace=False).tolist())) for _ in range(MOST_TOGETHER)}
    return sorted(drawn)
