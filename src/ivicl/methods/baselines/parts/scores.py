"""Scores of the covariate-adjusted Balke-Pearl bounds: one number per row, whose mean is the estimate.

Shapes: n rows; p (n, 2, 2, 2) indexed [z][t][y] is P(T=t, Y=y | Z=z, x); e (n,) is P(Z=1 | x). Each bound is a
maximum of eight affine functions of p (an upper bound is minus the maximum of eight). Every function here works on
"values" v (n, 8), the eight terms at the estimated p, and "psi" (n, 8), the same terms at the scores of p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, softmax

from ivicl.identification.balke_pearl import terms

N_TERMS = 8
# max over the margins d of 7 d exp(-d) / (1 + 7 exp(-d)): how far sm_b can fall below the maximum, times b.
SOFTMAX_GAP = 0.9731


@dataclass(frozen=True)
class EndScores:
    """Scores of the two ends of the identified set, one per row."""

    lower: np.ndarray
    upper: np.ndarray


def cell_scores(p: np.ndarray, e: np.ndarray, z: np.ndarray, t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Uncentred efficient scores of p: p + 1{Z=z} / e_z (1{T=t, Y=y} - p), of p's shape.

    For each z they sum to one over (t, y), as p does, so any affine form of a bound gives the same score.
    """
    rows = np.arange(len(z))
    arm = np.asarray(z, dtype=np.intp)
    indicator = np.zeros((len(rows), 2, 2))
    indicator[rows, np.asarray(t, dtype=np.intp), np.asarray(y, dtype=np.intp)] = 1.0
    own_propensity = np.where(arm == 1, e, 1.0 - e)
    psi = np.array(p, dtype=float)
    psi[rows, arm] += (indicator - p[rows, arm]) / own_propensity[:, None, None]
    return psi


def margin_score(values: np.ndarray, psi: np.ndarray) -> np.ndarray:
    """Score of E max_j v_j when the largest term is unique for almost every x (Levis et al., margin form)."""
    best = np.argmax(values, axis=-1)
    return np.take_along_axis(psi, best[:, None], axis=-1)[:, 0]


def logsumexp_score(values: np.ndarray, psi: np.ndarray, sharpness: float) -> np.ndarray:
    """Score of E g_s(v), g_s = log(sum_j exp(s v_j)) / s, which exceeds the maximum by at most log(8) / s."""
    weights = softmax(sharpness * values, axis=-1)
    score: np.ndarray = logsumexp(sharpness * values, axis=-1) / sharpness + (weights * (psi - values)).sum(-1)
    return score


def softmax_score(values: np.ndarray, psi: np.ndarray, beta: float) -> np.ndarray:
    """Score of E sm_b(v), sm_b = sum_j softmax(b v)_j v_j, which falls short of the maximum by at most 0.973 / b."""
    weights = softmax(beta * values, axis=-1)
    smooth_max = (weights * values).sum(-1)
    gradient = weights * (1.0 + beta * (values - smooth_max[:, None]))
    score: np.ndarray = smooth_max + (gradient * (psi - values)).sum(-1)
    return score


def end_scores(
    p: np.ndarray,
    e: np.ndarray,
    z: np.ndarray,
    t: np.ndarray,
    y: np.ndarray,
    form: str = "margin",
    sharpness: float | None = None,
) -> EndScores:
    """Scores of both ends; form is "margin", "logsumexp" or "softmax" (the last two need their sharpness)."""
    lower_values, upper_values = terms(p)
    lower_psi, upper_psi = terms(cell_scores(p, e, z, t, y))

    def of_maximum(values: np.ndarray, psi: np.ndarray) -> np.ndarray:
        if form == "margin":
            return margin_score(values, psi)
        smooth = {"logsumexp": logsumexp_score, "softmax": softmax_score}[form]
        return smooth(values, psi, float(sharpness if sharpness is not None else np.nan))

    return EndScores(of_maximum(lower_values, lower_psi), -of_maximum(-upper_values, -upper_psi))


def default_sharpness(n: float) -> float:
    """n^(1/4) log n: it grows, so that the smoothing bias vanishes, but slower than the nuisances' error allows."""
    return float(n**0.25 * np.log(max(n, 3.0)))
