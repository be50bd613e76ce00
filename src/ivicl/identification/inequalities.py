"""The testable implications of a valid instrument: Pearl's inequalities, their test, and the nearest valid law.

For each t and y:  P(T=t, Y=y | Z=1) + P(T=t, Y=1-y | Z=0) <= 1.  For a binary instrument, treatment and outcome the
four are all that the model implies, and at most one of them can fail.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from ivicl.data import IVData
from ivicl.data.encoding import weighted_quantile


@dataclass(frozen=True)
class Inequality:
    """One of the four inequalities, in the sample."""

    t: int
    y: int
    excess: float
    """Left side minus one: above zero is a violation in the sample."""
    p_value: float
    """One-sided, of the hypothesis that the inequality holds in the population."""
    threshold: float | None = None
    """For an outcome that is not binary: the inequality is about 1{Y >= threshold}."""

    @property
    def violated(self) -> bool:
        return self.excess > 1e-12

    def name(self) -> str:
        event = "Y" if self.threshold is None else f"1{{Y >= {self.threshold:g}}}"
        return f"P(T={self.t}, {event}={self.y} | Z=1) + P(T={self.t}, {event}={1 - self.y} | Z=0) <= 1"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"name": self.name(), "violated": self.violated}


def law_of(counts: np.ndarray) -> np.ndarray:
    """P(T=t, Y=y | Z=z) from counts (..., 2, 2, 2) indexed [z][t][y]."""
    counts = np.asarray(counts, dtype=np.float64)
    return counts / counts.sum(axis=(-2, -1), keepdims=True)


def excess(p: np.ndarray) -> np.ndarray:
    """(..., 2, 2) indexed [t][y]: how far each inequality is violated by laws p (..., 2, 2, 2)."""
    return p[..., 1, :, :] + p[..., 0, :, ::-1] - 1.0


def check_counts(counts: np.ndarray, threshold: float | None = None) -> list[Inequality]:
    """The four inequalities of one table, each with its one-sided test.

    The test is Wang, Robins and Richardson's: V = 1{T=t, Y=y} where Z=1 and 1 - 1{T=t, Y=1-y} where Z=0 is binary, and
    the inequality says E[V | Z=1] <= E[V | Z=0]: two proportions, compared with a pooled standard error.
    """
    counts = np.asarray(counts, dtype=np.float64)
    arms = counts.sum(axis=(1, 2))
    over = excess(law_of(counts))
    found = []
    for t in (0, 1):
        for y in (0, 1):
            pooled = (counts[1, t, y] + arms[0] - counts[0, t, 1 - y]) / arms.sum()
            error = np.sqrt(pooled * (1 - pooled) * (1 / arms[0] + 1 / arms[1]))
            # No variation at all means that V is the same for everybody: the inequality holds with equality.
            p_value = NormalDist().cdf(-over[t, y] / error) if error > 0 else 1.0
            found.append(Inequality(t, y, float(over[t, y]), p_value, threshold))
    return found


def check(data: IVData) -> list[Inequality]:
    """The four inequalities; for an outcome that is not binary, each at the threshold where its p-value is smallest."""
    if data.binary:
        return check_counts(data.counts())
    worst: dict[tuple[int, int], Inequality] = {}
    for c in _test_thresholds(data):
        for inequality in check_counts(data.threshold(c).counts(), float(c)):
            key = (inequality.t, inequality.y)
            if key not in worst or inequality.p_value < worst[key].p_value:
                worst[key] = inequality
    return list(worst.values())


def _test_thresholds(data: IVData, most: int = 9) -> np.ndarray:
    levels = np.unique(data.y)[1:]
    if len(levels) <= most:
        return levels if len(levels) else np.array([data.outcome_range[1]])
    return np.unique(weighted_quantile(data.y, data.w, np.linspace(0, 1, most + 2)[1:-1]))


def warning_of(inequalities: list[Inequality]) -> str | None:
    """One sentence on the worst violation, or None."""
    worst = max(inequalities, key=lambda i: i.excess)
    if not worst.violated:
        return None
    return (
        f"the sample violates the instrumental inequality {worst.name()} by {worst.excess:.4f} "
        f"(one-sided p = {worst.p_value:.3g})"
    )


def nearest_law(counts: np.ndarray) -> np.ndarray:
    """The maximum-likelihood law of counts (..., 2, 2, 2) that a valid instrument allows.

    Where no inequality fails this is the sample's own law. Where one fails the solution lies on its face,
    P(T=t,Y=y|1) = a and P(T=t,Y=1-y|0) = 1 - a, and the likelihood in a is a binomial's: closed form.
    """
    counts = np.asarray(counts, dtype=np.float64)
    flat = counts.reshape(-1, 2, 2, 2)
    p = law_of(flat)
    over = excess(p).reshape(-1, 4)
    for i in np.flatnonzero(over.max(axis=1) > 0):
        t, y = divmod(int(over[i].argmax()), 2)
        n, arms = flat[i], flat[i].sum(axis=(1, 2))
        a = (n[1, t, y] + arms[0] - n[0, t, 1 - y]) / arms.sum()
        p[i, 1] = _with_cell(p[i, 1], t, y, a)
        p[i, 0] = _with_cell(p[i, 0], t, 1 - y, 1 - a)
    return p.reshape(counts.shape)


def _with_cell(arm: np.ndarray, t: int, y: int, value: float) -> np.ndarray:
    """The (2, 2) law of one arm with one cell set, the others scaled to make room."""
    others = arm.copy()
    others[t, y] = 0.0
    total = others.sum()
    if total > 0:
        others *= (1 - value) / total
    else:
        others += (1 - value) / 3
    others[t, y] = value
    return others
