"""The law at each row: the seam through which a network that returns one will give it.

Until then it is a ridge regression of the soft cells on the covariates, one for each arm, whose fit to a person never
used that person, or anybody of the same cluster. It need not be the best law: what is wrong with it makes the scores
wider, in the variance under the design and in that of independent people alike.
N rows, D covariates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl._shared.scaling import standardise
from ivicl.data import IVData
from ivicl.identification.laws import arm_means, soft_law

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
"""In units of the covariates: a standardised column with its people is worth its people over this much."""
FOLDS = 10
"""Groups of clusters that are left out together."""
LEAST_CHANCE = 0.02
_LEAST = 1e-4


@dataclass(frozen=True)
class RowsLaw:
    """Soft laws (N, 2, 2, 2) [z][t][y] and P(Z=1 | x) (N,) at the rows; one entry each where they do not vary."""

    law: np.ndarray
    chance: np.ndarray


def rows_law(data: IVData, adjust: bool = True) -> RowsLaw:
    """The law at the rows. This line is where a network's own law comes in: `return model.rows_law(data)`."""
    varies = bool(data.x.shape[1]) and bool((data.x != data.x[:1]).any())
    return _ridge_law(data) if adjust and varies else one_law(data)


def one_law(data: IVData) -> RowsLaw:
    """The law without covariates: the same for everybody."""
    mass = data.mass
    law = soft_law(*arm_means(data.z, data.t, data.y01, mass))
    return RowsLaw(law[None], np.array([mass @ data.z / mass.sum()]))


def _ridge_law(data: IVData) -> RowsLaw:
    plain, mass = one_law(data), data.mass
    x = standardise(data.x, mass)
    cells = np.zeros((len(x), 4))
    place = 2 * data.t.astype(np.intp)
    cells[np.arange(len(x)), place] = 1 - data.y01
    cells[np.arange(len(x)), place + 1] = data.y01
    fold = _folds(data)
    person = mass / data.w
    fitted = []
    for arm in (0, 1):
        here = mass * (data.z == arm)
        fitted.append(_simplex(_ridge(x, cells, here, person * (data.z == arm), fold, plain.law[0, arm].ravel())))
    chance = _ridge(x, data.z[:, None], mass, person, fold, plain.chance)[:, 0]
    law = np.stack(fitted, axis=1).reshape(-1, 2, 2, 2)
    return RowsLaw(law, np.clip(chance, LEAST_CHANCE, 1 - LEAST_CHANCE))


def _folds(data: IVData) -> np.ndarray | None:
    """Clusters dealt out in their order; None where people are left out one by one."""
    if data.design is None or data.design.cluster is None:
        return None
    codes = np.unique(data.design.cluster, return_inverse=True)[1].ravel()
    return codes % min(FOLDS, int(codes.max()) + 1)


def _ridge(
    x: np.ndarray, target: np.ndarray, mass: np.ndarray, person: np.ndarray, fold: np.ndarray | None, mean: np.ndarray
) -> np.ndarray:
    """Fits (N, k) that never used the person, at the penalty whose fits have the least squared error.

    `mass` is zero for rows that do not teach; `person` is the mass of one person of the row.
    """
    features, target = np.column_stack([np.ones(len(x)), x]), target - mean
    best, least = np.zeros_like(target), float(mass @ (target**2).sum(1))
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
            fit = (fit - share * target) / (1 - share)
        else:
            fit = np.empty_like(target)
            for k, block in enumerate(blocks):
                solved = np.linalg.solve(grams.sum(0) - grams[k] + ridge, moments.sum(0) - moments[k])
                fit[block] = features[block] @ solved
        error = float(mass @ ((target - fit) ** 2).sum(1))
        if error < least:
            best, least = fit, error
    found: np.ndarray = best + mean
    return found


def _simplex(fit: np.ndarray) -> np.ndarray:
    fit = np.maximum(fit, _LEAST)
    law: np.ndarray = fit / fit.sum(1, keepdims=True)
    return law
