"""Seconds per 1,000 rows of each baseline, in one run: `python -m ivicl.baselines.timing [--rows 2048]`.

The table is the first of the synthetic benchmark (binary outcome, continuous covariates).
"""

from __future__ import annotations

import argparse
import time

METHODS = ("plugin", "levis", "whitehouse", "bayes-bp", "bayes")


def seconds_per_1000(method: str, rows: int, seed: int = 0) -> tuple[float, float]:
    """Wall-clock and processor seconds per 1,000 rows of one fit (children's processor time is not counted)."""
    from ivicl.benchmarks.synthetic import generate
    from ivicl.estimator import IVBounds

    data = generate(seed, n=rows).data
    wall, used = time.perf_counter(), time.process_time()
    IVBounds(method=method).fit_data(data)
    return (time.perf_counter() - wall) / rows * 1000, (time.process_time() - used) / rows * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    args = parser.parse_args()
    import joblib

    print(f"{args.rows} rows, {joblib.cpu_count()} cores")
    print("method        seconds per 1,000 rows   of the main process")
    for method in args.methods:
        wall, used = seconds_per_1000(method, args.rows)
        print(f"{method:<12} {wall:23.2f} {used:21.2f}", flush=True)


if __name__ == "__main__":
    main()
