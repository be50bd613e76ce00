"""How much of the width is not identified, and how much is not enough data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ivicl.bounds import IdentifiedSet


@dataclass(frozen=True)
class WidthParts:
    """The interval that covers the identified set, taken apart. In outcome units."""

    lower: float
    """With credibility 1 - alpha / 2 the identified set starts above this."""
    upper: float
    """With credibility 1 - alpha / 2 the identified set ends below this."""
    not_identified: float
    """Expected width of the identified set: what would remain with endless data of this kind."""
    not_enough_data: float
    """The rest: what more people would take away."""

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
            f"{rounded(self.not_identified, self.width)} ({percent} %) is not identified, whatever the number of "
            f"people, and {rounded(self.not_enough_data, self.width)} ({100 - percent} %) is not enough data."
        )


def width_parts(ends: IdentifiedSet, alpha: float) -> WidthParts:
    """From the posteriors of the two ends: their distance is not identified, their spread is not enough data."""
    lower, upper = ends.interval(alpha)
    not_identified = min(max(ends.upper.mean - ends.lower.mean, 0.0), upper - lower)
    return WidthParts(lower, upper, not_identified, upper - lower - not_identified)


def rounded(value: float, width: float) -> str:
    """The value to the digit that matters: a width gets three figures, its ends as many decimals as it has."""
    if not 0 < width < math.inf:
        return f"{value:.3g}"
    decimals = 2 - math.floor(math.log10(width))
    if not -6 <= decimals <= 8:
        return f"{value:.3g}"
    text = f"{round(value, decimals):,.{max(decimals, 0)}f}"
    return text.replace("-0", "0", 1) if float(text.replace(",", "")) == 0 else text


def rounded_interval(lower: float, upper: float) -> str:
    return f"[{rounded(lower, upper - lower)}, {rounded(upper, upper - lower)}]"
