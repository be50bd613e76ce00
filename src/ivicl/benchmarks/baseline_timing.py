"""Seconds per 1,000 rows of each baseline, in one run: `python -m ivicl.benchmarks.baseline_timing [--rows 2048]`.

The table is the first of the synthetic benchmark (binary outcome, continuous covariates). Processor seconds do not
depend on what else the machine is doing, wall-clock seconds do; with one process both count the same work.
"""

from __future__ import annotations

import argparse
import logging
import os
import time
from dataclasses import fields
from typing import Any

from ivicl.benchmarks.sets.synthetic import generate
from ivicl.errors import design_warnings_off
from ivicl.estimator import IVBounds
from ivicl.methods.registry import resolve

log = logging.getLogger(__name__)

METHODS = ("plugin", "levis", "whitehouse", "bayes-bp", "bayes")


def seconds_per_1000(method: str, rows: int, processes: int, seed: int = 0) -> tuple[float, float]:
    """Wall-clock seconds and processor seconds (of this process) per 1,000 rows of one fit."""
    data = generate(seed, n=rows).data
    takes_processes = any(option.name == "n_jobs" for option in fields(resolve(method).options))
    options: dict[str, Any] = {"n_jobs": processes} if takes_processes else {}
    wall, used = time.perf_counter(), time.process_time()
    with design_warnings_off():
        IVBounds(method=method, **options).fit_data(data)
    return (time.perf_counter() - wall) / rows * 1000, (time.process_time() - used) / rows * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--processes", type=int, default=1, help="processes for the folds of the nuisances")
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    args = parser.parse_args()
    seconds_per_1000("bayes", 64, 1)  # warm up, so that imports are not timed
    seconds_per_1000("plugin", 200, args.processes)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    counted = (args.rows, args.processes, os.cpu_count(), load)
    log.info("%d rows, %d process(es) for the folds, %s cores, load %.1f", *counted)
    log.info("seconds per 1,000 rows   processor   wall clock")
    for method in args.methods:
        wall, used = seconds_per_1000(method, args.rows, args.processes)
        log.info("%-23s %10.2f %12.2f", method, used, wall)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
