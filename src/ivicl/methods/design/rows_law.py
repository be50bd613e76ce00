"""The law at each row: the one that a method found there, or else a ridge regression's.

The network's law at a row is a fit that never used the person. If it is not known, or would have used others of the
person's cluster, the soft cells are regressed on the covariates, with one ridge per arm, whose fit never used the
person or anybody of the same cluster. It need not be the best law: its errors make the scores wider, both in the
variance under the design and in that of independent people.
Shapes: N rows, D covariates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl._shared.scaling import standardise
from ivicl.data import IVData
from ivicl.identification.laws import arm_means, soft_law
from ivicl.methods.row_laws import RowLaws

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Ridge penalties, in people per covariate: of n people, a slope is shrunk by n / (n + penalty * D)."""
FOLDS = 10
"""Into how many groups, left out in turn, clusters are divided."""
LEAST_CHANCE = 0.02
_LEAST = 1e-4


@dataclass(frozen=True)
class RowsLaw:
    """Soft laws (N, 2, 2, 2) [z][t][y] and P(Z=1 | x) (N,) at the rows; one entry each if they do not vary."""

    law: np.ndarray
    chance: np.ndarray
    learner: str = "ridge regression"
    """What the law was learnt by, if it varies."""


def rows_law(data: IVData, known: RowLaws | None = None) -> RowsLaw:
    """The law at the rows; `known` is what a method found at its own rows, which are the data's rows, merged."""
    varies = bool(data.x.shape[1]) and bool((data.x != data.x[:1]).any())
    if not varies:
        return one_law(data)
    clustered = data.design is not None and data.design.cluster is not None
    found = None if known is None or clustered else _known_law(data, known)
    return found or _ridge_law(data)


def _known_law(data: IVData, known: RowLaws) -> RowsLaw | None:
    """The method's own law, mapped back to the data's rows; None if it did not see all of them."""
    import polars as pl

    def keyed(x: np.ndarray, z: np.ndarray, t: np.ndarray, y: np.ndarray) -> pl.DataFrame:
        columns = {f"x{j}": x[:, j] for j in range(x.shape[1])} | {"z": z, "t": t}
        # Yes and no are separate rows; people who differ only in an amount are one row.
        return pl.DataFrame(columns | ({"y": np.clip(y, 0.0, 1.0)} if yes_no else {}))

    yes_no = bool(((known.y == 0) | (known.y == 1)).all())
    seen = keyed(known.x, known.z, known.t, known.y)
    rows = keyed(data.x, data.z, data.t, data.y01)
    at = rows.join(seen.with_row_index("place"), on=seen.columns, how="left", maintain_order="left")["place"]
    if len(at) != len(rows) or at.null_count():
        return None
    place = at.to_numpy()
    law = _simplex(known.law[place].reshape(-1, 4)).reshape(-1, 2, 2, 2)
    return RowsLaw(law, np.clip(known.propensity[place], LEAST_CHANCE, 1 - LEAST_CHANCE), "the network")


def one_law(data: IVData) -> RowsLaw:
    """The law without covariates: the same for everybody."""
    mass = data.mass
    law = soft_law(*arm_means(data.z, data.t, data.y01, mass))
    return RowsLaw(law[None], np.array([mass @ data.z / mass.sum()]))


def _ridge_law(data: IVData) -> RowsLaw:
    plain, mass = one_law(data), data.mass
    x = standardise(data.x, mass)
    inside = np.zeros(len(x)) if data.v is None else data.v
    cells = np.zeros((len(x), 4))
    place = 2 * data.t.astype(np.intp)
    cells[np.arange(len(x)), place] = 1 - data.y01
    cells[np.arange(len(x)), place + 1] = data.y01
    fold = _folds(data)
    person = mass / data.w
    fitted = []
    for arm in (0, 1):
        here, mean = data.z == arm, plain.law[0, arm].ravel()
        fitted.append(_simplex(_ridge(x, cells, mass * here, person * here, fold, mean, inside)))
    chance = _ridge(x, data.z[:, None], mass, person, fold, plain.chance, np.zeros(len(x)))[:, 0]
    law = np.stack(fitted, axis=1).reshape(-1, 2, 2, 2)
    return RowsLaw(law, np.clip(chance, LEAST_CHANCE, 1 - LEAST_CHANCE))


def _folds(data: IVData) -> np.ndarray | None:
    """The fold of each row, with clusters dealt out in their order; None if people are left out one by one."""
    if data.design is None or data.design.cluster is None:
        return None
    codes = np.unique(data.design.cluster, return_inverse=True)[1].ravel()
    return codes % min(FOLDS, int(codes.max()) + 1)


def _ridge(
    x: np.ndarray,
    target: np.ndarray,
    mass: np.ndarray,
    person: np.ndarray,
    fold: np.ndarray | None,
    mean: np.ndarray,
    inside: np.ndarray,
) -> np.ndarray:
    """Fits (N, k) that never used the person, at the penalty whose fits have the least squared error.

    `mass` is zero for rows that are not learnt from; `person` is the mass of one person of the row; `inside` is the
    variance of the outcome among the row's people, which two of the targets have.
    """
    features, target = np.column_stack([np.ones(len(x)), x]), target - mean
    best, least = np.zeros_like(target), float(mass @ ((target**2).sum(1) + 2 * inside))
    blocks = [np.ones(len(x), bool)] if fold is None else [fold == k for k in range(int(fold.max()) + 1)]
    grams = np.stack([(features[b] * mass[b, None]).T @ features[b] for b in blocks])
    moments = np.stack([(features[b] * mass[b, None]).T @ target[b] for b in blocks])
    for penalty in PENALTIES:
        ridge = penalty * x.shape[1] * np.eye(features.shape[1])
        ridge[0, 0] = 1e-9 * mass.sum()
        if fold is None:
            solver = np.linalg.inv(grams[0] + ridge)
            fit = features @ (solver @ moments[0])
            share = np.minimum(person * ((features @ solver) * features).sum(1), 0.95)[:, None]
            apart = 2 * inside / (1 - share[:, 0]) ** 2  # people away from their row's mean have other left-out fits
            fit = (fit - share * target) / (1 - share)
        else:
            fit, apart = np.empty_like(target), 2 * inside
            for k, block in enumerate(blocks):
                solved = np.linalg.solve(grams.sum(0) - grams[k] + ridge, moments.sum(0) - moments[k])
                fit[block] = features[block] @ solved
        error = float(mass @ (((target - fit) ** 2).sum(1) + apart))
        if error < least:
            best, least = fit, error
    found: np.ndarray = best + mean
    return found


def _simplex(fit: np.ndarray) -> np.ndarray:
    fit = np.maximum(fit, _LEAST)
    law: np.ndarray = fit / fit.sum(1, keepdims=True)
    return law
