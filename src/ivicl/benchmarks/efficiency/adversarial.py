"""Families that are made to deceive a method: the alarm must ring on them.

A method that fails to capture a law does no harm as long as the instrument is assigned with the same probability
everywhere: the ends are then only wider than they could be. Here assignment and outcome follow the same hidden function
of the covariates, so that a method that does not find the function suffers from confounding and misses an end.
"""

from __future__ import annotations

import numpy as np

from ivicl.benchmarks.efficiency.families import Drawn, Family, expit, outcome_means, type_shares
from ivicl.benchmarks.efficiency.outcomes import beta, points, zero_and_rest


def _hidden(x: np.ndarray, hidden: np.ndarray) -> Drawn:
    """A law that depends on `hidden` (N,), between -1 and 1, and on nothing else."""
    types = type_shares(-1.0 + 0.5 * hidden, -1.0 - 0.5 * hidden)
    means = outcome_means(1.3 * hidden, np.full(len(x), 0.6), 0.3)
    return x, expit(1.3 * hidden), types, means


def _parity(rng: np.random.Generator, n: int) -> Drawn:
    """Eight fair coins; three of them matter, but only through their parity."""
    x = rng.integers(0, 2, (n, 8)).astype(np.float64)
    return _hidden(x, np.prod(2 * x[:, rng.choice(8, 3, replace=False)] - 1, axis=1))


def _waves(rng: np.random.Generator, n: int) -> Drawn:
    """Five uniform columns; one matters, as a wave that goes up and down five times."""
    x = rng.random((n, 5))
    wave = np.sin(2 * np.pi * (5 * x[:, rng.integers(5)] + rng.random()))
    return _hidden(x, np.tanh(3 * wave))


def _product(rng: np.random.Generator, n: int) -> Drawn:
    """Ten normal columns; two matter through the sign of their product, so neither is associated with anything."""
    x = rng.normal(size=(n, 10))
    first, second = rng.choice(10, 2, replace=False)
    return _hidden(x, np.tanh(3 * x[:, first] * x[:, second]))


def _rings(rng: np.random.Generator, n: int) -> Drawn:
    """Six normal columns; what matters is the distance from the centre in two of them, in rings."""
    x = rng.normal(size=(n, 6))
    radius = np.hypot(*x[:, rng.choice(6, 2, replace=False)].T)
    return _hidden(x, np.tanh(4 * np.cos(np.pi * radius / 0.7)))


def _checkers(rng: np.random.Generator, n: int) -> Drawn:
    """Six columns; two of the first four, cut into three parts each, form a chequerboard whose colour matters."""
    x = rng.random((n, 6))
    x[:, 4:] = np.floor(5 * x[:, 4:])
    fields = np.floor(3 * x[:, rng.choice(4, 2, replace=False)]).sum(axis=1)
    return _hidden(x, 2 * (fields % 2) - 1)


def _odd(rng: np.random.Generator, n: int) -> Drawn:
    """Five items of a questionnaire and an age; what matters is whether the sum of three items is odd."""
    items = rng.binomial(4, 0.5, (n, 5)).astype(np.float64)
    total = items[:, rng.choice(5, 3, replace=False)].sum(axis=1)
    return _hidden(np.column_stack([items, rng.uniform(18, 80, n)]), 2 * (total % 2) - 1)


ADVERSARIAL = (
    Family("parity", "three of eight coins act by their parity", _parity, points(4)),
    Family("waves", "one of five columns acts as a wave of five periods", _waves, beta(8.0)),
    Family("product", "two of ten columns act by the sign of their product", _product, zero_and_rest(3.0)),
)

WITNESSES = (
    Family("rings", "the distance from the middle of two of six columns acts in rings", _rings, beta(8.0)),
    Family("checkers", "two of six columns act like the fields of a board", _checkers, points(4)),
    Family("odd", "whether the sum of three of five items is odd acts", _odd, zero_and_rest(3.0)),
)
"""Written after the alarm was finished, so that how it does on these is evidence."""
