"""The bounds as linear programs: what the closed forms of `ivicl.identification` are checked against.

Shapes: K levels. For a K-level outcome the unknowns are f[t][s][k] = P(stratum s, Y(t) = k) for the four compliance
types s (always, never, complier, defier): 8 K numbers, not the 4 K^2 joint strata, because the means and the law only
see one potential outcome at a time.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from enumeration import EFFECT, compatible

ALWAYS, NEVER, COMPLIER, DEFIER = range(4)

# Who shows Y(t) in arm z with T = t.
SHOWN = {(1, 1): (ALWAYS, COMPLIER), (0, 1): (ALWAYS, DEFIER), (1, 0): (NEVER, DEFIER), (0, 0): (NEVER, COMPLIER)}


def random_laws(n: int, concentration: float, rng: np.random.Generator) -> np.ndarray:
    """(n, 2, 2, 2) possible binary laws, from Dirichlet strata."""
    strata = rng.dirichlet(np.full(16, concentration), n)
    laws = np.zeros((n, 2, 2, 2))
    for z, t, y in np.ndindex(2, 2, 2):
        laws[:, z, t, y] = strata[:, compatible(z, t, y)].sum(axis=1)
    return laws


def random_level_law(k: int, concentration: float, rng: np.random.Generator) -> np.ndarray:
    """A possible law [z][t][k], from Dirichlet strata of 4 types with two potential outcomes each."""
    types = rng.dirichlet(np.full(4 * k * k, concentration)).reshape(4, k, k)
    law = np.zeros((2, 2, k))
    for (z, t), shown in SHOWN.items():
        law[z, t] = types[list(shown)].sum(axis=(0, 2 - t))
    return law


def strata_program(p: np.ndarray) -> tuple[float, float]:
    """Ends of the identified set of one binary law p[z][t][y] by the program on the 16 strata."""
    rows, values = [], []
    for (z, t, y), value in np.ndenumerate(p):
        rows.append(np.isin(np.arange(16), compatible(z, t, y)))
        values.append(value)
    ends = []
    for sign in (1, -1):
        solved = linprog(sign * EFFECT, A_eq=np.array(rows, float), b_eq=values, bounds=(0, 1), method="highs")
        assert solved.status == 0, "no strata have this law: it violates an instrumental inequality"
        ends.append(sign * solved.fun)
    return float(ends[0]), float(ends[1])


def least_move(p: np.ndarray) -> float:
    """The least total variation, summed over the arms, from p[z][t][k] to a possible law."""
    equalities, targets = _constraints(p)
    n_law, n_unknown = p.size, equalities.shape[1]
    slack = np.zeros((len(equalities), 2 * n_law))
    slack[:n_law, :n_law], slack[:n_law, n_law:] = np.eye(n_law), -np.eye(n_law)
    whole = np.concatenate([np.repeat([0.0, 1.0], n_unknown // 2), np.zeros(2 * n_law)])  # the strata add up to one
    solved = linprog(
        np.concatenate([np.zeros(n_unknown), np.ones(2 * n_law)]),
        A_eq=np.vstack([np.hstack([equalities, slack]), whole]),
        b_eq=[*targets, 1.0],
        bounds=(0, None),
        method="highs",
    )
    assert solved.status == 0, solved.message
    return float(solved.fun) / 2


def level_program(p: np.ndarray, treated: np.ndarray | float, untreated: np.ndarray | float, *, largest: bool) -> float:
    """The least or largest sum over k of treated[k] P(Y(1)=k) - untreated[k] P(Y(0)=k), over all that have the law."""
    equalities, targets = _constraints(p)
    k = p.shape[-1]
    objective = np.concatenate([np.tile(-untreated * np.ones(k), 4), np.tile(treated * np.ones(k), 4)])
    sign = -1 if largest else 1
    solved = linprog(sign * objective, A_eq=equalities, b_eq=targets, bounds=(0, None), method="highs")
    assert solved.status == 0, solved.message
    return float(sign * solved.fun)


def _constraints(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows on f, flattened as [t][stratum][k]: first the 4 K of the law, then equal masses of f[0][s] and f[1][s]."""
    k = p.shape[-1]
    index = np.arange(8 * k).reshape(2, 4, k)
    rows, targets = [], []
    for (z, t, level), value in np.ndenumerate(p):
        row = np.zeros(8 * k)
        row[index[t, list(SHOWN[z, t]), level]] = 1.0
        rows.append(row)
        targets.append(value)
    for stratum in range(4):
        row = np.zeros(8 * k)
        row[index[1, stratum]], row[index[0, stratum]] = 1.0, -1.0
        rows.append(row)
        targets.append(0.0)
    return np.array(rows), np.array(targets)
