"""A fully known law of people at given covariates: what is observed, the true ends, and data drawn from it.

Shapes: N rows; types are always-takers, never-takers, compliers, defiers. Y(0) and Y(1) are independent given the type
and x, so every law here could be that of real people and satisfies the instrumental inequalities at every x.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ivicl.benchmarks.efficiency.outcomes import Character
from ivicl.data import IVData
from ivicl.identification import estimands
from ivicl.identification.amounts import MeanEnds, mean_ends
from ivicl.identification.laws import soft_law

TAKES = np.array([[1, 1], [0, 0], [0, 1], [1, 0]])
"""(4, 2) the treatment of each type at Z = 0 and at Z = 1."""
DEFIER = 3
BINARY_VALUES = np.array([0.0, 1.0])


@dataclass(frozen=True)
class Seen:
    """What unlimited data at each x would show, for an outcome in [0, 1]."""

    propensity: np.ndarray
    """(N,) P(Z=1 | x)."""
    shares: np.ndarray
    """(N, 2, 2) P(T=t | Z=z, x), indexed [z][t]."""
    means: np.ndarray
    """(N, 2, 2) E[Y 1{T=t} | Z=z, x]."""
    squares: np.ndarray
    """(N, 2, 2) E[Y^2 1{T=t} | Z=z, x]."""

    @cached_property
    def soft(self) -> np.ndarray:
        """(N, 2, 2, 2) the binary law that has the same means."""
        return soft_law(self.means, self.shares)

    @property
    def arms(self) -> np.ndarray:
        """(N, 2) P(Z=z | x)."""
        return np.stack([1 - self.propensity, self.propensity], axis=1)

    @property
    def outcome_variance(self) -> np.ndarray:
        """(N, 2, 2) Var(Y | Z=z, T=t, x); nan where nobody takes that treatment."""
        with np.errstate(invalid="ignore", divide="ignore"):
            spread: np.ndarray = self.squares / self.shares - (self.means / self.shares) ** 2
        return spread

    def over_arms(self, values: np.ndarray) -> np.ndarray:
        """(N, 2) values by z -> (N,) their mean over the arms at each x."""
        mean: np.ndarray = (self.arms * values).sum(axis=1)
        return mean

    def without_covariates(self) -> Seen:
        """The law as it is observed without covariates, as one row."""
        people = self.arms.mean(axis=0)

        def pooled(values: np.ndarray) -> np.ndarray:
            mean: np.ndarray = (self.arms[:, :, None] * values).mean(axis=0) / people[:, None]
            return mean[None]

        return Seen(people[1:], pooled(self.shares), pooled(self.means), pooled(self.squares))


@dataclass(frozen=True)
class Law:
    """The people at each row."""

    propensity: np.ndarray
    """(N,) P(Z=1 | x)."""
    types: np.ndarray
    """(N, 4) shares of the four types."""
    means: np.ndarray
    """(N, 4, 2) E[Y(t) | type, x], indexed [type][t]."""
    character: Character
    """What outcomes with these means look like."""

    @cached_property
    def seen(self) -> Seen:
        shows = (TAKES[:, :, None] == np.arange(2)).astype(np.float64)  # [type][z][t]
        squares = self.character.variance(self.means) + self.means**2
        shares, means, second = (
            np.einsum("ns,nst,szt->nzt", self.types, values, shows)
            for values in (np.ones_like(self.means), self.means, squares)
        )
        return Seen(self.propensity, shares, means, second)

    @property
    def no_defiers(self) -> bool:
        return not self.types[:, DEFIER].any()

    @cached_property
    def truth(self) -> dict[str, tuple[float, float]]:
        """The ends given X, by estimand: averages over the rows of what unlimited data at each row would say.

        The LATE, a point, is included only if there are no defiers.
        """
        found = true_ends(self.seen)
        if not self.no_defiers:
            del found["LATE"]
        return found

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """z, t and y of one person at each row."""
        rows = np.arange(len(self.propensity))
        z = (rng.random(len(rows)) < self.propensity).astype(np.int64)
        cumulated = self.types.cumsum(axis=1)
        kind = (rng.random((len(rows), 1)) * cumulated[:, -1:] > cumulated).sum(axis=1)
        t = TAKES[kind, z]
        y = self.character.draw(rng, self.means[rows, kind, t])
        return z.astype(np.float64), t.astype(np.float64), np.clip(y, 0.0, 1.0)


@dataclass(frozen=True)
class Dataset:
    """One data set and the law it was drawn from."""

    x: np.ndarray
    """(N, D) covariates."""
    z: np.ndarray
    t: np.ndarray
    y: np.ndarray
    law: Law

    @cached_property
    def data(self) -> IVData:
        return IVData.from_arrays(z=self.z, t=self.t, y=self.y, x=self.x, outcome_range=(0.0, 1.0))


def true_ends(seen: Seen) -> dict[str, tuple[float, float]]:
    """The ends of the set given the means, averaged over the rows, by estimand; the LATE as if nobody defied."""
    by_row = mean_ends(seen.soft, BINARY_VALUES)
    ends = MeanEnds(
        *(
            np.asarray(end.mean())
            for end in (by_row.treated_lower, by_row.treated_upper, by_row.untreated_lower, by_row.untreated_upper)
        )
    )
    mean, treated = outcome_mean(seen), treated_share(seen)
    moved = (seen.shares[:, 1, 1] - seen.shares[:, 0, 1]).mean()
    effect = (seen.means[:, 1].sum(axis=1) - seen.means[:, 0].sum(axis=1)).mean()
    found = {
        "ATE": estimands.average_effect(ends),
        "EY1": (ends.treated_lower, ends.treated_upper),
        "EY0": (ends.untreated_lower, ends.untreated_upper),
        "ATT": estimands.effect_on_treated(ends, mean, treated),
        "ATU": estimands.effect_on_untreated(ends, mean, treated),
        "LATE": (effect / moved, effect / moved),
    }
    return {name: (float(lower), float(upper)) for name, (lower, upper) in found.items()}


def outcome_mean(seen: Seen) -> np.ndarray:
    """E Y, averaged over the rows."""
    return np.asarray(seen.over_arms(seen.means.sum(axis=2)).mean())


def treated_share(seen: Seen) -> np.ndarray:
    """P(T=1), averaged over the rows."""
    return np.asarray(seen.over_arms(seen.shares[:, :, 1]).mean())
