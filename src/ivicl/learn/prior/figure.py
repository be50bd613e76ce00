"""The paper's figure: the prior of the effect with and without the shift, for several numbers of covariates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from ivicl.learn.prior.config import PriorConfig
from ivicl.learn.prior.randomness import generator_for
from ivicl.learn.prior.sampler import draw_rows

BATCH = 100


def variants() -> dict[str, PriorConfig]:
    """What the figure compares; oversampled designs are off, since they are not part of the effect's prior."""
    plain = {"one_sided_share": 0.0, "perfect_share": 0.0}
    return {
        "paper, no shift": PriorConfig.paper().with_options(shift_steps=0),
        "paper, one shift step": PriorConfig.paper(),
        "default": PriorConfig.default().with_options(**plain),
    }


def effect_draws(dimensions: list[int], tables: int, rows: int, seed: int) -> Iterator[pl.DataFrame]:
    """Frames (prior, covariates, shifted, effect), one for each variant, number of covariates and batch."""
    for name, config in variants().items():
        for columns in dimensions:
            for step, start in enumerate(range(0, tables, BATCH)):
                draw = draw_rows(config, generator_for(seed, step, columns), min(BATCH, tables - start), rows, columns)
                shifted = draw.laws.shifted & (config.shift_steps > 0)
                values: dict[str, Any] = {"shifted": shifted.numpy(), "effect": draw.table.effect.numpy()}
                frame = pl.DataFrame(values)
                yield frame.select(pl.lit(name).alias("prior"), pl.lit(columns).alias("covariates"), pl.all())


def batches(dimensions: list[int], tables: int) -> int:
    """How many frames `effect_draws` yields."""
    return len(variants()) * len(dimensions) * -(-tables // BATCH)


def spread(draws: pl.DataFrame) -> pl.DataFrame:
    """Standard deviation of the effect by prior and number of covariates, over all tables and over shifted ones."""
    return draws.group_by("prior", "covariates", maintain_order=True).agg(
        pl.len().alias("tables"),
        pl.col("effect").std().round(3).alias("sd"),
        pl.col("effect").filter(pl.col("shifted")).std().round(3).alias("sd_shifted"),
    )


def draw_figure(draws: pl.DataFrame) -> Any:
    """One panel per number of covariates; each prior is a stepped density on common bins."""
    from matplotlib.figure import Figure

    dimensions = draws["covariates"].unique().sort().to_list()
    styles = {
        "paper, no shift": {"color": "#8a8a8a", "linestyle": "--"},
        "paper, one shift step": {"color": "#d07a1f", "linestyle": "-"},
        "default": {"color": "#1f5fa8", "linestyle": "-"},
    }
    figure = Figure(figsize=(2.9 * len(dimensions) + 0.4, 3.4), layout="constrained")
    axes = figure.subplots(1, len(dimensions), sharex=True, sharey=True, squeeze=False)[0]
    edges = np.linspace(-1, 1, 41)
    for axis, columns in zip(axes, dimensions, strict=True):
        panel = draws.filter(pl.col("covariates") == columns)
        for name, style in styles.items():
            effect = panel.filter(pl.col("prior") == name)["effect"].to_numpy()
            density, _ = np.histogram(effect, edges, density=True)
            axis.stairs(density, edges, linewidth=1.6, label=f"{name}: sd {effect.std():.2f}", **style)
        axis.set_title("no covariates" if columns == 0 else f"{columns} covariate{'s' * (columns > 1)}", fontsize=10)
        axis.set_xlabel("effect (SATE)")
        axis.legend(fontsize=7, frameon=False, loc="upper right")
        axis.spines[["top", "right"]].set_visible(False)
    top = max(axis.get_ylim()[1] for axis in axes)
    axes[0].set_ylim(0, 1.25 * top)
    axes[0].set_xlim(-1, 1)
    axes[0].set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "−½", "0", "½", "1"])
    axes[0].set_ylabel("prior density")
    return figure
