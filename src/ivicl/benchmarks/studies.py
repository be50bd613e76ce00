"""The three studies of the paper: which runs they need, and the table behind each figure."""

from __future__ import annotations

import json
from collections.abc import Sequence

import polars as pl

from ivicl.benchmarks import jobs as jobs_benchmark
from ivicl.benchmarks.links import FAMILIES, parse
from ivicl.benchmarks.runner import Job, expand_methods, plan

STUDIES = ("strength", "calibration", "sensitivity")
LEVELS = (0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.995)
"""The 18 nominal levels of the calibration curves."""
SIZES = (256, 512, 1024, 2048, 4096)
DIMENSIONS = (2, 4, 8, 16, 32)
SENSITIVITY_ALPHA = 0.1
SENSITIVITY_FIRST_SEED = 1000
"""The sensitivity study uses seeds of its own, apart from those of the calibration."""
DEFAULT_SEEDS = {"strength": 10, "calibration": 100, "sensitivity": 30}
QUICK_SEEDS = {"strength": 3, "calibration": 3, "sensitivity": 2}


def study_jobs(study: str, methods: Sequence[str], seeds: int, quick: bool = False, **common: str | None) -> list[Job]:
    """The runs of a study. `quick` keeps little more than the ends of each sweep, and smaller tables."""
    if study == "strength":
        betas = jobs_benchmark.SWEEP[::4] + jobs_benchmark.SWEEP[-1:] if quick else jobs_benchmark.SWEEP
        return plan("jobs", [f"beta={b:g}" for b in betas], range(seeds), methods, **common)
    if study == "calibration":
        settings = [f"{family}/n={256 if quick else 1024}/d=5" for family in FAMILIES]
        return plan("links", settings, range(seeds), methods, levels=LEVELS, **common)
    sizes, dimensions = (SIZES[:3:2], DIMENSIONS[::4]) if quick else (SIZES, DIMENSIONS)
    base = sizes[-1] if quick else 1024
    cells = dict.fromkeys([(n, 5) for n in sizes] + [(base, d) for d in dimensions])
    settings = [f"{family}/n={n}/d={d}" for family in FAMILIES for n, d in cells]
    first = SENSITIVITY_FIRST_SEED
    return plan(
        "links", settings, range(first, first + seeds), [_at_ninety(m) for m in expand_methods(methods)], **common
    )


def _at_ninety(method: str) -> str:
    return method if "@alpha=" in method else f"{method}@alpha={SENSITIVITY_ALPHA:g}"


def strength_table(runs: pl.DataFrame) -> pl.DataFrame:
    """Per method and beta: mean rho, width, sharp width and validity, with standard errors."""
    mine = runs.filter((pl.col("benchmark") == "jobs") & pl.col("setting").str.starts_with("beta="))
    mine = mine.with_columns(beta=pl.col("setting").str.strip_prefix("beta=").cast(pl.Float64))
    return _summary(mine, ["method", "beta"]).sort("method", "beta")


def calibration_table(runs: pl.DataFrame) -> pl.DataFrame:
    """Per method, family and nominal level: the share of intervals that contain the true effect."""
    mine = runs.filter((pl.col("benchmark") == "links") & (pl.col("status") == "ok") & (pl.col("levels") != ""))
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


def sensitivity_table(runs: pl.DataFrame) -> pl.DataFrame:
    """Per method, family, n and d: coverage of the true effect and mean width at the 90 % level."""
    mine = runs.filter((pl.col("benchmark") == "links") & (pl.col("seed") >= SENSITIVITY_FIRST_SEED))
    if mine.is_empty():
        return pl.DataFrame()
    parts = mine["setting"].str.split("/")
    mine = mine.with_columns(
        family=parts.list.get(0),
        rows=parts.list.get(1).str.strip_prefix("n=").cast(pl.Int64),
        covariates=parts.list.get(2).str.strip_prefix("d=").cast(pl.Int64),
    )
    return _summary(mine, ["method", "family", "rows", "covariates"]).sort("method", "family", "rows", "covariates")


def _summary(runs: pl.DataFrame, by: list[str]) -> pl.DataFrame:
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


def study_table(study: str, runs: pl.DataFrame) -> pl.DataFrame:
    return {"strength": strength_table, "calibration": calibration_table, "sensitivity": sensitivity_table}[study](runs)
