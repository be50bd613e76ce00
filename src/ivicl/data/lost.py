"""People whose outcome is lost although instrument and treatment are known: always counted, and kept if asked for."""

from __future__ import annotations

import numpy as np

from ivicl.data.columns import Column
from ivicl.data.encoding import Coding

LostPeople = tuple[tuple[int, int], tuple[int, int]]
"""People by [z][t]."""
NOBODY: LostPeople = ((0, 0), (0, 0))


def lost_rows(z: Column, t: Column, y: Column, x: list[Column], weights: np.ndarray, missing: str) -> np.ndarray:
    """(N,) the rows that would be used if their outcome were known."""
    lost: np.ndarray = (weights > 0) & ~z.missing & ~t.missing & y.missing
    for column in x if missing == "drop" else []:
        lost = lost & ~column.missing
    return lost


def count_lost(z: Column, t: Column, codings: dict[str, Coding], weights: np.ndarray, lost: np.ndarray) -> LostPeople:
    """People by [z][t] among the lost rows, without those whose z or t occurs for nobody with an outcome."""
    found = np.zeros((2, 2))
    for a, b in np.ndindex(2, 2):
        here = lost & _is(z, codings["instrument"], a) & _is(t, codings["treatment"], b)
        found[a, b] = weights[here].sum()
    (n00, n01), (n10, n11) = np.round(found).astype(int).tolist()
    return (n00, n01), (n10, n11)


def _is(column: Column, coding: Coding, value: int) -> np.ndarray:
    wanted = coding.one if value else coding.zero
    same: np.ndarray = np.zeros(len(column), dtype=bool) if wanted is None else column.values == wanted
    return same


def share_out(z: np.ndarray, t: np.ndarray, x: np.ndarray, w: np.ndarray, ones: np.ndarray) -> np.ndarray:
    """(N,) how many people of each row are chosen, in whole numbers, if the share `ones` (2, 2) of each [z][t] is.

    They are spread evenly over rows sorted by the covariates, so that the order of the rows does not matter, and their
    total is right to half a person.
    """
    chosen = np.zeros(len(w))
    for a, b in np.ndindex(2, 2):
        here = np.flatnonzero((z == a) & (t == b))
        here = here[np.lexsort(x[here].T)] if x.shape[1] else here
        reached = np.floor(np.concatenate([[0.0], np.cumsum(w[here])]) * ones[a, b] + 0.5)
        chosen[here] = np.diff(reached)
    return chosen
