"""`EstimandBounds`: what a result says about one estimand, however it was computed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ivicl._shared.records import Record
from ivicl.posterior import IdentifiedSet

IntervalKind = Literal["credible", "confidence", "estimate"]
Covers = Literal["set", "effect"]


@dataclass(frozen=True)
class EstimandBounds(Record):
    """What a result says about one estimand, in outcome units. An end that nothing limits is None (null in JSON).

    Examples:
        >>> from ivicl import IVBounds
        >>> att = IVBounds("balke-pearl").fit_counts([158, 14, 0, 0, 52, 12, 23, 78]).estimands["ATT"]
        >>> round(att.estimate_lower, 4), att.lower < att.estimate_lower < att.upper, att.interval
        (0.7581, True, 'credible')
    """

    lower: float
    """The lower end of the interval at the result's level."""
    upper: float | None
    """The upper end; None if nothing limits it, as for a ratio whose denominator may be zero."""
    estimate_lower: float | None
    """Without allowance for sampling error; equal to estimate_upper if the estimand is identified."""
    estimate_upper: float | None
    assumes: tuple[str, ...]
    """As in `BoundsResult.assumptions`."""
    interval: IntervalKind = "credible"
    """What kind of interval lower and upper are."""
    covers: Covers = "set"
    """What they are meant to hold: the whole identified "set", or the "effect"."""
    adjusted: bool = False
    """The covariates were used."""

    @classmethod
    def from_posterior(
        cls, ends: IdentifiedSet, alpha: float, assumes: tuple[str, ...], adjusted: bool = False
    ) -> EstimandBounds:
        """From the posteriors of both ends, as a network's heads give them."""
        lower, upper = ends.interval(alpha)
        return cls(lower, upper, *ends.means, assumes, adjusted=adjusted)

    @classmethod
    def from_draws(
        cls, lower: np.ndarray, upper: np.ndarray, alpha: float, assumes: tuple[str, ...]
    ) -> list[EstimandBounds | None]:
        """From both ends as arrays (1 + draws, B) for B data sets: the estimate in the first row, joint draws below it.

        The interval holds every value between the ends with probability 1 - alpha. It always includes the estimate: if
        a prior or a repair has pulled the draws away from it, the interval is extended. None if the estimate is nan.
        """
        one = lower is upper
        lows = np.quantile(lower[1:], alpha / 2, axis=0, method="inverted_cdf")
        highs = np.quantile(upper[1:], 1 - alpha / 2, axis=0, method="inverted_cdf")
        ends = np.minimum.reduce([lows, highs, lower[0]]), np.maximum.reduce([lows, highs, upper[0]])
        columns = (end.tolist() for end in (*ends, lower[0], upper[0]))
        return [
            None
            if math.isnan(first)
            else cls(low, _or_none(high), first, _or_none(second), assumes, covers="effect" if one else "set")
            for low, high, first, second in zip(*columns, strict=True)
        ]


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
