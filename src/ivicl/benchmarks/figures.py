"""What the studies share: means of runs, and the look of the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

STYLE = {
    "figure.dpi": 130,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
}


def mean_by(runs: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Means over the runs that succeeded, with standard errors, one row for each combination of the columns `by`."""
    ok = runs.filter(pl.col("status") == "ok").with_columns(pl.col("covers_effect").cast(pl.Float64))
    root = pl.len().cast(pl.Float64).sqrt()
    return ok.group_by(by).agg(
        rho=pl.col("rho").mean(),
        width=pl.col("width").mean(),
        width_se=(pl.col("width").std() / root).fill_null(0.0),
        coverage=pl.col("covers_effect").mean(),
        coverage_se=(pl.col("covers_effect").std() / root).fill_null(0.0),
        sharp_width=pl.col("sharp_width").mean(),
        n=pl.col("n").mean(),
        datasets=pl.len(),
    )


def pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def band(axis: Any, x: np.ndarray, y: np.ndarray, se: np.ndarray, shade: str, label: str, **line: Any) -> None:
    # Later curves are thinner, so that a curve that lies exactly on another does not hide it.
    width = max(1.0, 2.6 - 0.5 * sum(1 for drawn in axis.lines if drawn.get_marker() == "o"))
    axis.plot(x, y, color=shade, label=label, marker="o", markersize=3, linewidth=width, **line)
    axis.fill_between(x, y - se, y + se, color=shade, alpha=0.15, linewidth=0)


def legend(figure: Any, axis: Any, columns: int) -> None:
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize=8)


def save(figure: Any, path: Path) -> Path:
    figure.savefig(path, facecolor="white")
    pyplot().close(figure)
    return path
