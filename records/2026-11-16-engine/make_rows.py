"""Discrete rows of a trial with non-compliance, as Parquet parts or one CSV file: 20 covariate cells.

python make_rows.py 100_000_000 folder           folder/part-00.parquet, part-01.parquet, ...
python make_rows.py 10_000_000 rows.csv
"""

from __future__ import annotations

import sys
from pathlib import Path

from ivicl.benchmarks.scale_speed import ROWS_PER_FILE, discrete_rows, write_discrete


def main(rows: int, target: Path) -> None:
    if target.suffix != ".csv":
        write_discrete(rows, target)
        return
    with target.open("wb") as file:
        for seed, start in enumerate(range(0, rows, ROWS_PER_FILE)):
            discrete_rows(min(ROWS_PER_FILE, rows - start), seed).write_csv(file, include_header=seed == 0)


if __name__ == "__main__":
    main(int(sys.argv[1].replace("_", "")), Path(sys.argv[2]))
