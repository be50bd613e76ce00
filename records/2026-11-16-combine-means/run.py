"""Amounts by their means on the shipped graph, against sixteen thresholds: efficiency, coverage, time.

The amounts of the six families of laws of `ivicl evaluate --parts efficiency` (none drawn from the prior), with a seed
that is not the judge's. Efficiency is the 99 % interval's margin beyond the true ends over the best possible one.

Run: python records/2026-11-16-combine-means/run.py [--sizes 300:8 1000:8 4000:3]     # prints the tables
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from dataclasses import replace

import numpy as np

from ivicl.benchmarks.efficiency.families import FAMILIES
from ivicl.benchmarks.efficiency.predictors import Predict, _answer
from ivicl.benchmarks.efficiency.verdicts import LEVELS, MARGIN, Case, Verdict, verdict
from ivicl.data import IVData
from ivicl.data.encoding import weighted_quantile
from ivicl.methods.base import Request
from ivicl.methods.pretrained.method import NetworkOptions, bounds

SEED = 20_261_117


def asked(combine: str) -> Predict:
    request = Request(combine=combine, own=NetworkOptions())
    return lambda data, alphas: {"ATE": _answer(bounds(data, request), alphas)}


def binary_twin(data: IVData) -> IVData:
    """The same rows with a yes/no outcome: is Y at least its median?"""
    return data.threshold(float(weighted_quantile(data.y, data.w, 0.5)))


def line(name: str, verdicts: list[Verdict]) -> str:
    margin = np.mean([each.margins for each in verdicts])
    best = MARGIN * np.mean([each.errors for each in verdicts])
    held = np.mean([each.held["ATE"] for each in verdicts], axis=0)
    return f"| {name} | {len(verdicts)} | {margin / best:.2f} | " + " | ".join(f"{h:.2f}" for h in held) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="*", default=["300:8", "1000:8", "4000:3"], help="people:data sets")
    sizes = dict(tuple(map(int, text.split(":"))) for text in parser.parse_args().sizes)
    levels = " | ".join(f"{100 * level:.0f} %" for level in LEVELS)
    print(f"| people | family | combination | data sets | efficiency | {levels} |")
    print("|" + "---|" * (5 + len(LEVELS)))
    every: dict[str, list[Verdict]] = defaultdict(list)
    seconds: dict[tuple[int, str], list[float]] = defaultdict(list)
    for n, sets in sizes.items():
        for family in FAMILIES:
            cases = [Case(family, "amounts", n, k) for k in range(sets)]
            for combine in ("means", "comonotone"):
                found = [verdict(case, SEED, asked(combine)) for case in cases]
                every[combine] += found
                seconds[n, combine] += [each.seconds for each in found]
                print(f"| {n:,} | {family.name} " + line(combine, found), flush=True)
            for case in cases:
                data = binary_twin(case.dataset(SEED).data)
                started = time.perf_counter()
                bounds(replace(data, report=data.report), Request(own=NetworkOptions()))
                seconds[n, "yes/no"].append(time.perf_counter() - started)
    for combine, found in every.items():
        print("| all | all " + line(combine, found))
    print("\n| people | yes/no, s | means, s (ratio) | comonotone, s (ratio) |\n|---|---|---|---|")
    for n in sizes:
        base = float(np.median(seconds[n, "yes/no"]))
        shown = [float(np.median(seconds[n, combine])) for combine in ("means", "comonotone")]
        print(f"| {n:,} | {base:.3f} | " + " | ".join(f"{s:.3f} ({s / base:.1f})" for s in shown) + " |")


if __name__ == "__main__":
    main()
