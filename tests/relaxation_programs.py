"""The relaxed bounds as linear programs on types: what `ivicl.identification.relaxations` is checked against."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import linprog

# T(0), T(1), Y(0,0), Y(0,1), Y(1,0), Y(1,1), where Y(z,t)
DIRECT = np.array(list(product((0, 1), repeat=6)))
# T(0), T(1), Y(0), Y(1)
TYPES = np.array(list(product((0, 1), repeat=4)))


def exclusion_program(p: np.ndarray, eps: float, z_share: float) -> tuple[float, float]:
    """64 types; those whose outcome depends on z at some t have a share of at most eps."""
    rows, targets = [], []
    for (z, t, y), value in np.ndenumerate(p):
        rows.append((DIRECT[:, z] == t) & (DIRECT[:, 2 + 2 * z + t] == y))
        targets.append(value)
    moved = (DIRECT[:, 2] != DIRECT[:, 4]) | (DIRECT[:, 3] != DIRECT[:, 5])
    effect = (1 - z_share) * (DIRECT[:, 3] - DIRECT[:, 2]) + z_share * (DIRECT[:, 5] - DIRECT[:, 4])
    return _ends(effect, np.array(rows, float), targets, moved[None].astype(float), [eps])


def independence_program(p: np.ndarray, eps: float, z_share: float) -> tuple[float, float]:
    """Two laws of the 16 types, and what the first has beyond the second: at most eps in all."""
    rows, targets = [], []
    for (z, t, y), value in np.ndenumerate(p):
        row = np.zeros((3, 16))
        row[z] = (TYPES[:, z] == t) & (TYPES[:, 2 + t] == y)
        rows.append(row.ravel())
        targets.append(value)
    beyond = np.hstack([np.eye(16), -np.eye(16), -np.eye(16)])  # r0 - r1 <= surplus
    most = np.concatenate([np.zeros(32), np.ones(16)])
    effect = TYPES[:, 3] - TYPES[:, 2]
    objective = np.concatenate([(1 - z_share) * effect, z_share * effect, np.zeros(16)])
    return _ends(objective, np.array(rows), targets, np.vstack([beyond, most]), [0.0] * 16 + [eps])


def defiers_program(p: np.ndarray, eps: float) -> tuple[float, float]:
    """The compliers' effect, a ratio, as a program in type masses per complier, with the scale as one more unknown."""
    complier = (TYPES[:, 0] == 0) & (TYPES[:, 1] == 1)
    defier = (TYPES[:, 0] == 1) & (TYPES[:, 1] == 0)
    rows = [[*complier.astype(float), 0.0]]
    for (z, t, y), value in np.ndenumerate(p):
        rows.append([*((TYPES[:, z] == t) & (TYPES[:, 2 + t] == y)).astype(float), -value])
    objective = np.append(complier * (TYPES[:, 3] - TYPES[:, 2]), 0.0)
    return _ends(objective, np.array(rows), [1.0] + [0.0] * 8, np.array([[*defier.astype(float), -eps]]), [0.0])


def _ends(objective, equal, targets, at_most, limits) -> tuple[float, float]:
    ends = []
    for sign in (1, -1):
        solved = linprog(
            sign * objective, A_ub=at_most, b_ub=limits, A_eq=equal, b_eq=targets, bounds=(0, None), method="highs"
        )
        assert solved.status == 0, solved.message
        ends.append(sign * solved.fun)
    return float(ends[0]), float(ends[1])
