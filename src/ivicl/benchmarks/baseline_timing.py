"""Seconds per 1,000 rows of each baseline, in one run: `python -m ivicl.benchmarks.baseline_timing [--rows 2048]`.

The table is the first of the synthetic benchmark (binary outcome, continuous covariates). Processor seconds do not
depend on what else the machine is doing, wall-clock seconds do; with one process both count the same work.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

from ivicl.benchmarks.sets.synthetic import generate
from ivicl.estimator import IVBounds

METHODS = ("plugin", "levis", "whitehouse", "bayes-bp", "bayes")
FITS_NUISANCES = METHODS[:3]


def seconds_per_1000(method: str, rows: int, processes: int, seed: int = 0) -> tuple[float, float]:
    """Wall-clock seconds and processor seconds (of this process) per 1,000 rows of one fit."""
    data = generate(seed, n=rows).data
    options: dict[str, Any] = {"n_jobs": processes} if method in FITS_NUISANCES else {}
    wall, used = time.perf_counter(), time.process_time()
    IVBounds(method=method, **options).fit_data(data)
    return (time.perf_counter() - wall) / rows * 1000, (time.process_time() - used) / rows * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--processes", type=int, default=1, help="processes for the folds of the nuisances")
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    args = parser.parse_args()
    seconds_per_1000("bayes", 64, 1)  # imports are not what is timed
    seconds_per_1000("plugin", 200, args.processes)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"{args.rows} rows, {args.processes} process(es) for the folds, {os.cpu_count()} cores, load {load:.1f}")
    print("seconds per 1,000 rows   processor   wall clock")
    for method in args.methods:
        wall, used = seconds_per_1000(method, args.rows, args.processes)
        print(f"{method:<23} {used:10.2f} {wall:12.2f}", flush=True)


if __name__ == "__main__":
    main()
