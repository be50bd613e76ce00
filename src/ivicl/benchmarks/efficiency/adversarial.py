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


def _rota(rng: np.random.Generator, n: int) -> Drawn:
    """A trial at eight sites of unequal size; each site has its own rota of days (or months), in no order at all."""
    sizes = rng.dirichlet(np.full(8, 6.0))
    site, day, month = rng.choice(8, n, p=sizes), rng.integers(0, 6, n), rng.integers(0, 12, n)
    calendar, codes = ((day, 6), (month, 12))[rng.integers(2)]
    half = np.repeat([-1.0, 1.0], codes // 2)
    tables = [np.stack([rng.permutation(half) for _ in range(8)]) for _ in range(50)]
    table = min(tables, key=lambda one: np.abs(sizes @ one).sum())  # hardly any day is special over all sites
    table = table * rng.uniform(0.7, 1.0, table.shape)
    age, severity, woman = rng.uniform(18, 85, n), rng.gamma(2.0, 1.5, n), rng.integers(0, 2, n)
    previous = rng.poisson(1.2, n)
    x = np.column_stack([site, day, month, age, severity, woman, previous]).astype(np.float64)
    return _hidden(x, table[site, calendar])


def _catchment(rng: np.random.Generator, n: int) -> Drawn:
    """What matters is which of two chains the nearest of 28 clinics belongs to; the chains open near one another."""
    towns, widths = rng.random((10, 2)), rng.uniform(0.04, 0.12, 10)
    town = rng.integers(0, 10, n)
    rural = rng.random(n) < 0.35
    place = towns[town] + widths[town, None] * rng.normal(size=(n, 2))
    place[rural] = rng.random((int(rural.sum()), 2))
    first = place[rng.choice(n, 14, replace=False)]
    angle, apart = rng.uniform(0, 2 * np.pi, 14), rng.uniform(0.05, 0.15, 14)
    second = first + apart[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    distances = np.linalg.norm(place[:, None] - np.concatenate([first, second]), axis=2)
    nearest = distances.argmin(axis=1)
    shares = np.bincount(nearest, minlength=28) / n
    draws = [rng.choice([-1.0, 1.0], 14) for _ in range(30)]
    chains = min((np.concatenate([signs, -signs]) for signs in draws), key=lambda both: abs(float(shares @ both)))
    age, woman, schooling = rng.uniform(18, 85, n), rng.integers(0, 2, n), rng.integers(8, 19, n)
    income = np.exp(rng.normal(3.4, 0.6, n) + 0.05 * (schooling - 13))
    longitude, latitude = 5.0 + 4.0 * place[:, 0], 46.0 + 3.0 * place[:, 1]
    x = np.column_stack([age, longitude, woman, latitude, schooling, income, distances.min(axis=1)])
    return _hidden(x, chains[nearest])


def _tiers(rng: np.random.Generator, n: int) -> Drawn:
    """Income over the need of a household of that size falls into seven tiers, in turn generous and not."""
    schooling, age = rng.integers(8, 19, n), rng.uniform(20, 66, n)
    income = np.exp(rng.normal(3.3, 0.7, n) + 0.07 * (schooling - 13) - 0.0006 * (age - 48) ** 2)
    size = 1 + np.minimum(rng.poisson(1.7, n), 7)
    ratio = income / size ** rng.uniform(0.6, 1.0)
    cuts = np.quantile(ratio, np.arange(1, 12, 2) / 12 + rng.uniform(-0.015, 0.015, 6))
    tier = np.searchsorted(cuts, ratio)
    rent = income * rng.beta(3.0, 7.0, n)
    city, weeks = rng.integers(0, 2, n), rng.binomial(52, 0.8, n)
    x = np.column_stack([age, schooling, size, income, rent, city, weeks]).astype(np.float64)
    return _hidden(x, rng.choice([-1.0, 1.0]) * (2.0 * (tier % 2) - 1.0))


ADVERSARIAL = (
    Family("parity", "three of eight coins act by their parity", _parity, points(4)),
    Family("waves", "one of five columns acts as a wave of five periods", _waves, beta(8.0)),
    Family("product", "two of ten columns act by the sign of their product", _product, zero_and_rest(3.0)),
    Family("rings", "the distance from the middle of two of six columns acts in rings", _rings, beta(8.0)),
    Family("checkers", "two of six columns act like the fields of a board", _checkers, points(4)),
    Family("odd", "whether the sum of three of five items is odd acts", _odd, zero_and_rest(3.0)),
)

WITNESSES = (
    Family("rota", "at each of eight sites other days or months act; codes have no order", _rota, points(4)),
    Family("catchment", "which of two chains the nearest of 28 clinics belongs to acts", _catchment, beta(8.0)),
    Family("tiers", "seven tiers of income over household need act in turn", _tiers, zero_and_rest(3.0)),
)
"""Written after the alarm was finished, by somebody who had not seen how it works: how it does on these is evidence."""
