"""What can be asked for: each average in words for a reader, and the values it can have at all. Methods name them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

Range = tuple[float, float]


def differences(low: float, high: float) -> Range:
    """The range of a difference of two mean outcomes, each between low and high."""
    return low - high, high - low


def anything(low: float, high: float) -> Range:
    """For an estimand of which nothing is known here."""
    return -math.inf, math.inf


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
    """The value that means no effect; None where there is no such value."""
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
}
"""By name."""

AVERAGE = "ATE"
"""What is bounded unless something else is asked for; the rungs of the ladder climb to it."""


def estimand(name: str) -> Estimand:
    """The estimand of that name; one that is not known here speaks for itself."""
    known = ESTIMANDS.get(name)
    if known is not None:
        return known
    return Estimand(name, name, name, f"What is the {name}?", none=None, units=("", ""), possible=anything)
