"""Six families of laws that are not drawn from the training prior, to judge efficiency on. Nobody tunes on them.

A family draws a new law of the same character for every data set (which covariates matter, and how). Each family has a
version with a binary outcome and one with an amount, whose means are constructed in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ivicl.benchmarks.efficiency.laws import Dataset, Law
from ivicl.benchmarks.efficiency.outcomes import BINARY, Character, beta, points, zero_and_rest
from ivicl.benchmarks.sets.synthetic import softmax

Drawn = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""x (N, D), P(Z=1 | x) (N,), types (N, 4), E[Y(t) | type, x] (N, 4, 2)."""


@dataclass(frozen=True)
class Family:
    """Laws of one character."""

    name: str
    story: str
    draw_people: Callable[[np.random.Generator, int], Drawn]
    amounts: Character
    """What the outcome looks like in the version with amounts."""
    covariates_matter: bool = False
    """The best variance of the ends is at most 70 % of that without covariates, in both versions."""

    def dataset(self, rng: np.random.Generator, n: int, amounts: bool) -> Dataset:
        """A law and n people of it."""
        x, propensity, types, means = self.draw_people(rng, n)
        law = Law(propensity, types, means, self.amounts if amounts else BINARY)
        return Dataset(x, *law.draw(rng), law)


def expit(logits: np.ndarray) -> np.ndarray:
    values: np.ndarray = 1 / (1 + np.exp(-logits))
    return values


