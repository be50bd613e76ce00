"""Discrete rows of a trial with non-compliance, as Parquet parts or one CSV file: 20 covariate cells.

python make_rows.py 100_000_000 folder           folder/part-00.parquet, part-01.parquet, ...
python make_rows.py 10_000_000 rows.csv
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

ROWS_PER_PART = 5_000_000
REGIONS = np.array(["north", "east", "south", "west", "islands"])


def part(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng([2026, seed])
    age, region = rng.integers(0, 4, rows, dtype=np.int8), rng.integers(0, 5, rows, dtype=np.int8)
    z = rng.integers(0, 2, rows, dtype=np.int8)
    t = (rng.random(rows, dtype=np.float32) < 0.1 + 0.45 * z + 0.05 * age).astype(np.int8)
    y = (rng.random(rows, dtype=np.float32) < 0.25 + 0.2 * t + 0.03 * region).astype(np.int8)
    names = pl.Series(REGIONS).gather(pl.Series(region.astype(np.int64)))
    return pl.DataFrame({"offered": z, "saw": t, "bought": y, "age": age, "region": names})


def main(rows: int, target: Path) -> None:
    sizes = [min(ROWS_PER_PART, rows - start) for start in range(0, rows, ROWS_PER_PART)]
    if target.suffix == ".csv":
        with target.open("wb") as file:
            for seed, size in enumerate(sizes):
                part(size, seed).write_csv(file, include_header=seed == 0)
        return
    target.mkdir(parents=True, exist_ok=True)
    for seed, size in enumerate(sizes):
        part(size, seed).write_parquet(target / f"part-{seed:02d}.parquet")


if __name__ == "__main__":
    main(int(sys.argv[1].replace("_", "")), Path(sys.argv[2]))
