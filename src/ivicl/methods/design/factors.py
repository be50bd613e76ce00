"""How many people a table is worth, for each end: n V0 / V, where V is the variance of the end under the design.

V0 is the variance with as many independent people with the same outcomes: without a design the factor is exactly 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ivicl.data import IVData
from ivicl.identification.end_scores import EFFECT_ENDS, EndScores, end_scores, noise
from ivicl.methods.design.rows_law import RowsLaw, one_law, rows_law
from ivicl.methods.design.variance import mean_variance


@dataclass(frozen=True)
class Factors:
    """One entry for each quantity asked for."""

    factor: np.ndarray
    """(Q,) the table is worth n times this many people."""
    degrees: np.ndarray
    """(Q,) degrees of freedom of the variance: infinite without clusters."""
    variance: np.ndarray
    """(Q,) variance of the quantity under the design, for the outcome scaled to [0, 1]."""
    scores: EndScores | None = None
    """The scores that it was computed from; None if there is no design."""


def design_factors(data: IVData, which: tuple[int, ...] = EFFECT_ENDS, law: RowsLaw | None = None) -> Factors:
    """The factors of one data set.

    Args:
        data: the people, with their design.
        which: places in `end_scores.QUANTITIES`.
        law: the law at the rows; the one of `rows_law` when None.
    """
    if data.design is None:
        return Factors(np.ones(len(which)), np.full(len(which), np.inf), np.full(len(which), np.nan))
    if law is None:
        # Merge first, so that raw rows and merged ones give the same: fits at rows are not linear in the outcomes.
        data = data.by_moments()
        law = rows_law(data)
    found = _factors(data, which, law, worth=1.0)
    # Terms are compared by their noise, which depends on how many people the first answer says the data are worth.
    return _factors(data, which, law, worth=min(1.0, found.factor.min()))


def _factors(data: IVData, which: tuple[int, ...], law: RowsLaw, worth: float) -> Factors:
    mass, y01 = data.mass, data.y01
    arms = np.array([mass[data.z == 0].sum(), mass[data.z == 1].sum()])
    scores = end_scores(law.law, law.chance, data.z, data.t, y01, mass, which, noise(worth * arms))
    n = float(data.w.sum())
    inside = 0.0 if data.v is None else scores.slope**2 * data.v[:, None]
    independent = mass @ (_centred(scores.score, data, mass) ** 2 + inside) / n**2
    variance, degrees = _under_design(scores, data)
    known = variance > 1e-12 * independent
    factor = np.where(known, independent / np.where(known, variance, 1.0), 1.0)
    # A design that changes nothing must give exactly 1, whatever the rounding.
    return Factors(np.where(np.abs(factor - 1) < 1e-9, 1.0, factor), degrees, variance, scores)


def _centred(score: np.ndarray, data: IVData, mass: np.ndarray) -> np.ndarray:
    """Scores minus the mean of their arm, as in the variance under a design."""
    arms = np.stack([data.z == 0, data.z == 1], axis=1) * mass[:, None]
    means = arms.T @ score / arms.sum(0)[:, None]
    centred: np.ndarray = score - means[data.z.astype(np.intp)]
    return centred


def _under_design(scores: EndScores, data: IVData) -> tuple[np.ndarray, np.ndarray]:
    """Variances and their degrees of freedom. Clusters never make people worth more."""
    design = data.design
    # With sampling weights the answer is about the population: then it is uncertain, too, who was drawn.
    drawn = scores.score + scores.at_x if design is not None and design.sampling is not None else scores.score
    people = mean_variance(drawn, data, clusters=False, slope=scores.slope)
    if design is None or design.cluster is None:
        return people.variance, people.degrees
    together = mean_variance(drawn, data)
    return np.maximum(together.variance, people.variance), together.degrees


def effective(data: IVData) -> IVData:
    """The population with as many people as the data are worth, but at most as many as there are, for formulas that
    treat people as independent. Without a design these are the data themselves."""
    if data.design is None:
        return data
    everybody = data.filled()
    worth = min(1.0, float(design_factors(everybody, law=one_law(everybody)).factor.min()))
    whole = data.population()
    lost = None if whole.lost is None else replace(whole.lost, w=whole.lost.w * worth)
    return replace(whole, w=whole.w * worth, lost=lost)