def direction(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """(N,) a random linear function of the columns, with mean 0 and variance 1 in the sample."""
    value = x @ rng.normal(size=x.shape[1])
    scaled: np.ndarray = (value - value.mean()) / value.std()
    return scaled


def type_shares(always: np.ndarray, never: np.ndarray) -> np.ndarray:
    """(N, 4) from logits against compliers; nobody defies."""
    shares = softmax(np.stack([always, never, np.zeros_like(always)], axis=1))
    return np.concatenate([shares, np.zeros((len(shares), 1))], axis=1)


def outcome_means(base: np.ndarray, effect: np.ndarray, selection: float) -> np.ndarray:
    """(N, 4, 2) from the logit of Y(0) and the effect on it; always-takers are better off, never-takers worse."""
    shift = selection * np.array([1.0, -1.0, 0.0, 0.5])
    logits = base[:, None, None] + shift[:, None] + np.stack([np.zeros_like(base), effect], axis=1)[:, None, :]
    return expit(logits)


def _correlated(rng: np.random.Generator, n: int, d: int, neighbour: float) -> np.ndarray:
    """(N, D) normal columns; each is correlated with the one before."""
    columns = [rng.normal(size=n)]
    for _ in range(d - 1):
        columns.append(neighbour * columns[-1] + np.sqrt(1 - neighbour**2) * rng.normal(size=n))
    return np.column_stack(columns)


def _smooth(rng: np.random.Generator, n: int) -> Drawn:
    factors = rng.normal(size=(n, 3))
    x = factors[:, np.arange(12) % 3] * 0.75 + rng.normal(size=(n, 12)) * 0.66
    taste, health, gain = (direction(rng, x) for _ in range(3))
    types = type_shares(-0.8 + 1.6 * taste, -0.4 - 1.6 * np.tanh(taste))
    means = outcome_means(2.8 * health + 0.5 * (taste**2 - 1), 0.8 + 0.6 * np.sin(gain), 0.5)
    return x, np.full(n, 0.5), types, means


def _sparse(rng: np.random.Generator, n: int) -> Drawn:
    x = _correlated(rng, n, 40, 0.3)
    x[:, rng.choice(40, 12, replace=False)] = rng.random((n, 12)) < 0.4
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    a, b, c, d, e = x[:, rng.choice(40, 5, replace=False)].T
    types = type_shares(-1.0 + 1.4 * a - 0.9 * b, -0.6 - 1.2 * a + 0.9 * c)
    means = outcome_means(-0.2 + 1.7 * c + 1.4 * d - 1.2 * e, 0.7 + 0.6 * b, 0.4)
    return x, np.full(n, 0.4), types, means


def _jumps(rng: np.random.Generator, n: int) -> Drawn:
    """Twelve regions, cut by three of eight columns, each with its own law; some people defy."""
    x = rng.random((n, 8))
    x[:, 5:] = np.floor(4 * x[:, 5:])
    first, second, third = rng.choice(8, 3, replace=False)
    cuts = [np.quantile(x[:, j], rng.uniform(0.3, 0.7)) for j in (first, second)]
    halves = [(x[:, j] > cut).astype(np.int64) for j, cut in zip((first, second), cuts, strict=True)]
    low, high = np.quantile(x[:, third], [1 / 3, 2 / 3])
    thirds = (x[:, third] > low).astype(np.int64) + (x[:, third] > high)
    region = 6 * halves[0] + 3 * halves[1] + thirds
    types = rng.dirichlet([0.5, 0.5, 1.0, 0.15], 12)
    means = expit(rng.normal(0.0, 2.5, (12, 1, 1)) + rng.normal(0.0, 0.7, (12, 4, 2)))
    return x, np.full(n, 0.5), types[region], means[region]


def _one_sided(rng: np.random.Generator, n: int) -> Drawn:
    """A trial in which nobody gets the treatment unless it is offered; a baseline score says much about the outcome."""
    age, woman, site = rng.uniform(20, 65, n), rng.integers(0, 2, n), rng.integers(0, 4, n)
    baseline = np.clip(rng.normal(0.5, 0.22, n), 0.0, 1.0)
    of_site = rng.normal(0.0, 0.4, 4)[site]
    never = -0.6 + 0.05 * (age - 42) + 0.5 * woman + of_site
    types = type_shares(np.full(n, -np.inf), never)
    means = outcome_means(-0.8 + 11.0 * (baseline - 0.5) + of_site, 0.5 + 0.03 * (42 - age), 0.4)
    return np.column_stack([age, woman, baseline, site]).astype(np.float64), np.full(n, 2 / 3), types, means


def _weak(rng: np.random.Generator, n: int) -> Drawn:
    """3 to 10 % comply; whether the others are treated, and how they fare, depends on the same covariates."""
    x = _correlated(rng, n, 6, 0.4)
    taste, health = direction(rng, x), direction(rng, x)
    compliers = 0.03 + 0.07 * expit(2 * health)
    always = (1 - compliers) * expit(-0.2 + 1.5 * taste)
    types = np.stack([always, 1 - compliers - always, compliers, np.zeros(n)], axis=1)
    means = outcome_means(0.3 + 1.3 * health + 0.8 * taste, 0.4 + 0.3 * taste, 0.5)
    return x, np.full(n, 0.5), types, means


def _assigned_by_covariates(rng: np.random.Generator, n: int) -> Drawn:
    """The instrument is more likely for some people, who also fare better and gain more."""
    x = _correlated(rng, n, 5, 0.2)
    x[:, 4] = x[:, 4] > 0.3
    offered, health, taste = (direction(rng, x) for _ in range(3))
    propensity = np.clip(expit(1.1 * offered), 0.1, 0.9)
    types = type_shares(-1.0 + 1.2 * taste, -0.5 - 1.2 * taste + 0.5 * offered)
    means = outcome_means(1.2 * health + 0.9 * offered, 0.5 + 0.7 * offered, 0.4)
    return x, propensity, types, means


FAMILIES = (
    Family("smooth", "12 correlated covariates, all of which matter a little", _smooth, beta(8.0), True),
    Family("sparse", "40 covariates, of which 5 matter", _sparse, beta(80.0), True),
    Family("jumps", "12 regions with a law of their own; some people defy", _jumps, points(4), True),
    Family(
        "one-sided", "a trial: nobody is treated unless offered; 4 covariates", _one_sided, zero_and_rest(3.0), True
    ),
    Family("weak", "3 to 10 % comply; 6 covariates", _weak, beta(1.0)),
    Family(
        "assigned",
        "P(Z=1 | x) from 0.1 to 0.9, and effects too, depend on 5 covariates",
        _assigned_by_covariates,
        points(10),
    ),
)
