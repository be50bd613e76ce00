"""Bounds for many ad campaigns at once, from counts alone: a GROUP BY is a lossless compression of discrete data.

python examples/many_studies.py [campaigns]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import polars as pl

from ivicl import IVBounds


def campaigns(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Lift tests: half the people are offered the ad, some of them see it, nobody else does."""
    rows = []
    for campaign in range(n):
        people, reach, base, lift = rng.integers(20_000, 2_000_000), rng.uniform(0.2, 0.9), 0.02, rng.normal(0, 0.004)
        offered = rng.binomial(people, 0.5)
        seen = rng.binomial(offered, reach)
        for z, t, size, rate in (
            (0, 0, people - offered, base),
            (1, 0, offered - seen, base * 0.8),
            (1, 1, seen, base + 0.2 * base * (1 - reach) / reach + lift),
        ):
            bought = rng.binomial(size, min(max(rate, 0.0), 1.0))
            rows += [(campaign, z, t, 1, bought), (campaign, z, t, 0, size - bought)]
    return pl.DataFrame(rows, schema=["campaign", "offered", "saw", "bought", "people"], orient="row")


def main(n: int = 50) -> Any:
    table = campaigns(int(n), np.random.default_rng(0))
    bounds = IVBounds().fit_many(
        table, by="campaign", outcome="bought", treatment="saw", instrument="offered", weights="people"
    )
    print(bounds.select("campaign", "n", "lower", "upper", "not_identified", "not_enough_data", "grade", "error"))
    return bounds


if __name__ == "__main__":
    main(*sys.argv[1:])
