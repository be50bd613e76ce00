"""A run of the judge: which data sets there are, all of them answered, and how long the whole would take.

Data sets are judged side by side, one on each core: nearly all of the time is the graph's, which a second thread inside
a pass speeds up little. What is found does not depend on how many there are at once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ivicl._shared.cores import in_order, threads
from ivicl._shared.progress import progress_bar
from ivicl.benchmarks.efficiency.adversarial import ADVERSARIAL
from ivicl.benchmarks.efficiency.families import FAMILIES, Family
from ivicl.benchmarks.efficiency.predictors import Predict
from ivicl.benchmarks.efficiency.summary import summarise
from ivicl.benchmarks.efficiency.verdicts import VERSIONS, Case, Verdict, verdict

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """How many data sets of each size, and from which seed."""

    sizes: Mapping[int, int]
    """People -> data sets of each family and version."""
    adversarial: Mapping[int, int]
    """The same for the adversarial families."""
    seed: int


FULL = Plan({300: 100, 1_000: 100, 4_000: 40, 16_000: 20, 64_000: 10}, {1_000: 40, 4_000: 20}, 20_261_116)
"""The judge. Its seed is for judging alone."""
QUICK = Plan({300: 8, 1_000: 8, 4_000: 4}, {1_000: 4, 4_000: 2}, 7)
"""For use while something is being made: few data sets, none of them the judge's."""


def cases(families: Iterable[Family], sizes: Mapping[int, int]) -> list[Case]:
    """Small ones first."""
    chosen = list(families)
    return [
        Case(family, version, n, k)
        for n, sets in sorted(sizes.items())
        for version in VERSIONS
        for family in chosen
        for k in range(sets)
    ]


def judge(
    predict: Predict,
    plan: Plan = FULL,
    families: Sequence[Family] = FAMILIES,
    adversarial: Sequence[Family] = ADVERSARIAL,
    progress: bool = False,
    workers: int | None = None,
) -> dict[str, Any]:
    """The part "efficiency" of the model card (`summary.summarise` says what is in it).

    `workers` data sets are judged at a time; as many as there are cores unless said.
    """
    workers = workers or threads()
    named = {family.name for family in adversarial}
    all_cases = cases(families, plan.sizes) + cases(adversarial, plan.adversarial)
    verdicts = []
    with progress_bar("people judged on", sum(case.n for case in all_cases), on=progress) as advance:
        answers = in_order(lambda case: verdict(case, plan.seed, predict), all_cases, workers)
        for case, judged in zip(all_cases, answers, strict=True):
            verdicts.append(judged)
            advance(case.n)
    found = summarise(
        [each for each in verdicts if each.family not in named], [each for each in verdicts if each.family in named]
    )
    found["full_run_minutes"] = full_run_minutes(verdicts) / workers
    log.info("the full run would take about %.0f minutes here", found["full_run_minutes"])
    return found


def full_run_minutes(verdicts: Sequence[Verdict]) -> float:
    """One by one, from the seconds that these took: the nearest size of the same version, in proportion to people."""
    total = 0.0
    for version in VERSIONS:
        mine = [each for each in verdicts if each.version == version]
        for n, sets in [(n, sets * len(FAMILIES)) for n, sets in FULL.sizes.items()] + [
            (n, sets * len(ADVERSARIAL)) for n, sets in FULL.adversarial.items()
        ]:
            nearest = min((each.n for each in mine), key=lambda size: abs(np.log(size / n)), default=0)
            taken = [each.seconds for each in mine if each.n == nearest]
            total += sets * float(np.mean(taken)) * n / nearest if taken else 0.0
    return total / 60
