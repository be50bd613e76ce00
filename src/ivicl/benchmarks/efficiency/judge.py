"""A run of the judge: which data sets there are, the verdict on each, and how long the full run would take.

Data sets are judged in parallel, one per core: nearly all of the time goes into the network's graph, and a second
thread inside a pass speeds that up little. The results do not depend on how many are judged at once.
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
"""The full run. Its seed is used for judging and for nothing else."""
QUICK = Plan({300: 8, 1_000: 8, 4_000: 4}, {1_000: 4, 4_000: 2}, 7)
"""For use during development: few data sets, none of which is in the full run."""


def cases(families: Iterable[Family], sizes: Mapping[int, int]) -> list[Case]:
    """All data sets of these families, small ones first."""
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

    `workers` data sets are judged at a time; by default as many as there are cores.
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
    """How long the full run would take, one data set at a time.

    Scaled up from these verdicts: the seconds of the nearest size of the same version, in proportion to people.
    """
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
