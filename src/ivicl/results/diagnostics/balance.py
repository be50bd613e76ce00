"""Are the arms alike in their covariates? Differences, and one test of all of them that knows how people were assigned.

With strata, people are compared within them. Under a design the same statistic is compared with its variation under the
design: over permutations of people, or of whole clusters, within strata; or, if clusters have people of both arms or
there are sampling weights, from the sums over clusters or people. By Rao and Scott's correction, the statistic divided
by the sum of its eigenvalues has an F distribution. Its first degrees of freedom are how many equal eigenvalues these
are worth; the second are those of the estimated variance: from the number of clusters, or Satterthwaite's, which are
few if a few people with large sampling weights make up most of it.
Shapes: N rows, D covariates.
"""

from __future__ import annotations

import math

import numpy as np

from ivicl._shared.special import chi_squared_tail, f_tail
from ivicl.data import IVData
from ivicl.methods.design.variance import Draws
from ivicl.results.diagnostics.covariates import standardised_rows, varying
from ivicl.results.diagnostics.records import Balance

SEPARATED = 99.0
"""How many standard deviations stand for infinitely many: the covariate has one value in each arm."""
ENDLESS = 1e6
"""This many degrees of freedom are as good as infinite."""


def balance(data: IVData) -> Balance | None:
    """Standardised differences in means of the covariates between the arms, and one test of all of them together."""
    # Of very many rows some are chosen, but a design needs them all, since clusters must stay whole.
    x, z, mass = standardised_rows(data) if data.design is None else standardised_rows(data, most=math.inf)
    if not x.shape[1]:
        return None
    names = [name for name, kept in zip(data.covariates, varying(data.x), strict=True) if kept]
    spread = []
    for arm in (0.0, 1.0):
        share = mass * (z == arm)
        share = share / share.sum()
        spread.append(share @ (x - share @ x) ** 2)
    pooled = np.sqrt((spread[0] + spread[1]) / 2)
    draws = None if data.design is None else Draws.of(data)
    if draws is not None and _holds_both_arms(z, draws.level // 2):
        x, z = _centred(x, draws.level // 2, mass), _centred(z[:, None], draws.level // 2, mass)[:, 0]
    side = z - mass @ z / mass.sum()
    difference = (mass * side) @ x / (mass @ side**2)
    # A covariate that is constant within both arms but differs between them has an infinite difference.
    size = np.divide(
        difference, pooled, out=np.where(difference == 0, 0.0, np.sign(difference) * SEPARATED), where=pooled > 1e-9
    )
    size = np.clip(size, -SEPARATED, SEPARATED)
    largest = int(np.abs(size).argmax())
    return Balance(
        standardised_differences={name: float(s) for name, s in zip(names, size, strict=True)},
        largest=float(abs(size[largest])),
        largest_column=names[largest],
        p_value=_omnibus(x, side, mass, data, draws),
    )


def _holds_both_arms(z: np.ndarray, strata: np.ndarray) -> bool:
    """Whether some stratum has both arms; if none does, people cannot be compared within strata, only all together."""
    people, assigned = np.bincount(strata), np.bincount(strata, z)
    return bool(((assigned > 0) & (assigned < people)).any())


def _centred(values: np.ndarray, strata: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Values minus the mean of their stratum."""
    people = np.bincount(strata, mass)
    means = np.stack([np.bincount(strata, mass * column) / people for column in values.T], axis=1)
    centred: np.ndarray = values - means[strata]
    return centred


def _omnibus(x: np.ndarray, side: np.ndarray, mass: np.ndarray, data: IVData, draws: Draws | None) -> float:
    """P-value of the score test that no covariate is associated with Z.

    For independent people, n R^2 of the regression of Z on X is chi-squared.
    """
    spread = (mass @ side**2) / mass.sum()
    values, vectors = np.linalg.eigh((x * mass[:, None]).T @ x)
    used = values > 1e-9 * max(values.max(), 1e-300)
    if spread <= 0 or not used.any():
        return 1.0
    # In these directions the score of independent people has the unit matrix as its covariance.
    turned = x @ (vectors[:, used] / np.sqrt(values[used] * spread))
    score = (mass * side) @ turned
    statistic = float(score @ score)
    if draws is None:
        return chi_squared_tail(statistic, int(used.sum()))
    eigenvalues, degrees = _under_design(turned, side, mass, data, draws)
    total = eigenvalues.sum()
    if total <= 1e-12:
        return 1.0
    return f_tail(statistic / total, _worth(eigenvalues), min(degrees, ENDLESS))


def _under_design(
    turned: np.ndarray, side: np.ndarray, mass: np.ndarray, data: IVData, draws: Draws
) -> tuple[np.ndarray, float]:
    """Eigenvalues of the score's covariance, and the degrees of freedom with which their sum is known."""
    cluster, own = draws.cluster, (mass / data.w)[:, None]  # `own` is the mass of one person, and a row has w of them
    sampled = data.design is not None and data.design.sampling is not None
    if sampled or (cluster is not None and not draws.by_cluster):
        if cluster is None:
            score = turned * own * side[:, None]
            return _eigenvalues((score * data.w[:, None]).T @ score), _satterthwaite((score**2).sum(1), data.w)
        sums = _by_cluster(turned * (mass * side)[:, None], cluster)
        clusters, groups = len(sums), len(np.unique(draws.group))
        eigenvalues = _eigenvalues(sums.T @ sums) * clusters / (clusters - 1)
        return eigenvalues, _worth(eigenvalues) * max(float(clusters - groups), 1.0)
    if cluster is None:
        values, copies, stratum, arm = turned, data.w, draws.level // 2, data.z
    else:
        values = _by_cluster(turned * mass[:, None], cluster)
        copies, stratum, arm = np.ones(len(values)), draws.group // 2, (draws.group % 2).astype(np.float64)
    covariance = np.zeros((turned.shape[1], turned.shape[1]))
    for block in np.unique(stratum):
        here = stratum == block
        size, ones = copies[here].sum(), (copies * arm)[here].sum()
        # The covariance of the assigned people's sum over all permutations of who is assigned; all values sum to zero.
        covariance += ones * (size - ones) / (size * (size - 1)) * (values[here] * copies[here, None]).T @ values[here]
    return _eigenvalues(covariance), math.inf


def _worth(eigenvalues: np.ndarray) -> float:
    """How many equal eigenvalues they are worth."""
    return float(eigenvalues.sum() ** 2 / max(float((eigenvalues**2).sum()), 1e-300))


def _satterthwaite(parts: np.ndarray, people: np.ndarray) -> float:
    """Degrees of freedom of a sum of parts, one per person: twice its square divided by its variance."""
    total = float(people @ parts)
    variance = float(people @ (parts - total / people.sum()) ** 2)
    return 2 * total**2 / variance if variance > 0 else math.inf


def _by_cluster(values: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    sums = np.zeros((int(cluster.max()) + 1, values.shape[1]))
    np.add.at(sums, cluster, values)
    return sums


def _eigenvalues(matrix: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.maximum(np.linalg.eigvalsh(matrix), 0.0)
    return found
