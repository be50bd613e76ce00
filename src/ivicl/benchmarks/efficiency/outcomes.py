"""What an outcome in [0, 1] with a given mean can look like: how it is drawn, and its variance in closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Character:
    """A family of outcome laws, one for each mean."""

    name: str
    variance: Callable[[np.ndarray], np.ndarray]
    """Var(Y) of an outcome with this mean."""
    draw: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    """One outcome for each mean."""


def beta(precision: float) -> Character:
    """Beta laws: narrow if the precision is large, U-shaped if it is below 2."""
    return Character(
        f"Beta with precision {precision:g}",
        lambda mean: mean * (1 - mean) / (1 + precision),
        lambda rng, mean: rng.beta(precision * mean, precision * (1 - mean)),
    )


def points(steps: int) -> Character:
    """A binomial score with `steps` + 1 values."""
    return Character(
        f"score of {steps + 1} points",
        lambda mean: mean * (1 - mean) / steps,
        lambda rng, mean: rng.binomial(steps, mean) / steps,
    )


def zero_and_rest(precision: float) -> Character:
    """Many zeros and a rest that is skewed, as earnings and sales are.

    The rest is a Beta law. A larger mean comes both from more people above zero and from larger amounts among them, in
    such a way that every mean from 0 to 1 is possible.
    """

    def above(mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.cbrt(mean), np.cbrt(mean) ** 2

    def variance(mean: np.ndarray) -> np.ndarray:
        share, rest = above(mean)
        spread: np.ndarray = share * (rest * (1 - rest) / (1 + precision) + rest**2) - mean**2
        return spread

    def draw(rng: np.random.Generator, mean: np.ndarray) -> np.ndarray:
        share, rest = above(mean)
        return np.where(rng.random(mean.shape) < share, rng.beta(precision * rest, precision * (1 - rest)), 0.0)

    return Character(f"zeros and a skewed rest with precision {precision:g}", variance, draw)


BINARY = Character(
    "binary",
    lambda mean: mean * (1 - mean),
    lambda rng, mean: (rng.random(mean.shape) < mean).astype(np.float64),
)
