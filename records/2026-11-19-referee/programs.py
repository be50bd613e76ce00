"""Linear programs over latent types, from the assumptions alone: the referee's oracle. Nothing of ivicl is used.

A type is (T(0), T(1), Y(0), Y(1)) with K levels of the outcome (4 K^2 types), or (T(0), T(1), Y(z, t)) (64 types).
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import linprog


def types(k: int) -> np.ndarray:
    """(4 K^2, 4) columns T(0), T(1), level of Y(0), level of Y(1)."""
    return np.array(list(product((0, 1), (0, 1), range(k), range(k))))


def observed(every: np.ndarray, k: int) -> np.ndarray:
    """(2 * 2 * K, types): the cell [z][t][level] that each type shows at each z."""
    rows = np.zeros((2, 2, k, len(every)))
    for s, (t0, t1, y0, y1) in enumerate(every):
        for z, t in ((0, t0), (1, t1)):
            rows[z, t, (y0, y1)[t], s] = 1
    return rows.reshape(4 * k, -1)


def solve(cost: np.ndarray, equal: np.ndarray, right: np.ndarray, less=None, at_most=None, bounds=(0, None)) -> float:
    """The least cost; nan if nothing is feasible."""
    found = linprog(cost, A_ub=less, b_ub=at_most, A_eq=equal, b_eq=right, bounds=bounds, method="highs")
    return float(found.fun) if found.status == 0 else np.nan


def ends(cost: np.ndarray, equal: np.ndarray, right: np.ndarray, less=None, at_most=None) -> tuple[float, float]:
    return solve(cost, equal, right, less, at_most), -solve(-cost, equal, right, less, at_most)


def ratio_ends(top: np.ndarray, bottom: np.ndarray, equal: np.ndarray, right: np.ndarray, less=None, at_most=None):
    """Ends of top @ p / bottom @ p (Charnes and Cooper): p = v / s with bottom @ v = 1."""
    wide = np.column_stack([equal, -right])
    wide = np.vstack([wide, np.r_[bottom, 0.0]])
    goal = np.r_[np.zeros(len(right)), 1.0]
    narrow = None if less is None else np.column_stack([less, -np.asarray(at_most)])
    zero = None if less is None else np.zeros(len(narrow))
    cost = np.r_[top, 0.0]
    found = [linprog(sign * cost, A_ub=narrow, b_ub=zero, A_eq=wide, b_eq=goal, method="highs") for sign in (1, -1)]
    low, high = ((each.fun if each.status == 0 else np.nan) for each in found)
    return float(low), np.inf if found[1].status == 3 else float(-high)


def mean_ends(law: np.ndarray, values: np.ndarray) -> dict[str, tuple[float, float]]:
    """Sharp ends of E Y(1), E Y(0), the effect and the risk ratio at a law [z][t][level]."""
    every = types(len(values))
    equal, right = observed(every, len(values)), law.ravel()
    y0, y1 = values[every[:, 2]], values[every[:, 3]]
    return {
        "EY1": ends(y1, equal, right),
        "EY0": ends(y0, equal, right),
        "ATE": ends(y1 - y0, equal, right),
        "RR": ratio_ends(y1, y0, equal, right),
    }


def possible(law: np.ndarray) -> bool:
    every = types(law.shape[-1])
    return not np.isnan(solve(np.zeros(len(every)), observed(every, law.shape[-1]), law.ravel()))


def random_types(rng: np.random.Generator, k: int, sparse: float = 0.15) -> np.ndarray:
    """Shares of types; about a third of the laws lie on the boundary, where many shares are exactly zero."""
    n = 4 * k * k
    shares = rng.dirichlet(np.full(n, rng.choice([sparse, 0.5, 2.0])))
    if rng.random() < 1 / 3:
        shares = shares * (rng.random(n) < 0.4)
        shares = shares if shares.sum() > 0 else np.eye(n)[rng.integers(n)]
    return shares / shares.sum()
