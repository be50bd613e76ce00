"""With and without the prior's shift: one benchmark, run by two networks that differ in nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import polars as pl

from ivicl.benchmarks import catalog
from ivicl.benchmarks.agenda import ReproduceConfig
from ivicl.benchmarks.compare import cell_text, mean_se
from ivicl.benchmarks.plan import Job, only, plan
from ivicl.benchmarks.report import Report

BENCHMARK, SETTINGS = "synthetic", ("default",)
METHODS = ("ivicl", "ivicl@effect")
LEAST_SEEDS = 30
"""At least this many data sets, because ten are too few to show how twins differ."""


def models(config: ReproduceConfig) -> dict[str, str]:
    return {"with the shift": config.shift_on_model or config.model, "shift switched off": config.shift_off_model}


def jobs(config: ReproduceConfig, missing: Mapping[str, str]) -> list[Job]:
    """The runs of both networks; none without a network trained with the shift off, or if the methods cannot run."""
    if not config.shift_off_model or any(method in missing for method in METHODS):
        return []
    seeds = config.seeds_of(catalog.benchmark(BENCHMARK))
    if config.shift_on_model:
        seeds = max(seeds, LEAST_SEEDS)
    each = [plan(BENCHMARK, SETTINGS, range(seeds), METHODS, model=model) for model in models(config).values()]
    return [job for some in each for job in some]


def report_twins(report: Report, runs: pl.DataFrame, config: ReproduceConfig, wanted: list[Job]) -> None:
    report.heading("With and without the prior's shift")
    if not config.shift_off_model:
        report.paragraph(
            "Missing: give a network trained with the shift switched off by --shift-off-model to have this part."
        )
        return
    report.paragraph(
        f"The {BENCHMARK} benchmark, "
        + ("by two networks that differ in nothing else." if config.shift_on_model else "by networks of unequal age.")
    )
    lines = []
    for (name, model), method in product(models(config).items(), METHODS):
        mine = only(runs, [job for job in wanted if (job.model, job.method) == (model, method)])
        rows = mine.filter(pl.col("status") == "ok")
        width, cover = mean_se(rows["width"]), mean_se(rows["covers_effect"].cast(pl.Float64))
        valid = mean_se(rows["valid"].cast(pl.Float64))
        cells = [cell_text(c, 3) for c in (width, cover, valid)]
        lines.append([name, method, *cells, str(rows.height)])
    report.table(["Network", "Method", "Width", "Covers effect", "Validity", "Data sets"], lines)
