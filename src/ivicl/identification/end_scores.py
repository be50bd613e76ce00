"""What each person tells about each end: scores, whose variance says how well the end is known.

Each end is a mean over x of a maximum of terms that are linear in the soft law (`mean_terms`). With the coefficients
c_z(t, y) of the largest term at x, the score of a person with Z=z is (c_z(T, Y) - E[c_z | x]) / P(Z=z | x). The
coefficients of terms that are equal up to noise are averaged, by softmax, so that nothing jumps at a tie. For an amount
c is linear in y. `learn.network.ends` is the same in torch, as the network's graph computes it.
Shapes: N rows, Q = 11 quantities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.identification.mean_terms import MEAN_TERMS, mean_terms

QUANTITIES = (
    *((name, end) for name in ("ATE", "EY1", "EY0", "ATT", "ATU") for end in ("lower", "upper")),
    ("LATE", "both"),
)
"""Which number is which, in the order of the network's graph."""
EFFECT_ENDS = (0, 1)
"""Places in QUANTITIES of the ends of the average effect."""
ROWS_AT_ONCE = 65_536
"""How many rows' coefficients are in memory at once."""
_OUTCOME = np.array([0.0, 1.0] * 4)
_TREATED = np.array([0.0, 0.0, 1.0, 1.0] * 2)
_SIDE = np.array([-1.0] * 4 + [1.0] * 4)
_LEAST_SHARE = 1e-4
"""ATT and ATU divide by the share of people treated, or not treated, but by no less than this."""


@dataclass(frozen=True)
class EndScores:
    """The Q quantities that were asked for, at a law, and what the rows tell about them."""

    value: np.ndarray
    """(Q,) for the outcome scaled to [0, 1]."""
    score: np.ndarray
    """(N, Q) the score of one person in the row; its mean in each arm is zero if the law is right."""
    slope: np.ndarray
    """(N, Q) how much the score rises with the outcome."""
    at_x: np.ndarray
    """(N, Q) the quantity at the row's x minus its mean: what would change if other people had been drawn."""


def noise(arms: np.ndarray) -> float:
    """A rough standard error of a difference between the arms, from their numbers of people (2,)."""
    return float(np.sqrt((0.25 / (np.asarray(arms, dtype=np.float64) + 2)).sum()))


def end_scores(
    law: np.ndarray,
    chance: np.ndarray,
    z: np.ndarray,
    t: np.ndarray,
    y01: np.ndarray,
    mass: np.ndarray,
    which: tuple[int, ...] = tuple(range(len(QUANTITIES))),
    temperature: float | None = None,
) -> EndScores:
    """Scores at the law of each row.

    Args:
        law: soft laws (N, 2, 2, 2), or (1, 2, 2, 2) if all rows have the same law.
        chance: P(Z=1 | x), (N,) or (1,).
        z: (N,) instrument.
        t: (N,) treatment.
        y01: (N,) outcome, scaled to [0, 1].
        mass: (N,) how much of the population each row stands for.
        which: places in QUANTITIES.
        temperature: differences of terms of about this size are noise; with None, computed from the size of the arms.
    """
    n, chosen = len(z), list(which)
    if temperature is None:
        temperature = noise(np.array([mass[z == 0].sum(), mass[z == 1].sum()]))
    flat, arms = law.reshape(-1, 8), np.stack([1 - chance, chance], axis=-1)
    share = mass / mass.sum() if len(flat) > 1 or len(arms) > 1 else np.ones(1)
    about = Averages.of(flat, arms, share, temperature)
    value = about.values()[chosen]
    score, slope, at_x = (np.zeros((n, len(chosen))) for _ in range(3))
    for start in range(0, n, ROWS_AT_ONCE):
        rows = np.arange(start, min(start + ROWS_AT_ONCE, n))
        here, there = (flat[rows] if len(flat) > 1 else flat), (arms[rows] if len(arms) > 1 else arms)
        c = about.coefficients(here, there, temperature)[:, chosen]  # (rows or 1, Q, 8)
        at_x[rows] = (c * here[:, None]).sum(-1)
        arm, taken = z[rows].astype(np.intp), t[rows].astype(np.intp)
        by_arm = c.reshape(len(c), len(chosen), 2, 4)
        mean = (by_arm * here.reshape(-1, 1, 2, 4)).sum(-1)  # (rows or 1, Q, 2)
        row = np.arange(len(rows)) if len(c) > 1 else np.zeros(len(rows), dtype=np.intp)
        cells = by_arm.reshape(len(c), len(chosen), 2, 2, 2)[row, :, arm, taken]  # (rows, Q, y)
        over = 1 / there[np.arange(len(rows)) if len(there) > 1 else 0, arm]
        slope[rows] = (cells[..., 1] - cells[..., 0]) * over[:, None]
        seen = cells[..., 0] + (cells[..., 1] - cells[..., 0]) * y01[rows, None]
        score[rows] = (seen - mean[row, :, arm]) * over[:, None]
    return EndScores(value, score, slope, at_x - (mass / mass.sum()) @ at_x)


