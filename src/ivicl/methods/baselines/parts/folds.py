"""Splitting people, not rows, into folds.

A row of weight k stands for k people who happen to look alike. They are k independent draws, so they may and must be
spread over the folds: keeping them together would take every person with this (x, z, t, y) out of the training set at
once, and the fitted p(y, t | z, x) would be wrong exactly there. (Copies of the *same* person are a different matter:
they would leak. Frequency weights count different people.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Pieces:
    """Rows split by fold: piece i is `weight[i]` people of row `row[i]`, held out in fold `fold[i]`."""

    row: np.ndarray
    fold: np.ndarray
    weight: np.ndarray


def merge_rows(columns: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows in sorted order and their summed weights: the same for k copies and for one row of weight k."""
    distinct, inverse = np.unique(columns, axis=0, return_inverse=True)
    return distinct, np.bincount(inverse.ravel(), weights=weight, minlength=len(distinct))


def split_clusters(
    cluster: np.ndarray, arm: np.ndarray, weight: np.ndarray, folds: int, rng: np.random.Generator
) -> Pieces:
    """Whole clusters in a fold, because their people resemble each other; those of each arm are dealt out in turn."""
    names, first, code = np.unique(cluster, return_index=True, return_inverse=True)
    order = rng.permutation(len(names))
    order = order[np.argsort(arm[first][order], kind="stable")]
    fold = np.empty(len(names), dtype=np.intp)
    fold[order] = np.arange(len(names)) % folds
    return Pieces(np.arange(len(weight)), fold[code.ravel()], weight)


def split_people(cell: np.ndarray, weight: np.ndarray, folds: int, rng: np.random.Generator) -> Pieces:
    """Stratified split: the people of a cell are lined up, rows in random order, and dealt out fold after fold.

    Rows of one cell stay together in the line, so a row of weight k gives each fold k/folds people, up to one.
    """
    counts = np.zeros((len(cell), folds))
    dealt = 0  # cells continue where the last one stopped, so that folds differ by one person in all
    for value in np.unique(cell):
        rows = rng.permutation(np.flatnonzero(cell == value))
        stop = dealt + np.cumsum(weight[rows])
        start = stop - weight[rows]
        for k in range(folds):  # how many positions u in [start, stop) have u mod folds = k
            counts[rows, k] = np.floor((stop - 1 - k) / folds) - np.floor((start - 1 - k) / folds)
        dealt = int(stop[-1]) % folds
    row, fold = np.nonzero(counts)
    return Pieces(row, fold, counts[row, fold])
