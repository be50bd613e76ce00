"""The best standard errors that an estimator of the ends given X can have, whatever it does with the covariates.

At each x an end is a linear function of the law, so an efficient estimator adds up scores, one per person: the
coefficient of the cell that the person falls into, minus its mean, divided by the probability of the person's arm.
The scores' variance, averaged over the rows, is the smallest possible. Scores are linear in the outcome, so they are
stored as their values at y = 0 and y = 1, in arrays (N, 2, 2, 2) indexed [z][t][y].
"""

from __future__ import annotations

import numpy as np

from ivicl.benchmarks.efficiency.laws import BINARY_VALUES, Seen, true_ends
from ivicl.identification.amounts import MeanEnds, mean_ends

STEP = 1e-5
"""How much of a law is moved to differentiate. The ends are linear between kinks, so any small step is exact."""
ENDS = ("treated_lower", "treated_upper", "untreated_lower", "untreated_upper")


def efficient_se(seen: Seen, n: int) -> dict[str, tuple[float, float]]:
    """The best standard errors of the lower and the upper end, by estimand, for n people.

    P(Z | x) is taken as unknown, which matters for the estimands that weigh people by it. For "LATE" the two are equal.
    """
    return {
        name: (_error(seen, lower, n), _error(seen, upper, n))
        for name, (lower, upper) in efficient_scores(seen).items()
    }


def efficient_scores(seen: Seen) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The scores of both ends, by estimand: the truth plus their mean is an oracle's estimate of an end."""
    over_arm = 1 / seen.arms[:, :, None, None]
    ends = {name: derivative * over_arm for name, derivative in _derivatives(seen.soft).items()}
    truth = true_ends(seen)
    t, y = np.broadcast_arrays(np.arange(2.0)[:, None], np.arange(2.0))
    mean_t, mean_y = seen.shares[:, :, 1], seen.means.sum(axis=2)
    # Scores of E Y and of P(T=1). They are plain means over people, and so need no weights for P(Z | x).
    outcome = y - seen.over_arms(mean_y)[:, None, None, None] + np.zeros_like(seen.soft)
    treated = t - seen.over_arms(mean_t)[:, None, None, None] + np.zeros_like(seen.soft)
    share = float(seen.over_arms(mean_t).mean())
    sign = np.array([-1.0, 1.0])[:, None, None]
    effect, moved = (
        sign * (values - means[:, :, None, None]) * over_arm for values, means in ((y, mean_y), (t, mean_t))
    )

    def on_treated(end: np.ndarray, value: float) -> np.ndarray:
        score: np.ndarray = (outcome - end - value * treated) / share
        return score

    def on_untreated(end: np.ndarray, value: float) -> np.ndarray:
        score: np.ndarray = (end - outcome + value * treated) / (1 - share)
        return score

    late = (effect - truth["LATE"][0] * moved) / float((mean_t[:, 1] - mean_t[:, 0]).mean())
    return {
        "ATE": (
            ends["treated_lower"] - ends["untreated_upper"],
            ends["treated_upper"] - ends["untreated_lower"],
        ),
        "EY1": (ends["treated_lower"], ends["treated_upper"]),
        "EY0": (ends["untreated_lower"], ends["untreated_upper"]),
        "ATT": (
            on_treated(ends["untreated_upper"], truth["ATT"][0]),
            on_treated(ends["untreated_lower"], truth["ATT"][1]),
        ),
        "ATU": (
            on_untreated(ends["treated_lower"], truth["ATU"][0]),
            on_untreated(ends["treated_upper"], truth["ATU"][1]),
        ),
        "LATE": (late, late),
    }


def _derivatives(soft: np.ndarray) -> dict[str, np.ndarray]:
    """By end, (N, 2, 2, 2): the end's derivative when a share of an arm's people moves to one of the arm's cells."""
    at = mean_ends(soft, BINARY_VALUES)
    found = {name: np.empty_like(soft) for name in ENDS}
    for z, t, y in np.ndindex(2, 2, 2):
        moved = soft.copy()
        moved[:, z] *= 1 - STEP
        moved[:, z, t, y] += STEP
        there = mean_ends(moved, BINARY_VALUES)
        for name in ENDS:
            found[name][:, z, t, y] = _change(at, there, name)
    return found


def _change(at: MeanEnds, there: MeanEnds, name: str) -> np.ndarray:
    change: np.ndarray = (getattr(there, name) - getattr(at, name)) / STEP
    return change


def _error(seen: Seen, score: np.ndarray, n: int) -> float:
    """The standard error of a mean of scores over n people, from E[score^2 | x] averaged over the rows."""
    at_zero, slope = score[..., 0], score[..., 1] - score[..., 0]
    square = at_zero**2 * seen.shares + 2 * at_zero * slope * seen.means + slope**2 * seen.squares
    return float(np.sqrt(seen.over_arms(square.sum(axis=2)).mean() / n))
