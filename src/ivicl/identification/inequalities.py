"""The testable implications of a valid instrument: Pearl's inequalities, their test, and the nearest possible law.

A law on K levels is possible if and only if for each t: the sum over k of max_z P(T=t, Y=k | Z=z) is at most 1. For a
binary outcome these are the four P(T=t, Y=y | Z=1) + P(T=t, Y=1-y | Z=0) <= 1. The two sums add up to at most 2, so at
most one of them can be too large.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from ivicl._shared.records import KeyedRecord
from ivicl.identification.laws import arm_totals, law_of

ROUNDING = 1e-12
"""An inequality that fails by no more than this fails by rounding alone."""


@dataclass(frozen=True)
class Inequality(KeyedRecord):
    """One of the four inequalities, in the sample."""

    t: int
    y: int
    excess: float
    """Left side minus one: above zero is a violation in the sample."""
    p_value: float
    """One-sided, of the hypothesis that the inequality holds in the population."""
    threshold: float | None = None
    """For an outcome that is not binary: the inequality is about 1{Y >= threshold}."""
    by_means: bool = False
    """Only means of the outcome were known: the inequality is about the soft law, with Y as a share of its range."""

    @property
    def violated(self) -> bool:
        return self.excess > ROUNDING

    def name(self) -> str:
        if self.by_means:
            one, other = ("Y", "1-Y") if self.y else ("1-Y", "Y")
            return f"E[{one}; T={self.t} | Z=1] + E[{other}; T={self.t} | Z=0] <= 1"
        event = "Y" if self.threshold is None else f"1{{Y >= {self.threshold:g}}}"
        return f"P(T={self.t}, {event}={self.y} | Z=1) + P(T={self.t}, {event}={1 - self.y} | Z=0) <= 1"

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"name": self.name(), "violated": self.violated}


def excess(p: np.ndarray) -> np.ndarray:
    """(..., 2, 2) indexed [t][y]: how far each inequality is violated by binary laws p (..., 2, 2, 2)."""
    over: np.ndarray = p[..., 1, :, :] + p[..., 0, :, ::-1] - 1.0
    return over


def level_excess(p: np.ndarray) -> np.ndarray:
    """(..., 2) indexed [t]: how far laws p (..., 2, 2, K) are from being possible; at most one is above zero.

    It is also the least total variation, summed over the arms, by which a law must change to become possible: taking a
    share away from one cell lowers the sum of the maxima by at most that share.
    """
    over: np.ndarray = p.max(axis=-3).sum(axis=-1) - 1.0
    return over


def check_counts(
    counts: np.ndarray, threshold: float | None = None, lost: np.ndarray | None = None
) -> list[Inequality]:
    """The four inequalities of one table, each with its one-sided test.

    People by [z][t] whose outcome is lost and may have been anything belong to their arm but to none of its cells.

    The test is Wang, Robins and Richardson's: let V be 1{T=t, Y=y} if Z=1, and 1 - 1{T=t, Y=1-y} if Z=0. V is binary,
    and the inequality says E[V | Z=1] <= E[V | Z=0]: two proportions, compared with a pooled standard error.
    """
    counts = np.asarray(counts, dtype=np.float64)
    arms = counts.sum(axis=(1, 2)) + (0.0 if lost is None else lost.sum(axis=1))
    over = excess(counts / arms[:, None, None])
    found = []
    for t in (0, 1):
        for y in (0, 1):
            pooled = (counts[1, t, y] + arms[0] - counts[0, t, 1 - y]) / arms.sum()
            error = np.sqrt(pooled * (1 - pooled) * (1 / arms[0] + 1 / arms[1]))
            # No variation at all means that V is the same for everybody: the inequality holds with equality.
            p_value = NormalDist().cdf(-over[t, y] / error) if error > 0 else 1.0
            found.append(Inequality(t, y, float(over[t, y]), p_value, threshold))
    return found


def nearest_law(counts: np.ndarray) -> np.ndarray:
    """The sample's law, from counts (..., 2, 2, K), moved as little as a valid instrument demands.

    A possible law stays as it is, and so does one that is impossible by rounding alone, such as that of an arm in which
    everybody has the same treatment: there may be nothing that could move. Any other moves by its `level_excess`, the
    least total variation that helps, shared between the arms in proportion to the other arm's people: the arm that is
    known better moves less. With two levels this is the maximum-likelihood law among the possible ones.
    """
    counts = np.asarray(counts, dtype=np.float64)
    laws = law_of(counts).reshape(-1, *counts.shape[-3:])
    people = arm_totals(counts).reshape(-1, 2)
    over = level_excess(laws)
    chosen = np.flatnonzero(over.max(axis=1) > ROUNDING)
    t = over[chosen].argmax(axis=1)
    moves = over[chosen, t][:, None] * people[chosen, ::-1] / people[chosen].sum(axis=1, keepdims=True)
    laws[chosen, :, t], laws[chosen, :, 1 - t] = _repaired(laws[chosen, :, t], laws[chosen, :, 1 - t], moves)
    return laws.reshape(counts.shape)


def _repaired(own: np.ndarray, other: np.ndarray, moves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Laws (M, 2, K) [z][k] at the treatment whose sum is too large and at the other one, after moving `moves` (M, 2).

    The mass leaves the levels at which an arm has more than the other arm, in proportion to the difference. It goes to
    the arm's remaining cells in proportion to what they have, but at this treatment not beyond the other arm's share,
    which would undo the repair; what finds no room there goes to the other treatment.
    """
    moves = moves[..., None]
    surplus = own - own.min(axis=1, keepdims=True)
    stays = surplus == 0
    own = own - moves * surplus / surplus.sum(axis=-1, keepdims=True)
    everywhere = np.ones_like(other)
    given = moves * _shares(np.concatenate([own * stays, other], -1), np.concatenate([stays, everywhere], -1))
    to_own, to_other = np.split(given, 2, axis=-1)
    kept = np.minimum(to_own, np.where(stays, own[:, ::-1] - own, 0.0))
    spilled = (to_own - kept).sum(axis=-1, keepdims=True)
    return own + kept, other + to_other + spilled * _shares(other, everywhere)


def _shares(mass: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Mass (..., K) as shares of its sum; equal shares of the allowed cells if the sum is zero."""
    mass = np.where(mass.sum(axis=-1, keepdims=True) > 0, mass, allowed)
    shares: np.ndarray = mass / mass.sum(axis=-1, keepdims=True)
    return shares
