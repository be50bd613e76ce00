"""Ends of the set of average effects when some outcomes are lost: a lost outcome may have been anything.

Instrument and treatment of the lost people are known. So an arm has six cells, [t][0, 1, lost], and the set is that of
all laws that divide the lost between 0 and 1: a linear program over the sixteen strata. Its value is the largest of
finitely many terms, the vertices of the dual program, which are listed here as a table; a test enumerates them again
and solves the program itself. Filling in the worst outcome of each cell and using Balke and Pearl's eight terms is not
the same: these terms compare cells with each other, filling in can make a law that no strata have, and the result is
too narrow for sparse laws.

An amount in [0, 1] enters through its soft law (`laws.soft_law`): the same program gives the set that the means allow.
Shapes: cells (..., 2, 2, 3) indexed [z][t][0, 1, lost], shares of an arm.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ivicl.identification.balke_pearl import sharp_ends, terms
from ivicl.identification.inequalities import excess

LOST = 2
"""The place of the lost outcome after 0 and 1."""

# A term has three numbers for each (z, t) = 00, 01, 10, 11: its coefficients on people with outcome 0, with outcome 1,
# and with a lost outcome (the smaller of the other two, since the worst is assumed).
_LOWER_WITHOUT_DEFIERS = """
     0  0  0 |  0  0  0 | -1 -1 -1 | -1 -1 -1
     0  0  0 |  0  0  0 | -1 -1 -1 | -1  0 -1
     0  0  0 |  0  0  0 |  0 -1 -1 | -1 -1 -1
     0  0  0 |  0  0  0 |  0 -1 -1 | -1  0 -1
     0  0  0 |  0  1  0 | -1 -1 -1 | -1 -1 -1
     0  0  0 |  0  1  0 |  0 -1 -1 | -1 -1 -1
     1  0  0 |  0  0  0 | -1 -1 -1 | -1 -1 -1
     1  0  0 |  0  0  0 | -1 -1 -1 | -1  0 -1
     1  0  0 |  0  1  0 | -1 -1 -1 | -1 -1 -1
"""
_LOWER_MORE = """
     0  1  0 |  0  1  0 |  0 -2 -2 | -2 -1 -2
     1  0  0 |  0  2  0 | -1 -2 -2 | -1 -2 -2
     1  0  0 |  1  0  0 | -1 -2 -2 | -2  0 -2
     2  0  0 |  0  1  0 | -2 -1 -2 | -2 -1 -2
"""


def _table(text: str) -> np.ndarray:
    return np.array(text.replace("|", " ").split(), dtype=np.float64).reshape(-1, 2, 2, 3)


TERMS = _table(_LOWER_WITHOUT_DEFIERS + _LOWER_MORE)
"""(13, 2, 2, 3): the lower end is the largest of these terms."""
TERMS_WITHOUT_DEFIERS = _table(_LOWER_WITHOUT_DEFIERS)
"""(9, 2, 2, 3): the same if Z = 1 moves nobody out of the treatment, for cells that allow this."""


def free_ends(cells: np.ndarray, *, without_defiers: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of the set for possible cells; repair others first (`nearest_cells`).

    Without a lost outcome these are Balke and Pearl's. With `without_defiers` the cells must be possible without
    defiers; otherwise the ends may cross.
    """
    cells = np.asarray(cells, dtype=np.float64)
    table = TERMS_WITHOUT_DEFIERS if without_defiers else TERMS
    # The effect on 1 - Y has the opposite sign: its lower end is minus the upper end.
    mirrored = cells[..., [1, 0, LOST]]
    lower, upper = (np.einsum("...ztk,jztk->...j", each, table).max(axis=-1) for each in (cells, mirrored))
    return lower, -upper


def completed(cells: np.ndarray, ones: np.ndarray) -> np.ndarray:
    """The laws (..., 2, 2, 2) in which the share `ones` (2, 2) [z][t] of the lost have outcome 1."""
    cells = np.asarray(cells, dtype=np.float64)
    lost = cells[..., LOST]
    law: np.ndarray = np.stack([cells[..., 0] + (1 - ones) * lost, cells[..., 1] + ones * lost], axis=-1)
    return law


DOWN = np.array([[1.0, 0.0], [1.0, 0.0]])
"""The simple way to fill in lost outcomes that pulls the effect down: 0 if treated, 1 if not. 1 - DOWN pulls it up."""


