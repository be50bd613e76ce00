"""How bounds shrink as the instrument gets stronger, on the trial of `jobs`."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from ivicl.benchmarks.base import Study, StudyRuns
from ivicl.benchmarks.figures import STYLE, band, legend, mean_by, pyplot, save
from ivicl.benchmarks.method_spec import colour_of, curve_name

BETAS = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0)
SETTINGS = tuple(f"beta={beta:g}" for beta in BETAS)


def strength_table(runs: pl.DataFrame) -> pl.DataFrame:
    """Per method and beta: mean rho, width, sharp width and validity, with standard errors."""
    mine = runs.with_columns(beta=pl.col("setting").str.strip_prefix("beta=").cast(pl.Float64))
    return mean_by(mine, ["method", "beta"]).sort("method", "beta")


def strength_figure(table: pl.DataFrame, path: Path) -> Path:
    """Width and validity against the correlation of instrument and treatment, on Jobs."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True, layout="constrained")
        for i, method in enumerate(table["method"].unique(maintain_order=True)):
            rows = table.filter(pl.col("method") == method).sort("rho")
            x, shade = rows["rho"].to_numpy(), colour_of(method, i)
            band(left, x, rows["width"].to_numpy(), rows["width_se"].to_numpy(), shade, curve_name(method))
            band(right, x, rows["coverage"].to_numpy(), rows["coverage_se"].to_numpy(), shade, curve_name(method))
        cases = table.group_by("beta").agg(pl.col("rho", "sharp_width").mean()).sort("rho")
        left.plot(cases["rho"], cases["sharp_width"], "k--", linewidth=1, label="identified set")
        left.set(xlabel="correlation of Z and T", ylabel="width / (max Y − min Y)", ylim=(0, None))
        right.set(xlabel="correlation of Z and T", ylabel="share that contain the trial's effect", ylim=(-0.03, 1.05))
        legend(figure, left, 4)
        return save(figure, path)


STUDY = Study(
    name="strength",
    title="Strength",
    caption="Width and validity against the strength of the instrument, Jobs.",
    seeds=10,
    quick_seeds=3,
    runs=StudyRuns(
        benchmark="jobs",
        settings=SETTINGS,
        quick_settings=SETTINGS[::4] + SETTINGS[-1:],
        table=strength_table,
        figure=strength_figure,
    ),
    in_paper=True,
    order=10,
)
