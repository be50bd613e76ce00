"""What can be asked for: each average in words for a reader, and the values that it can have. Methods use the names."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

Range = tuple[float, float]


def differences(low: float, high: float) -> Range:
    """The range of a difference of two mean outcomes, each between low and high."""
    return low - high, high - low


def anything(low: float, high: float) -> Range:
    """The range of an estimand about which nothing is known here."""
    return -math.inf, math.inf


def means(low: float, high: float) -> Range:
    """The range of a mean outcome."""
    return low, high


def ratios(low: float, high: float) -> Range:
    """The range of a ratio of two mean outcomes that are never negative."""
    return (low / high, high / low) if low > 0 else (0.0, math.inf)


def relative_changes(low: float, high: float) -> Range:
    """The range of such a ratio minus one."""
    least, most = ratios(low, high)
    return least - 1, most - 1


@dataclass(frozen=True)
class Estimand:
    """One estimand."""

    title: str
    """For a table."""
    short: str
    """For a sentence: "The ... lies between"."""
    meaning: str
    """For a methods section: "We bounded ..."."""
    question: str
    """For a reader; {treatment} and {outcome} are filled in."""
    among: str = "on average"
    """Whose outcome changes: "the treatment raises the outcome ..."."""
    none: float | None = 0.0
    """The value that means no effect; None if there is no such value."""
    units: tuple[str, str] = ("difference of probabilities", "units of the outcome")
    """For a binary outcome, and for an amount."""
    possible: Callable[[float, float], Range] = differences
    """The smallest and largest value it can have, from the smallest and largest possible outcome."""

    def unit(self, binary: bool) -> str:
        return self.units[0 if binary else 1]


ESTIMANDS = {
    "ATE": Estimand(
        title="average treatment effect (ATE)",
        short="average effect",
        meaning="the average effect of the treatment on everybody in the data (the sample average treatment effect)",
        question="By how much would the average of {outcome} differ if everybody had had {treatment} rather than "
        "nobody?",
    ),
    "LATE": Estimand(
        title="average effect among compliers (LATE), not the ATE",
        short="effect among compliers",
        meaning="the average effect of the treatment on compliers (those whom the instrument moves)",
        question="Among compliers, those whom the instrument moves: by how much would the average of {outcome} differ "
        "if all of them had had {treatment} rather than none?",
        among="on average among compliers",
    ),
    "ATT": Estimand(
        title="average effect on the treated (ATT)",
        short="effect on the treated",
        meaning="the average effect of the treatment on those who had it",
        question="Among those who had {treatment}: by how much would the average of {outcome} differ if none of them "
        "had had it?",
        among="on average among the treated",
    ),
    "ATU": Estimand(
        title="average effect on the untreated (ATU)",
        short="effect on the untreated",
        meaning="the average effect that the treatment would have on those who did not have it",
        question="Among those who did not have {treatment}: by how much would the average of {outcome} differ if all "
        "of them had had it?",
        among="on average among the untreated",
    ),
    "EY1": Estimand(
        title="mean outcome if all were treated, E Y(1)",
        short="mean outcome if all were treated",
        meaning="the mean outcome if everybody in the data had been treated",
        question="What would the average of {outcome} be if everybody had had {treatment}?",
        none=None,
        units=("probability", "units of the outcome"),
        possible=means,
    ),
    "EY0": Estimand(
        title="mean outcome if none were treated, E Y(0)",
        short="mean outcome if none were treated",
        meaning="the mean outcome if nobody in the data had been treated",
        question="What would the average of {outcome} be if nobody had had {treatment}?",
        none=None,
        units=("probability", "units of the outcome"),
        possible=means,
    ),
    "RR": Estimand(
        title="risk ratio E Y(1) / E Y(0)",
        short="risk ratio",
        meaning="the ratio of the mean outcome if everybody were treated to that if nobody were",
        question="How many times as large would the average of {outcome} be if everybody had had {treatment} rather "
        "than nobody?",
        none=1.0,
        units=("ratio of probabilities", "ratio of means"),
        possible=ratios,
    ),
    "ITT": Estimand(
        title="intention-to-treat effect (ITT): of the instrument, not of the treatment",
        short="intention-to-treat effect",
        meaning="the average effect of the instrument (the assignment) on the outcome",
        question="By how much does the average of {outcome} differ with the instrument, whoever had {treatment}?",
        among="on average over those who take it and those who do not",
    ),
    "LIFT": Estimand(
        title="relative lift among the treated, ATT / E[Y(0) | T=1]",
        short="relative lift among the treated",
        meaning="the average effect on the treated relative to the mean outcome they would have had untreated",
        question="Among those who had {treatment}: by what share did it change the average of {outcome}?",
        among="on average among the treated",
        units=("relative change", "relative change"),
        possible=relative_changes,
    ),
}
"""Name -> estimand."""

NEVER_NEGATIVE = ("RR", "LIFT")
"""Ratios, which are only defined for an outcome that is never negative."""
FROM_MEANS = ("ATE", "ATT", "ATU", "EY1", "EY0", "RR", "LIFT")
"""What follows from E Y(1) and E Y(0)."""
FROM_ARMS = ("ITT", "LATE")
"""What follows from the differences between the arms of the instrument."""
ALL = (*FROM_MEANS, *FROM_ARMS)

AVERAGE = "ATE"
"""What is bounded unless something else is asked for; the rungs of the ladder are bounds on it."""


def estimand(name: str) -> Estimand:
    """The estimand of that name; for one that is not known here, the name has to do."""
    known = ESTIMANDS.get(name)
    if known is not None:
        return known
    return Estimand(name, name, name, f"What is the {name}?", none=None, units=("", ""), possible=anything)