def worst_ones(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(2, 2) shares of the lost with outcome 1 at which the completed law has the program's lower, and its upper, end.

    For one set of possible cells (2, 2, 3). The simple fill is used if it is good enough, otherwise one that keeps the
    law possible. A method that does not know about lost outcomes can be given everybody, completed in this way.
    """
    cells = np.asarray(cells, dtype=np.float64)
    return _lowest(cells, DOWN), 1.0 - _lowest(cells[..., [1, 0, LOST]], DOWN)


def _lowest(cells: np.ndarray, fill: np.ndarray) -> np.ndarray:
    """The shares with the smallest Balke-Pearl lower end among possible completions; of several, those nearest `fill`.

    The end is the largest of eight linear terms, so this is a linear program. Its unknowns are the end itself and the
    share of each cell with losses, of which there are at most four: so all vertices are tried.
    """
    end = float(free_ends(cells)[0])
    law = completed(cells, fill)
    if excess(law).max() <= 1e-12 and float(sharp_ends(law)[0]) <= end + 1e-12:
        return fill
    places = np.argwhere(cells[..., LOST] > 0)
    unknowns = len(places) + 1
    base = completed(cells, np.zeros((2, 2)))
    rows, limits = [], []  # each constraint: row @ (end, shares) <= limit
    moves = np.zeros((len(places), 2, 2, 2))
    for k, (z, t) in enumerate(places):
        moves[k, z, t] = -cells[z, t, LOST], cells[z, t, LOST]
    start = terms(base)[0]
    slopes = np.stack([terms(base + move)[0] - start for move in moves], axis=-1)
    for j in range(len(start)):
        rows.append([-1.0, *slopes[j]])
        limits.append(-start[j])
    over = excess(base)
    for t, y in np.ndindex(2, 2):
        rows.append([0.0, *(excess(base + move)[t, y] - over[t, y] for move in moves)])
        limits.append(-over[t, y])
    for k in range(len(places)):
        for sign, limit in ((1.0, 1.0), (-1.0, 0.0)):
            row = np.zeros(unknowns)
            row[1 + k] = sign
            rows.append(row.tolist())
            limits.append(limit)
    system, most = np.array(rows), np.array(limits)
    meetings = np.array(list(combinations(range(len(system)), unknowns)))
    meetings = meetings[meetings[:, 0] < len(start)]
    regular = np.abs(np.linalg.det(system[meetings])) > 1e-12
    points = np.linalg.solve(system[meetings[regular]], most[meetings[regular]][..., None])[..., 0]
    feasible = points[(points @ system.T <= most + 1e-9).all(axis=1)]
    best = feasible[feasible[:, 0] <= feasible[:, 0].min() + 1e-9]
    wanted = fill[tuple(places.T)]
    chosen = best[np.abs(best[:, 1:] - wanted).sum(axis=1).argmin(), 1:]
    ones = fill.copy()
    ones[tuple(places.T)] = np.clip(chosen, 0.0, 1.0)
    return ones


def nearest_cells(counts: np.ndarray) -> np.ndarray:
    """The sample's cells, from counts (..., 2, 2, 3), moved as little as a valid instrument demands.

    Lost outcomes can only help: the cells are possible if and only if P(T=t, Y=y, seen | Z=1) + P(T=t, Y=1-y, seen |
    Z=0) <= 1 for all t and y, of which at most one fails. The two shares then shrink by the excess in all, the one that
    is known better by less, and what they lose goes to the other cells of their arm in proportion. These are the most
    likely of the possible cells, as `inequalities.nearest_law` finds them if nothing is lost.
    """
    counts = np.asarray(counts, dtype=np.float64)
    people = counts.sum(axis=(-2, -1))
    cells: np.ndarray = counts / people[..., None, None]
    flat, sizes = cells.reshape(-1, 2, 2, 3), people.reshape(-1, 2)
    for t, y in np.ndindex(2, 2):
        excess = flat[:, 1, t, y] + flat[:, 0, t, 1 - y] - 1.0
        for i in np.flatnonzero(excess > 0):
            for z, own in ((1, y), (0, 1 - y)):
                flat[i, z] = _moved(flat[i, z], (t, own), excess[i] * sizes[i, 1 - z] / sizes[i].sum())
    return flat.reshape(cells.shape)


def _moved(arm: np.ndarray, place: tuple[int, int], share: float) -> np.ndarray:
    """An arm (2, 3) after `share` of it has moved from one cell to the others in proportion.

    If all others are empty, it is divided equally among those with an outcome.
    """
    others = arm.copy()
    others[place] = 0.0
    if others.sum() <= 0:
        others[:, :LOST] = 1.0
        others[place] = 0.0
    moved: np.ndarray = arm + share * others / others.sum()
    moved[place] -= share
    return moved