@dataclass(frozen=True)
class Averages:
    """Averages over the whole table: the ends of the means, E Y, P(T=1) and the instrument's effects."""

    ends: np.ndarray
    """(4,) the least and the largest E Y(1), the least and the largest E Y(0)."""
    mean: float
    treated: float
    change_y: float
    change_t: float
    temperature: float

    @classmethod
    def of(cls, flat: np.ndarray, arms: np.ndarray, share: np.ndarray, temperature: float) -> Averages:
        share = np.broadcast_to(share, max(len(flat), len(arms))) if len(share) == 1 else share
        most = np.broadcast_to(mean_terms(flat.reshape(-1, 2, 2, 2)).max(-1), (len(share), 4))
        seen = share @ np.broadcast_to(flat * np.repeat(arms, 4, axis=-1), (len(share), 8))
        return cls.of_means(share @ most, seen, share @ np.broadcast_to(flat, (len(share), 8)), temperature)

    @classmethod
    def of_means(cls, most: np.ndarray, seen: np.ndarray, law: np.ndarray, temperature: float) -> Averages:
        """From averages over the rows: of the largest terms (4,), of the law times P(Z=z | x) (8,), of the law (8,)."""
        least_1, rest_1, least_0, rest_0 = most
        # The ends of a mean can cross at an impossible law; both are then set to their middle.
        ends = [*_uncrossed(least_1, 1 - rest_1), *_uncrossed(least_0, 1 - rest_0)]
        change = law * _SIDE
        return cls(
            np.array(ends),
            float(seen @ _OUTCOME),
            float(seen @ _TREATED),
            float(change @ _OUTCOME),
            float(change @ _TREATED),
            temperature,
        )

    @property
    def some(self) -> float:
        return max(self.treated, _LEAST_SHARE)

    @property
    def rest(self) -> float:
        return max(1 - self.treated, _LEAST_SHARE)

    @property
    def base(self) -> float:
        """The first stage, but at least its noise in size: closer to zero, the ratio could be anything."""
        return (-1.0 if self.change_t < 0 else 1.0) * max(abs(self.change_t), self.temperature)

    def values(self) -> np.ndarray:
        """(11,) the quantities."""
        least_1, most_1, least_0, most_0 = self.ends
        treated = [(self.mean - end) / self.some for end in (most_0, least_0)]
        untreated = [(end - self.mean) / self.rest for end in (least_1, most_1)]
        ratios = np.clip([*treated, *untreated, self.change_y / self.base], -1.0, 1.0)
        return np.concatenate([[least_1 - most_0, most_1 - least_0, *self.ends], ratios])

    def mixing(self) -> np.ndarray:
        """(11, 8): each quantity's coefficients as a combination of those in `simple_coefficients`."""
        one = np.eye(8)
        least_1, most_1, least_0, most_0, mean, treated, change_y, change_t = one
        att_low, att_high, atu_low, atu_high, late = self.values()[6:]
        return np.stack(
            [
                least_1 - most_0,
                most_1 - least_0,
                least_1,
                most_1,
                least_0,
                most_0,
                (mean - most_0 - att_low * treated) / self.some,
                (mean - least_0 - att_high * treated) / self.some,
                (least_1 - mean + atu_low * treated) / self.rest,
                (most_1 - mean + atu_high * treated) / self.rest,
                (change_y - late * change_t) / self.base,
            ]
        )

    def coefficients(self, flat: np.ndarray, arms: np.ndarray, temperature: float) -> np.ndarray:
        """(N, 11, 8) on the law of each row, in the order [z][t][y]."""
        found: np.ndarray = self.mixing() @ simple_coefficients(flat, arms, temperature)
        return found


def simple_coefficients(flat: np.ndarray, arms: np.ndarray, temperature: float) -> np.ndarray:
    """(N, 8, 8) on the law of each row: of the four ends of the means, E Y, P(T=1), and the instrument's effects.

    They do not depend on averages over the table, so that one pass over the rows is enough to add up what they give.
    """
    terms = mean_terms(flat.reshape(-1, 2, 2, 2))
    active = np.exp((terms - terms.max(-1, keepdims=True)) / temperature)
    active /= active.sum(-1, keepdims=True)
    found = np.empty((max(len(flat), len(arms)), 8, 8))
    found[:, :4] = np.einsum("nkj,kjc->nkc", active, MEAN_TERMS) * np.array([1.0, -1.0, 1.0, -1.0])[:, None]
    by_arm = np.repeat(arms, 4, axis=-1)
    found[:, 4], found[:, 5] = by_arm * _OUTCOME, by_arm * _TREATED
    found[:, 6], found[:, 7] = _SIDE * _OUTCOME, _SIDE * _TREATED
    return found


def _uncrossed(lower: float, upper: float) -> tuple[float, float]:
    middle = 0.5 * (lower + upper)
    return min(lower, middle), max(upper, middle)
