"""What follows from the ends of E Y(1) and E Y(0): the sharp ends of each average that a user may ask for.

Y, T and Z themselves are observed, so their means are known numbers; each estimand is then a rising or falling function
of one mean potential outcome, or of both, which can be at any of their ends together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.identification.amounts import MeanEnds

Number = float | np.ndarray
Ends = tuple[np.ndarray, np.ndarray]
"""Lower and upper end, each of the laws' leading shape."""


@dataclass(frozen=True)
class Seen:
    """Means of what is observed, over both arms; arrays of the laws' leading shape."""

    treated: np.ndarray
    """P(T=1)."""
    outcome_treated: np.ndarray
    """E[Y T]."""
    outcome_untreated: np.ndarray
    """E[Y (1-T)]."""

    @classmethod
    def of(cls, law: np.ndarray, share_z1: np.ndarray) -> Seen:
        """From laws (..., 2, 2, 2) [z][t][y] of a 0/1 outcome, or soft laws, and from P(Z=1)."""
        e = np.asarray(share_z1)[..., None, None]
        both = (1 - e) * law[..., 0, :, :] + e * law[..., 1, :, :]
        return cls(both[..., 1, :].sum(axis=-1), both[..., 1, 1], both[..., 0, 1])

    @property
    def outcome(self) -> np.ndarray:
        """E Y."""
        mean: np.ndarray = self.outcome_treated + self.outcome_untreated
        return mean


def by_name(ends: MeanEnds, seen: Seen, low: Number = 0.0, high: Number = 1.0) -> dict[str, Ends]:
    """Ends of every average that follows from E Y(1) and E Y(0), in the units of an outcome between low and high.

    `ends` and `seen` are of the outcome scaled to [0, 1]. Effects are cut to their possible range, which an estimate
    can leave if the sample contradicts the assumptions. What is not defined is nan: an average over nobody, and a ratio
    of an outcome that may be negative.
    """
    span = high - low
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {
            "ATE": average_effect(ends),
            "ATT": effect_on_treated(ends, seen.outcome, seen.treated),
            "ATU": effect_on_untreated(ends, seen.outcome, seen.treated),
        }
    found = {
        name: (span * np.clip(lower, -1, 1), span * np.clip(upper, -1, 1)) for name, (lower, upper) in found.items()
    }
    units = MeanEnds(*(low + span * end for end in (*_pair(ends, 1), *_pair(ends, 0))))
    found |= {"EY1": _pair(units, 1), "EY0": _pair(units, 0)}
    lift = relative_lift(
        units,
        low * seen.treated + span * seen.outcome_treated,
        low * (1 - seen.treated) + span * seen.outcome_untreated,
    )
    positive = np.asarray(low) >= 0
    found["RR"] = _where(positive, risk_ratio(units))
    found["LIFT"] = _where(positive & (seen.treated > 0), lift)
    return found


def _where(meant: np.ndarray, ends: Ends) -> Ends:
    return np.where(meant, ends[0], np.nan), np.where(meant, ends[1], np.nan)


def _pair(ends: MeanEnds, t: int) -> Ends:
    return (ends.treated_lower, ends.treated_upper) if t else (ends.untreated_lower, ends.untreated_upper)


def average_effect(ends: MeanEnds) -> Ends:
    """E[Y(1) - Y(0)], over everybody."""
    return ends.treated_lower - ends.untreated_upper, ends.treated_upper - ends.untreated_lower


def effect_on_treated(ends: MeanEnds, mean: np.ndarray, treated: np.ndarray) -> Ends:
    """E[Y(1) - Y(0) | T=1] = (E Y - E Y(0)) / P(T=1), where `mean` is E Y and `treated` is P(T=1)."""
    return (mean - ends.untreated_upper) / treated, (mean - ends.untreated_lower) / treated


def effect_on_untreated(ends: MeanEnds, mean: np.ndarray, treated: np.ndarray) -> Ends:
    """E[Y(1) - Y(0) | T=0] = (E Y(1) - E Y) / P(T=0)."""
    return (ends.treated_lower - mean) / (1 - treated), (ends.treated_upper - mean) / (1 - treated)


def risk_ratio(ends: MeanEnds) -> Ends:
    """E Y(1) / E Y(0) of an outcome that is never negative; the upper end is infinite if E Y(0) may be zero."""
    least, most = _not_rounding(ends.untreated_lower), _not_rounding(ends.untreated_upper)
    with np.errstate(divide="ignore", invalid="ignore"):
        lower, upper = ends.treated_lower / most, ends.treated_upper / least
    # 0 / 0 can be anything
    return np.where(np.isnan(lower), 0.0, lower), np.where(np.isnan(upper), np.inf, upper)


def relative_lift(ends: MeanEnds, seen_treated: np.ndarray, seen_untreated: np.ndarray) -> Ends:
    """The effect on the treated over the outcome they would have had: E[Y(1) - Y(0) | T=1] / E[Y(0) | T=1].

    For an outcome that is never negative; `seen_treated` is E[Y T] and `seen_untreated` is E[Y (1-T)]. The upper end is
    infinite if the treated may have had nothing without the treatment.
    """
    least, most = (_not_rounding(end - seen_untreated) for end in (ends.untreated_lower, ends.untreated_upper))
    with np.errstate(divide="ignore", invalid="ignore"):
        lower, upper = seen_treated / most - 1.0, seen_treated / least - 1.0
    return np.where(np.isnan(lower), -1.0, lower), np.where(np.isnan(upper), np.inf, upper)


def _not_rounding(mean: np.ndarray) -> np.ndarray:
    """A denominator: zero if it is zero up to rounding, or negative because the sample contradicts the assumptions."""
    return np.where(mean > 1e-12, mean, 0.0)
