"""The figures of the studies. Each takes the table that stands behind it and writes a PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ivicl.benchmarks.links import FAMILIES
from ivicl.benchmarks.mass_covering import Comparison
from ivicl.benchmarks.paper_tables import METHOD_NAMES

COLOURS = {
    "ivicl": "#dc267f",
    "ivicl@effect": "#f4a3c4",
    "ivicl@independent": "#fe6100",
    "exact": "#1b1b1b",
    "balke-pearl": "#648fff",
    "plugin": "#785ef0",
    "levis": "#2a9d8f",
    "whitehouse": "#8d6e63",
    "bayes-bp": "#ffb000",
    "bayes": "#9e9e9e",
    "late": "#5c940d",
    "manski-iv": "#0b7285",
    "mean-field": "#648fff",
    "logistic-normal": "#785ef0",
}
OTHERS = ("#364fc7", "#c2255c", "#087f5b", "#e67700", "#495057")
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


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def colour(method: str, position: int = 0) -> str:
    plain = "@".join(p for p in method.split("@") if not p.startswith("alpha="))
    return COLOURS.get(plain) or COLOURS.get(plain.split("@")[0]) or OTHERS[position % len(OTHERS)]


def name_of(method: str) -> str:
    base, *options = [p for p in method.split("@") if not p.startswith("alpha=")]
    suffix = f" ({', '.join(options)})" if options else ""
    return METHOD_NAMES.get(base, base) + suffix


def _band(axis: Any, x: np.ndarray, y: np.ndarray, se: np.ndarray, shade: str, label: str, **line: Any) -> None:
    # Curves drawn later are thinner, so that one that lies exactly on another does not hide it.
    width = max(1.0, 2.6 - 0.5 * sum(1 for drawn in axis.lines if drawn.get_marker() == "o"))
    axis.plot(x, y, color=shade, label=label, marker="o", markersize=3, linewidth=width, **line)
    axis.fill_between(x, y - se, y + se, color=shade, alpha=0.15, linewidth=0)


def strength_figure(table: pl.DataFrame, path: Path) -> Path:
    """Width and validity against the correlation of instrument and treatment, on Jobs."""
    plt = _pyplot()
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True, layout="constrained")
        for i, method in enumerate(table["method"].unique(maintain_order=True)):
            rows = table.filter(pl.col("method") == method).sort("rho")
            x, shade = rows["rho"].to_numpy(), colour(method, i)
            _band(left, x, rows["width"].to_numpy(), rows["width_se"].to_numpy(), shade, name_of(method))
            _band(right, x, rows["coverage"].to_numpy(), rows["coverage_se"].to_numpy(), shade, name_of(method))
        cases = table.group_by("beta").agg(pl.col("rho", "sharp_width").mean()).sort("rho")
        left.plot(cases["rho"], cases["sharp_width"], "k--", linewidth=1, label="identified set")
        left.set(xlabel="correlation of Z and T", ylabel="width / (max Y − min Y)", ylim=(0, None))
        right.set(xlabel="correlation of Z and T", ylabel="share that contain the trial's effect", ylim=(-0.03, 1.05))
        _legend(figure, left, 4)
        return _save(figure, path)


def calibration_figure(table: pl.DataFrame, path: Path) -> Path:
    """Coverage against the nominal level, one panel a family; methods with a single interval are flat lines."""
    plt = _pyplot()
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(FAMILIES), figsize=(10, 3.6), sharex=True, sharey=True, layout="constrained")
        for axis, family in zip(axes, FAMILIES, strict=True):
            axis.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
            for i, method in enumerate(table["method"].unique(maintain_order=True)):
                rows = table.filter((pl.col("method") == method) & (pl.col("family") == family)).sort("level")
                if rows.is_empty():
                    continue
                x, y, se = (rows[c].to_numpy() for c in ("level", "coverage", "coverage_se"))
                shade, label = colour(method, i), name_of(method)
                if rows["fixed"].all():
                    axis.plot(x, y, color=shade, linestyle=":", linewidth=1.4, label=f"{label}, one interval")
                else:
                    _band(axis, x, y, se, shade, label)
            axis.set(title=family, xlabel="nominal level", xlim=(0, 1), ylim=(-0.03, 1.05))
        axes[0].set_ylabel("share that contain the true effect")
        _legend(figure, axes[0], 4)
        return _save(figure, path)


def sensitivity_figure(table: pl.DataFrame, path: Path) -> Path:
    """Coverage (top) and width (bottom) against the number of rows (left) and of covariates (right)."""
    plt = _pyplot()
    lines = ("-", "--", ":")
    base = int(table.filter(pl.col("covariates") != 5)["rows"].max() or 1024)  # type: ignore[arg-type]
    sweeps = ((table.filter(pl.col("covariates") == 5), "rows"), (table.filter(pl.col("rows") == base), "covariates"))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(2, 2, figsize=(9, 5.8), sharex="col", sharey="row", layout="constrained")
        for column, (part, axis_name) in enumerate(sweeps):
            for i, method in enumerate(table["method"].unique(maintain_order=True)):
                for style, family in zip(lines, FAMILIES, strict=True):
                    rows = part.filter((pl.col("method") == method) & (pl.col("family") == family)).sort(axis_name)
                    x, shade = rows[axis_name].to_numpy(), colour(method, i)
                    label = f"{name_of(method)}, {family}"
                    for axis, value in zip(axes[:, column], ("coverage", "width"), strict=True):
                        y, se = rows[value].to_numpy(), rows[f"{value}_se"].to_numpy()
                        _band(axis, x, y, se, shade, label, linestyle=style)
            axes[1, column].set_xscale("log", base=2)
            ticks = sorted(part[axis_name].unique().to_list())
            axes[1, column].set_xticks(ticks, [f"{t:,}" for t in ticks])
        axes[0, 0].set(ylabel="share that contain the true effect", ylim=(-0.03, 1.05))
        axes[1, 0].set(ylabel="width / (max Y − min Y)", xlabel="rows (5 covariates)", ylim=(0, None))
        axes[1, 1].set(xlabel=f"covariates ({base:,} rows)")
        _legend(figure, axes[1, 0], 3)
        return _save(figure, path)


def mass_covering_figure(comparisons: list[Comparison], path: Path) -> Path:
    """One panel a table: the exact posterior of the effect, the variational fits, the network, the identified set."""
    plt = _pyplot()
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(comparisons), figsize=(3.4 * len(comparisons), 3.6), layout="constrained")
        for axis, case in zip(np.atleast_1d(axes), comparisons, strict=True):
            low, high = case.bounds
            pad = 0.35 * (high - low) + 0.02
            edges = np.linspace(max(-1, low - pad), min(1, high + pad), 81)
            centre = (edges[1:] + edges[:-1]) / 2
            axis.axvspan(low, high, color="#f1f3f5", zorder=0, label="identified set")
            peak = 0.0
            for method, posterior in case.answers.items():
                density = np.diff(posterior.cdf(edges)) / np.diff(edges)
                shade, is_exact = colour(method), method == "exact"
                label = {"mean-field": "variational, mean-field", "logistic-normal": "variational, full covariance"}
                axis.step(
                    centre, density, where="mid", color=shade, linewidth=1.6 if is_exact else 1.2,
                    label=label.get(method, name_of(method) if method == "ivicl" else "exact posterior"),
                )  # fmt: skip
                if is_exact:
                    axis.fill_between(centre, density, step="mid", color=shade, alpha=0.15, linewidth=0)
                    peak = float(density.max())
            axis.set(title=f"{case.name}, n = {int(case.counts.sum()):,}", xlabel="average effect", yticks=[])
            axis.set_ylim(0, 2.2 * peak)  # the fits' spikes go on above: the scale is the exact posterior's
        np.atleast_1d(axes)[0].set_ylabel("posterior density")
        _legend(figure, np.atleast_1d(axes)[0], 5)
        return _save(figure, path)


def _legend(figure: Any, axis: Any, columns: int) -> None:
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize=8)


def _save(figure: Any, path: Path) -> Path:
    figure.savefig(path, facecolor="white")
    _pyplot().close(figure)
    return path
