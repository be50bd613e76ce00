"""Posteriors of the two ends of an identified set, and what the width of the interval around it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ivicl._shared.numbers import rounded
from ivicl.posterior.binned import BinnedPosterior


@dataclass(frozen=True)
class IdentifiedSet:
    """Posteriors of the two ends of the identified set: they tell what is not identified from what is not yet known.

    Examples:
        >>> import numpy as np
        >>> flat = BinnedPosterior(np.linspace(0, 1, 5), np.full(4, 0.25))
        >>> ends = IdentifiedSet(flat.scaled(0.2), flat.scaled(0.2, shift=0.6))
        >>> [round(end, 3) for end in (*ends.means, *ends.interval(0.1), *ends.scaled(-1).means)]
        [0.1, 0.7, 0.01, 0.79, -0.7, -0.1]
        >>> IdentifiedSet.from_dict(ends.to_dict()) == ends
        True
    """

    lower: BinnedPosterior
    upper: BinnedPosterior

    def scaled(self, factor: float, shift: float = 0.0) -> IdentifiedSet:
        """The set of factor * value + shift; a negative factor swaps the ends."""
        lower, upper = self.lower.scaled(factor, shift), self.upper.scaled(factor, shift)
        return IdentifiedSet(lower, upper) if factor > 0 else IdentifiedSet(upper, lower)

    @property
    def means(self) -> tuple[float, float]:
        """The expected ends; if they cross, which two marginal posteriors may do, both are set to their middle."""
        lower, upper = self.lower.mean, self.upper.mean
        middle = 0.5 * lower + 0.5 * upper
        return min(lower, middle), max(upper, middle)

    def interval(self, alpha: float) -> tuple[float, float]:
        """From the lower end's alpha/2 to the upper end's 1 - alpha/2 quantile: holds the set at level 1 - alpha."""
        lower, upper = float(self.lower.quantile(alpha / 2)), float(self.upper.quantile(1 - alpha / 2))
        # The two posteriors are marginal, so that at large alpha the lower one may lie above the upper one.
        middle = 0.5 * lower + 0.5 * upper
        return min(lower, middle), max(upper, middle)

    def to_dict(self) -> dict[str, Any]:
        """The posteriors as plain values."""
        return {"lower": self.lower.to_dict(), "upper": self.upper.to_dict()}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> IdentifiedSet:
        """The inverse of `to_dict`."""
        return cls(BinnedPosterior.from_dict(saved["lower"]), BinnedPosterior.from_dict(saved["upper"]))


@dataclass(frozen=True)
class WidthParts:
    """What the width of the interval that covers the identified set is made of, in outcome units.

    Examples:
        >>> WidthParts(lower=0.1, upper=0.6, not_identified=0.4, not_enough_data=0.1).sentence()[-72:]
        ', however many people take part; 0.100 (20 %) is due to not enough data.'
    """

    lower: float
    """With credibility 1 - alpha / 2 the identified set starts above this."""
    upper: float
    """With credibility 1 - alpha / 2 the identified set ends below this."""
    not_identified: float
    """Expected width of the identified set: what would remain with unlimited data of this kind."""
    not_enough_data: float
    """The rest of the width, which more people would take away."""

    @property
    def width(self) -> float:
        return self.upper - self.lower

    @property
    def share_not_identified(self) -> float:
        return self.not_identified / self.width if self.width > 0 else 1.0

    def sentence(self) -> str:
        """For a reader who plans the next study."""
        percent = round(100 * self.share_not_identified)
        return (
            f"Of the width {rounded(self.width, self.width)} of the interval that covers the identified set, "
            f"{rounded(self.not_identified, self.width)} ({percent} %) is not identified, however many people take "
            f"part; {rounded(self.not_enough_data, self.width)} ({100 - percent} %) is due to not enough data."
        )


def width_parts(ends: IdentifiedSet, alpha: float) -> WidthParts:
    """From the posteriors of the two ends: their distance is not identified, their spread is not enough data."""
    lower, upper = ends.interval(alpha)
    not_identified = min(max(ends.upper.mean - ends.lower.mean, 0.0), upper - lower)
    return WidthParts(lower, upper, not_identified, upper - lower - not_identified)
