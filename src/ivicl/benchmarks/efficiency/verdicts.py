"""One interval on one data set, judged against the law that the data came from."""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ivicl.benchmarks.efficiency.best import efficient_se
from ivicl.benchmarks.efficiency.families import Family
from ivicl.benchmarks.efficiency.laws import Dataset
from ivicl.benchmarks.efficiency.predictors import Answer, Predict

LEVELS = (0.50, 0.80, 0.90, 0.95, 0.99)
"""Nominal levels of the intervals; efficiency is judged at the last."""
MARGIN = NormalDist().inv_cdf((1 + LEVELS[-1]) / 2)
"""How many standard errors the best interval reaches beyond an end: 2.576."""
VERSIONS = ("binary", "amounts")


@dataclass(frozen=True)
class Case:
    """One data set to be judged on."""

    family: Family
    version: str
    n: int
    number: int

    def dataset(self, seed: int) -> Dataset:
        """The data set, which is the same whatever else is judged."""
        key = [seed, zlib.crc32(self.family.name.encode()), VERSIONS.index(self.version), self.n, self.number]
        return self.family.dataset(np.random.default_rng(key), self.n, self.version == "amounts")


@dataclass(frozen=True)
class Verdict:
    """What one interval was worth."""

    family: str
    version: str
    n: int
    held: dict[str, list[bool]]
    """By estimand, for each of LEVELS: the interval holds both true ends."""
    margins: tuple[float, float]
    """How far the 99 % interval of the effect reaches beyond its true ends."""
    errors: tuple[float, float]
    """The best standard errors of these ends."""
    bias: tuple[float, float]
    """Best guess minus true end, in those standard errors."""
    seconds: float


def verdict(case: Case, seed: int, predict: Predict) -> Verdict:
    """Judge one answer."""
    made = case.dataset(seed)
    data, law = made.data, made.law
    started = time.perf_counter()
    answers = predict(data, [1 - level for level in LEVELS])
    seconds = time.perf_counter() - started
    errors = efficient_se(law.seen, case.n)["ATE"]
    (lower, upper), effect = law.truth["ATE"], answers["ATE"]
    return Verdict(
        case.family.name,
        case.version,
        case.n,
        {name: holds(answer, law.truth[name]) for name, answer in answers.items() if name in law.truth},
        (lower - float(effect.lower[-1]), float(effect.upper[-1]) - upper),
        errors,
        ((effect.lower_mean - lower) / errors[0], (effect.upper_mean - upper) / errors[1]),
        seconds,
    )


def holds(answer: Answer, truth: tuple[float, float]) -> list[bool]:
    """For each level: both true ends lie inside."""
    inside = (answer.lower <= truth[0]) & (answer.upper >= truth[1])
    return [bool(held) for held in inside]
