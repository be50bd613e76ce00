"""Whether intervals hold the effect as often as they say, at 18 levels, on the families of `links`."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from ivicl.benchmarks.base import Study, StudyRuns
from ivicl.benchmarks.figures import STYLE, band, legend, pyplot, save
from ivicl.benchmarks.method_spec import colour_of, curve_name
from ivicl.benchmarks.sets.links import FAMILIES, parse

LEVELS = (0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.995)
"""The 18 nominal levels of the curves."""


def calibration_table(runs: pl.DataFrame) -> pl.DataFrame:
    """Per method, family and nominal level: the share of intervals that contain the true effect."""
    mine = runs.filter((pl.col("status") == "ok") & (pl.col("levels") != ""))
    rows = []
    for run in mine.iter_rows(named=True):
        family, n, _ = parse(run["setting"])
        fixed = len({tuple(pair) for pair in json.loads(run["levels"]).values()}) == 1
        for level, (low, high) in json.loads(run["levels"]).items():
            inside = float(low <= run["effect"] <= high)
            row = dict(method=run["method"], family=family, n=n, level=float(level), inside=inside, fixed=fixed)
            rows.append(row)
    if not rows:
        return pl.DataFrame()
    grouped = pl.DataFrame(rows).group_by("method", "family", "n", "level", "fixed")
    table = grouped.agg(coverage=pl.col("inside").mean(), datasets=pl.len())
    p = pl.col("coverage")
    table = table.with_columns(coverage_se=(p * (1 - p) / pl.col("datasets")).sqrt())
    return table.sort("method", "family", "level")


def calibration_figure(table: pl.DataFrame, path: Path) -> Path:
    """Coverage against the nominal level, one panel per family; methods with a single interval are flat lines."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(FAMILIES), figsize=(10, 3.6), sharex=True, sharey=True, layout="constrained")
        for axis, family in zip(axes, FAMILIES, strict=True):
            axis.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
            for i, method in enumerate(table["method"].unique(maintain_order=True)):
                rows = table.filter((pl.col("method") == method) & (pl.col("family") == family)).sort("level")
                if rows.is_empty():
                    continue
                x, y, se = (rows[c].to_numpy() for c in ("level", "coverage", "coverage_se"))
                shade, label = colour_of(method, i), curve_name(method)
                if rows["fixed"].all():
                    axis.plot(x, y, color=shade, linestyle=":", linewidth=1.4, label=f"{label}, one interval")
                else:
                    band(axis, x, y, se, shade, label)
            axis.set(title=family, xlabel="nominal level", xlim=(0, 1), ylim=(-0.03, 1.05))
        axes[0].set_ylabel("share that contain the true effect")
        legend(figure, axes[0], 4)
        return save(figure, path)


STUDY = Study(
    name="calibration",
    title="Calibration",
    caption="Coverage against the nominal level; bands are one standard error.",
    seeds=100,
    quick_seeds=3,
    runs=StudyRuns(
        benchmark="links",
        settings=tuple(f"{family}/n=1024/d=5" for family in FAMILIES),
        quick_settings=tuple(f"{family}/n=256/d=5" for family in FAMILIES),
        table=calibration_table,
        figure=calibration_figure,
        levels=LEVELS,
    ),
    in_paper=True,
    order=20,
)
