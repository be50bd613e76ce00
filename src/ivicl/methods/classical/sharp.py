"""The same bounds as linear programs: an independent check of the closed form, and sharp bounds for K-level outcomes.

Shapes: K levels. For a K-level outcome the unknowns are f[t][s][k] = P(stratum s, Y(t) = k) for the four compliance
types s (always, never, complier, defier): 8 K numbers, not the 4 K^2 joint strata, because the effect and the law only
see one potential outcome at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.data import IVData
from ivicl.data.encoding import weighted_quantile
from ivicl.errors import InputError
from ivicl.identification.inequalities import check, warning_of
from ivicl.methods.base import NO_SAMPLING_ERROR, Estimates, Method, MethodBounds, Request

ALWAYS, NEVER, COMPLIER, DEFIER = range(4)

# Who shows Y(t) in arm z with T = t.
SHOWN = {(1, 1): (ALWAYS, COMPLIER), (0, 1): (ALWAYS, DEFIER), (1, 0): (NEVER, DEFIER), (0, 0): (NEVER, COMPLIER)}


def strata_program(p: np.ndarray) -> tuple[float, float]:
    """Ends of the identified set of one binary law p[z][t][y] by the program on the 16 strata."""
    from scipy.optimize import linprog

    strata = np.arange(16)
    takes = np.stack([strata >> 3 & 1, strata >> 2 & 1])
    outcome = np.stack([strata >> 1 & 1, strata & 1])
    rows, values = [], []
    for z in (0, 1):
        shown = outcome[takes[z], strata]
        for t in (0, 1):
            for y in (0, 1):
                rows.append((takes[z] == t) & (shown == y))
                values.append(p[z][t][y])
    effect = (outcome[1] - outcome[0]).astype(float)
    ends = []
    for sign in (1, -1):
        solved = linprog(sign * effect, A_eq=np.array(rows, float), b_eq=values, bounds=(0, 1), method="highs")
        if solved.status != 0:
            raise InputError("no strata have this law: it violates an instrumental inequality.")
        ends.append(sign * solved.fun)
    return float(ends[0]), float(ends[1])


def level_program(p: np.ndarray, low_values: np.ndarray, high_values: np.ndarray) -> tuple[float, float, float]:
    """Ends of the identified set for a law p[z][t][k] on K levels, and how far the law had to be moved to be feasible.

    A level is an interval of outcomes [low_values[k], high_values[k]], a point when the outcome is discrete; the
    bounds hold wherever in the interval the outcomes lie. An infeasible sample law is first moved to the nearest
    feasible one in total variation, also by a linear program.
    """
    from scipy.optimize import linprog

    k = p.shape[-1]
    # The solver works to an absolute tolerance, so it sees outcomes between 0 and 1; a shift does not change an effect.
    base, span = low_values[0], high_values[-1] - low_values[0]
    low_values, high_values = (low_values - base) / span, (high_values - base) / span
    equalities, targets = _level_constraints(p)
    n_law = 4 * k
    # First program: slack e+ and e- on the law; minimise their sum.
    slack = np.zeros((len(equalities), 2 * n_law))
    slack[:n_law, :n_law], slack[:n_law, n_law:] = np.eye(n_law), -np.eye(n_law)
    cost = np.concatenate([np.zeros(8 * k), np.ones(2 * n_law)])
    fit = linprog(cost, A_eq=np.hstack([equalities, slack]), b_eq=targets, bounds=(0, None), method="highs")
    if fit.status != 0:
        raise RuntimeError(f"the linear program of the nearest law failed: {fit.message}")
    law = equalities[:n_law] @ fit.x[: 8 * k]
    targets = np.concatenate([law, targets[n_law:]])
    per_stratum = np.ones(4)
    ends = []
    for sign, y1, y0 in ((1, low_values, high_values), (-1, high_values, low_values)):
        objective = np.concatenate([np.kron(per_stratum, -y0), np.kron(per_stratum, y1)])
        solved = linprog(sign * objective, A_eq=equalities, b_eq=targets, bounds=(0, None), method="highs")
        if solved.status != 0:
            raise RuntimeError(f"the linear program of the sharp bounds failed: {solved.message}")
        ends.append(sign * solved.fun)
    return span * float(ends[0]), span * float(ends[1]), float(fit.fun) / 2


def _level_constraints(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows on f, flattened as [t][stratum][k]: first the 4 K of the law, then equal masses of f[0][s] and f[1][s]."""
    k = p.shape[-1]
    index = np.arange(8 * k).reshape(2, 4, k)
    rows, targets = [], []
    for z in (0, 1):
        for t in (0, 1):
            for level in range(k):
                row = np.zeros(8 * k)
                row[index[t, list(SHOWN[z, t]), level]] = 1.0
                rows.append(row)
                targets.append(p[z, t, level])
    for stratum in range(4):
        row = np.zeros(8 * k)
        row[index[1, stratum]], row[index[0, stratum]] = 1.0, -1.0
        rows.append(row)
        targets.append(0.0)
    return np.array(rows), np.array(targets)


