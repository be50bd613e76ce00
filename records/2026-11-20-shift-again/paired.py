"""With the shift minus without it, on the same data sets: python records/2026-11-20-shift-again/paired.py"""

from pathlib import Path

import polars as pl

ROOT = Path(__file__).parent.parent.parent
runs = pl.read_parquet(ROOT / "docs" / "reproduced" / "runs.parquet").filter(pl.col("model").str.contains("shift-"))
for method in ("ivicl", "ivicl@effect"):
    on, off = (
        runs.filter(pl.col("model").str.contains(twin), pl.col("method") == method).sort("seed")
        for twin in ("shift-on", "shift-off")
    )
    assert on["seed"].to_list() == off["seed"].to_list()
    for figure in ("width", "valid", "covers_effect"):
        change = on[figure].cast(pl.Float64) - off[figure].cast(pl.Float64)
        print(f"{method} {figure}: {change.mean():+.3f} +- {change.std() / len(change) ** 0.5:.3f} ({len(change)} data sets)")
