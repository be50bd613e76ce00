"""From data to relaxed ends: the curves behind `Sensitivity`, at the estimated law and with sampling error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ivicl.identification.estimands import Ends
from ivicl.identification.inequalities import nearest_law
from ivicl.identification.relaxations import most_defiers, relaxed_complier_effect, relaxed_effect
from ivicl.methods.base import IntervalKind
from ivicl.methods.design.rows_law import RowsLaw, rows_law
from ivicl.methods.estimand_bounds import EstimandBounds
from ivicl.methods.estimands import AVERAGE
from ivicl.methods.estimated_law import EstimatedLaw, estimate_law

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult
    from ivicl.results.source import Source

N_DRAWS = 4000
MOST_ROWS = 4000
"""If there are more rows, a sample of this many says as much about how far the ends move."""


@dataclass(frozen=True)
class Relaxation:
    """An assumption that may fail, and for which estimand."""

    kind: str
    title: str
    estimand: str
    share: str
    """Completes "unless ... "; {amount} is filled in."""
    holds: str
    """Completes "Even if ...": the assumption as it is usually made."""
    axis: str
    """What eps is, for a picture."""
    amounts: str = ""
    """Like `share`, for an outcome that is not binary; empty if it is the same."""
    within_covariates: bool = True
    """It can be computed in each cell of the covariates."""

    def ends(self, laws: np.ndarray, eps: np.ndarray, z_share: np.ndarray | float) -> Ends:
        if self.kind == "defiers":
            return relaxed_complier_effect(laws, eps)
        return relaxed_effect(laws, eps, z_share)


RELAXATIONS = {
    each.kind: each
    for each in (
        Relaxation(
            kind="exclusion",
            title="If the instrument acts on the outcome by itself",
            estimand="ATE",
            share="the instrument itself, other than through the treatment, changes the outcome of more than {amount} "
            "of people",
            holds="the instrument acts through the treatment alone",
            axis="People whose outcome the instrument changes by itself (%)",
            amounts="the instrument itself, other than through the treatment, moves the outcome by more than {amount} "
            "of its range, on average over people",
        ),
        Relaxation(
            kind="independence",
            title="If the arms of the instrument were not alike",
            estimand="ATE",
            share="the arms of the instrument differed from the start in more than {amount} of their people",
            holds="the arms of the instrument were alike",
            axis="People in whom the arms differ (%)",
        ),
        Relaxation(
            kind="defiers",
            title="If some people do the opposite of what the instrument suggests",
            estimand="LATE",
            share="more than {amount} of people do the opposite of what the instrument suggests",
            holds="nobody does the opposite of what the instrument suggests",
            axis="Defiers (% of people)",
            within_covariates=False,
        ),
    )
}


class Curves:
    """Ends against eps, in outcome units: `estimate(eps)` and `interval(eps)`, each two arrays of eps' length.

    If the result has an interval for the same estimand that allows for sampling error, the curves start from it and
    move as the ends do at the estimated law; otherwise they are those of the law itself. If the covariates have too
    many values for each to have its own law, both move as the ends do at the law of each person.
    """

    def __init__(self, result: BoundsResult, source: Source, relaxation: Relaxation) -> None:
        self.relaxation, self.alpha = relaxation, result.alpha
        self.span = result.outcome_range[1] - result.outcome_range[0]
        law = estimate_law(source.data, relaxation.within_covariates)
        if relaxation.kind == "defiers" and _first_stage(law) < 0:
            law = law.mirrored()
        self.law, self._laws = law, law.law()
        self._draws = law.draws(N_DRAWS, np.random.default_rng(source.random_state))
        self.rows: RowsLaw | None = None
        if relaxation.within_covariates and result.covariates and not law.adjusted:
            self.rows, self._mass = _laws_at_rows(source)
        own = _own_interval(result, relaxation)
        self.anchored = own is not None
        self.interval_kind: IntervalKind = own.interval if own else "credible"
        start = np.zeros(1)
        self._move_estimate, self._move_interval = np.zeros(2), np.zeros(2)
        if own is not None:
            self._move_interval = np.array([own.lower, own.upper]) - np.ravel(self.interval(start))
            if own.estimate_lower is not None:
                points = np.array([own.estimate_lower, own.estimate_upper])
                self._move_estimate = points - np.ravel(self.estimate(start))

    @property
    def learner(self) -> str:
        """What the law of each person was learnt by."""
        return "" if self.rows is None else self.rows.learner

    @property
    def can_move(self) -> bool:
        """Whether the assumption can fail at all: with one-sided compliance nobody can be a defier."""
        return self.relaxation.kind != "defiers" or float(most_defiers(self._laws).max()) > 0

    @property
    def most(self) -> float:
        """The largest share that makes a difference."""
        return float(most_defiers(self._laws).max()) if self.relaxation.kind == "defiers" else 1.0

    def estimate(self, eps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = self._average(self._laws, eps) if self.rows is None else self._at_rows(self.rows, eps)
        return self._in_units(lower, upper, self._move_estimate)

    def interval(self, eps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # By chance every draw allows for some defiers, even if the data allow for none.
        lower, upper = self._average(self._draws, eps if self.can_move and self.rows is None else 0 * eps)
        low = np.quantile(lower, self.alpha / 2, axis=0)
        high = np.quantile(upper, 1 - self.alpha / 2, axis=0)
        if self.rows is not None:
            here, start = self._at_rows(self.rows, eps), self._at_rows(self.rows, np.zeros(1))
            low, high = low + here[0] - start[0], high + here[1] - start[1]
        return self._in_units(low, high, self._move_interval)

    def _at_rows(self, rows: RowsLaw, eps: np.ndarray) -> Ends:
        """The ends at the law of each person, averaged over people."""
        lower, upper = self.relaxation.ends(rows.law, eps, rows.chance)
        return self._mass @ lower, self._mass @ upper

    def _average(self, laws: np.ndarray, eps: np.ndarray) -> Ends:
        """The ends averaged over the covariates' cells, one cell at a time, as draws times terms times eps is large."""
        total: list[np.ndarray] = []
        for share, z_share, own in zip(self.law.share, self.law.z_share, laws, strict=True):
            ends = [share * end for end in self.relaxation.ends(own, eps, float(z_share))]
            total = [a + b for a, b in zip(total, ends, strict=True)] if total else ends
        return total[0], total[1]

    def _in_units(self, lower: np.ndarray, upper: np.ndarray, move: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        low, high = (self.span * end + m for end, m in zip((lower, upper), move, strict=True))
        return np.clip(low, -self.span, self.span), np.clip(high, -self.span, self.span)


def _own_interval(result: BoundsResult, relaxation: Relaxation) -> EstimandBounds | None:
    """What the result says about the estimand at eps = 0, if it allows for sampling error and makes the assumption."""
    own = result.estimands.get(relaxation.estimand)
    if own is None or own.interval == "estimate" or own.upper is None or "exclusion" not in own.assumes:
        return None
    return own if own.covers == "set" or relaxation.estimand != AVERAGE else None


def _laws_at_rows(source: Source) -> tuple[RowsLaw, np.ndarray]:
    """The possible laws nearest to those at the rows, or at a sample of rows, and the share of people of each row."""
    data = source.data
    found, mass = rows_law(data, source.laws), data.mass / data.mass.sum()
    kept = np.arange(len(mass))
    if len(mass) > MOST_ROWS:
        kept = np.random.default_rng(source.random_state).choice(len(mass), MOST_ROWS, p=mass)
        mass = np.ones(len(mass))
    laws = np.broadcast_to(found.law, (len(mass), 2, 2, 2))[kept]
    chance = np.broadcast_to(found.chance, (len(mass),))[kept]
    return RowsLaw(nearest_law(laws), chance, found.learner), mass[kept] / mass[kept].sum()


def _first_stage(law: EstimatedLaw) -> float:
    people = law.people.sum(axis=0)
    shares = people[:, 1] / people.sum(axis=1)
    return float(shares[1] - shares[0])