def level_law(data: IVData, most_levels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """The law on levels [z][t][k], the levels' low and high values, and whether outcomes had to be grouped.

    The ends of the outcome's range are levels too, for an unseen outcome may lie there.
    """
    low, high = data.outcome_range
    values = np.unique(np.concatenate([[low], data.y, [high]]))
    if len(values) <= most_levels:
        place = np.searchsorted(values, data.y)
        low_values = high_values = values
        grouped = False
    else:
        cuts = np.unique(weighted_quantile(data.y, data.w, np.linspace(0, 1, most_levels + 1)[1:-1]))
        cuts = cuts[(cuts > low) & (cuts < high)]
        place = np.searchsorted(cuts, data.y, side="left")
        low_values, high_values = np.concatenate([[low], cuts]), np.concatenate([cuts, [high]])
        grouped = True
    k = len(low_values)
    cell = ((2 * data.z + data.t) * k + place).astype(np.int64)
    counts = np.bincount(cell, data.w, 4 * k).reshape(2, 2, k)
    return counts / counts.sum(axis=(1, 2), keepdims=True), low_values, high_values, grouped


@dataclass(frozen=True)
class SharpOptions:
    """How fine the outcome is taken."""

    levels: int = 64
    """More values than this are grouped, outwards."""

    def __post_init__(self) -> None:
        if not isinstance(self.levels, int) or self.levels < 2:
            raise InputError(f"levels must be a whole number of at least 2, but is {self.levels!r}.")


def bounds(data: IVData, request: Request) -> MethodBounds:
    """`method="sharp"`: sharp bounds for an outcome on K levels."""
    p, low_values, high_values, grouped = level_law(data, request.own.levels)
    lower, upper, moved = level_program(p, low_values, high_values)
    warnings = [NO_SAMPLING_ERROR]
    if grouped:
        warnings.append(
            f"the outcome's values were joined into {len(low_values)} groups; the bounds hold wherever inside its "
            "group an outcome lies, and are a little wider for it."
        )
    if data.covariates:
        warnings.append("method 'sharp' does not use covariates.")
    if moved > 1e-9:
        reason = warning_of(check(data)) or "the sample violates an instrumental inequality"
        warnings.append(f"{reason}; the bounds are those of the nearest law that satisfies it ({moved:.4f} away).")
    span = data.outcome_range[1] - data.outcome_range[0]
    estimates = Estimates(max(lower, -span), min(upper, span))
    details = {"n_levels": len(low_values), "law_moved": moved}
    return MethodBounds(
        estimates.lower, estimates.upper, estimates=estimates, warnings=tuple(warnings), details=details
    )


METHOD = Method(
    name="sharp",
    label="Sharp for levels",
    load=bounds,
    interval="estimate",
    summary="sharp bounds for outcomes on K levels",
    options=SharpOptions,
    colour="#087f5b",
)
