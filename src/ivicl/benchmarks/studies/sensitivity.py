"""How 90 % intervals fare with fewer rows and more covariates, on the families of `links`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from ivicl.benchmarks.base import Study, StudyRuns
from ivicl.benchmarks.figures import STYLE, band, legend, mean_by, pyplot, save
from ivicl.benchmarks.method_spec import colour_of, curve_name
from ivicl.benchmarks.sets.links import FAMILIES

SIZES = (256, 512, 1024, 2048, 4096)
DIMENSIONS = (2, 4, 8, 16, 32)


def sweep(sizes: Sequence[int], dimensions: Sequence[int], base: int) -> tuple[str, ...]:
    """Every size with five covariates, and every number of covariates with `base` rows."""
    cells = dict.fromkeys([(n, 5) for n in sizes] + [(base, d) for d in dimensions])
    return tuple(f"{family}/n={n}/d={d}" for family in FAMILIES for n, d in cells)


def sensitivity_table(runs: pl.DataFrame) -> pl.DataFrame:
    """Per method, family, n and d: coverage of the true effect and mean width at the 90 % level."""
    if runs.is_empty():
        return pl.DataFrame()
    parts = runs["setting"].str.split("/")
    mine = runs.with_columns(
        family=parts.list.get(0),
        rows=parts.list.get(1).str.strip_prefix("n=").cast(pl.Int64),
        covariates=parts.list.get(2).str.strip_prefix("d=").cast(pl.Int64),
    )
    return mean_by(mine, ["method", "family", "rows", "covariates"]).sort("method", "family", "rows", "covariates")


def sensitivity_figure(table: pl.DataFrame, path: Path) -> Path:
    """Coverage (top) and width (bottom) against the number of rows (left) and of covariates (right)."""
    plt = pyplot()
    lines = ("-", "--", ":")
    base = int(table.filter(pl.col("covariates") != 5)["rows"].max() or 1024)  # type: ignore[arg-type]
    sweeps = ((table.filter(pl.col("covariates") == 5), "rows"), (table.filter(pl.col("rows") == base), "covariates"))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(2, 2, figsize=(9, 5.8), sharex="col", sharey="row", layout="constrained")
        for column, (part, axis_name) in enumerate(sweeps):
            for i, method in enumerate(table["method"].unique(maintain_order=True)):
                for style, family in zip(lines, FAMILIES, strict=True):
                    rows = part.filter((pl.col("method") == method) & (pl.col("family") == family)).sort(axis_name)
                    x, shade = rows[axis_name].to_numpy(), colour_of(method, i)
                    label = f"{curve_name(method)}, {family}"
                    for axis, value in zip(axes[:, column], ("coverage", "width"), strict=True):
                        y, se = rows[value].to_numpy(), rows[f"{value}_se"].to_numpy()
                        band(axis, x, y, se, shade, label, linestyle=style)
            axes[1, column].set_xscale("log", base=2)
            ticks = sorted(part[axis_name].unique().to_list())
            axes[1, column].set_xticks(ticks, [f"{t:,}" for t in ticks])
        axes[0, 0].set(ylabel="share that contain the true effect", ylim=(-0.03, 1.05))
        axes[1, 0].set(ylabel="width / (max Y − min Y)", xlabel="rows (5 covariates)", ylim=(0, None))
        axes[1, 1].set(xlabel=f"covariates ({base:,} rows)")
        legend(figure, axes[1, 0], 3)
        return save(figure, path)


STUDY = Study(
    name="sensitivity",
    title="Sensitivity",
    caption="Coverage and width of 90 % intervals against rows and covariates.",
    seeds=30,
    quick_seeds=2,
    runs=StudyRuns(
        benchmark="links",
        settings=sweep(SIZES, DIMENSIONS, 1024),
        quick_settings=sweep(SIZES[:3:2], DIMENSIONS[::4], 1024),
        table=sensitivity_table,
        figure=sensitivity_figure,
        first_seed=1000,  # so that no data set is also in the calibration study
        alpha=0.1,
    ),
    in_paper=True,
    order=30,
)
