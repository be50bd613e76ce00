"""`ivicl reproduce`: every table and figure of the paper's evaluation in one run, ending in one report."""

from __future__ import annotations

import logging
import os
import platform
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from ivicl._shared.cores import threads
from ivicl.benchmarks import figures, mass_covering
from ivicl.benchmarks.agenda import (
    FULL_METHODS,
    QUICK_METHODS,
    SHIFT_METHODS,
    STUDY_METHODS,
    TABLE_BENCHMARKS,
    ReproduceConfig,
    all_jobs,
    shift_models,
)
from ivicl.benchmarks.compare import ComparedTable, cell_text, compare_all, mean_se, write_tables
from ivicl.benchmarks.report import Report
from ivicl.benchmarks.runner import Job, MethodSpec, only, run_jobs
from ivicl.benchmarks.store import RunStore
from ivicl.benchmarks.studies import STUDIES, study_table
from ivicl.benchmarks.synthetic import generate
from ivicl.version import __version__

log = logging.getLogger(__name__)

FIGURES: dict[str, tuple[Callable[[pl.DataFrame, Path], Path], str]] = {
    "strength": (figures.strength_figure, "Width and validity against the strength of the instrument, Jobs."),
    "calibration": (figures.calibration_figure, "Coverage against the nominal level; bands are one standard error."),
    "sensitivity": (figures.sensitivity_figure, "Coverage and width of 90 % intervals against rows and covariates."),
}


def reproduce(config: ReproduceConfig) -> tuple[Path, Path]:
    """Run what is missing in the folder, unless only a report is asked for; then write report.md and report.html."""
    started = time.perf_counter()
    config.folder.mkdir(parents=True, exist_ok=True)
    store = RunStore(config.folder)
    wanted = config.methods or (QUICK_METHODS if config.quick else FULL_METHODS)
    study_wanted = config.study_methods or STUDY_METHODS
    missing = {} if config.report_only else unusable({*wanted, *study_wanted}, config.model)
    methods = tuple(m for m in wanted if m not in missing)
    study_methods = tuple(m for m in study_wanted if m not in missing)
    for method, reason in missing.items():
        log.warning("%s is left out: %s", method, reason)

    jobs = all_jobs(config, methods, study_methods, shift="ivicl" not in missing)
    runs = only(store.frame(), jobs) if config.report_only else _run_with_estimate(jobs, store, config)
    comparisons = mass_covering.known_comparisons(config.model)
    random_tables = mass_covering.random_comparisons(5 if config.quick else 50, model=config.model)

    report = Report("The paper's evaluation, reproduced by ivicl")
    _preamble(report, config, missing)
    if runs.height < len(jobs):
        report.paragraph(f"So far {runs.height:,} of {len(jobs):,} runs are done; the same command does the rest.")
    main = runs.filter(pl.col("model").is_in(["", config.model]))
    _networks(report, main)
    _tables(report, main, config)
    _studies(report, runs, config)
    _mass_covering(report, comparisons, random_tables, config.folder)
    _shift(report, runs, config)
    report.paragraph(
        f"This report took {(time.perf_counter() - started) / 60:.1f} minutes (runs already done not counted)."
    )
    return report.write(config.folder)


def unusable(methods: set[str], model: str = "") -> dict[str, str]:
    """Methods that cannot run here and why, found by running each on 200 rows."""
    sample = generate(0, n=200, noise_draws=2).data
    reasons = {}
    for method in sorted(methods):
        try:
            MethodSpec.parse(method).estimator(model).fit_data(sample)
        except Exception as error:
            reasons[method] = f"{type(error).__name__}: {error}"
    return reasons


def _run_with_estimate(jobs: list[Job], store: RunStore, config: ReproduceConfig) -> pl.DataFrame:
    """Run one job of each kind alone, for its time; say how long the rest will take; run it.

    Quick kinds come first, by powers of ten, and then one seed after the other: an interrupted run has all methods of
    a kind on the same data sets.
    """
    kinds: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        if not store.done(job.key):
            kinds.setdefault((job.method, job.benchmark), []).append(job)
    known = _seconds(store.frame())
    probes = [group[0] for kind, group in kinds.items() if kind not in known]
    to_do = sum(map(len, kinds.values()))
    log.info("%d runs to do; timing %d alone first, one of each kind.", to_do, len(probes))
    seconds = _seconds(run_jobs(probes, store, progress=config.progress))
    left = sum(len(group) * seconds.get(kind, 0.0) for kind, group in kinds.items())
    log.info("About %.0f minutes in all, from the time that these took.", left / 60 / config.workers)

    def turn(job: Job) -> tuple[float, int]:
        return np.floor(np.log10(max(seconds.get((job.method, job.benchmark), 0.0), 0.1))), job.seed

    rest = sorted(jobs, key=turn)
    return only(run_jobs(rest, store, workers=config.workers, progress=config.progress), jobs)


def _seconds(runs: pl.DataFrame) -> dict[tuple[str, str], float]:
    """Mean time of the timed runs of each method on each benchmark; 0 where all failed."""
    timed = runs.filter(pl.col("timed")).group_by("method", "benchmark").agg(pl.col("seconds").mean())
    return {(r["method"], r["benchmark"]): r["seconds"] or 0.0 for r in timed.iter_rows(named=True)}


def _preamble(report: Report, config: ReproduceConfig, missing: dict[str, str]) -> None:
    report.paragraph(
        f"Made by `{config.command()}`, ivicl {__version__}, Python {platform.python_version()} on "
        f"{platform.machine()} with {os.cpu_count()} cores; numerical libraries may use {threads()} thread(s). Times "
        "are of one method at a time, after a warm-up that is not counted, and include whatever else the machine did."
    )
    report.paragraph(
        "Validity: on the synthetic benchmark the interval contains the whole identified set given (X, noise); on "
        "the others it contains the true effect or the trial's estimate of it. Width is divided by max Y - min Y. The "
        "sharp width is that of the identified set: an interval shorter than that cannot contain it. `late` bounds the "
        "compliers' effect, another estimand."
    )
    if config.quick:
        report.paragraph("Quick form: few seeds and short sweeps. It shows that everything runs, not who is better.")
    for method, reason in missing.items():
        report.paragraph(f"Left out: {method} ({reason}).")


def _networks(report: Report, runs: pl.DataFrame) -> None:
    """Which network answered; more than one means that the folder holds runs of an older one."""
    used = sorted(name for name in runs["network"].unique().to_list() if name)
    if used:
        report.paragraph("Network: sha256 " + ", ".join(name[:12] for name in used) + ".")
    if len(used) > 1:
        report.paragraph("The runs come from more than one network; use an empty folder to have one alone.")


def _tables(report: Report, runs: pl.DataFrame, config: ReproduceConfig) -> None:
    report.heading("Tables, ours beside the paper's")
    shown: list[ComparedTable] = []
    for benchmark in TABLE_BENCHMARKS:
        for table in compare_all(runs, benchmark):
            report.compared(table)
            shown.append(table)
    write_tables(shown, config.folder, "tables")


def _studies(report: Report, runs: pl.DataFrame, config: ReproduceConfig) -> None:
    report.heading("Studies")
    for study in STUDIES:
        report.heading(study.capitalize(), 3)
        path = write_study(study, runs, config.folder)
        if path is None:
            report.paragraph("No run of this study succeeded.")
        else:
            report.figure(path, FIGURES[study][1] + f" The numbers are in {study}.csv.")


def write_study(study: str, runs: pl.DataFrame, folder: Path) -> Path | None:
    """study.csv and study.png; None when there is nothing to show."""
    table = study_table(study, runs)
    if table.is_empty():
        return None
    table.write_csv(folder / f"{study}.csv")
    return FIGURES[study][0](table, folder / f"{study}.png")


def _mass_covering(
    report: Report, known: list[mass_covering.Comparison], random: list[mass_covering.Comparison], folder: Path
) -> None:
    report.heading("Exclusive against inclusive KL, all else equal")
    report.paragraph(
        "Tables without covariates and one prior for all, Dirichlet(0.1) on the 16 strata. The exact posterior spreads "
        "over the identified set; the variational fits, which minimise the exclusive KL, settle on a part of it."
    )
    write_mass_covering(known, random, folder)
    report.figure(folder / "mass_covering.png", "Posterior of the effect; the shaded range is the identified set.")
    totals = mass_covering.summary(mass_covering.scores(random))
    head = ["Method", "Mean 99 % width", "Covers effect", "Share of identified set", "KL from exact", "Tables"]
    lines = [
        [
            r["method"],
            *(f"{r[c]:.3f}" for c in ("width", "covers_effect", "share_of_set", "kl_from_exact")),
            str(r["tables"]),
        ]
        for r in totals.iter_rows(named=True)
    ]
    report.table(head, lines)
    for method, reason in known[0].problems.items():
        report.paragraph(f"Left out: {method} ({reason}).")


def write_mass_covering(
    known: list[mass_covering.Comparison], random: list[mass_covering.Comparison], folder: Path
) -> None:
    pl.concat([mass_covering.scores(known), mass_covering.scores(random)], how="vertical_relaxed").write_csv(
        folder / "mass_covering.csv"
    )
    figures.mass_covering_figure(known, folder / "mass_covering.png")


def _shift(report: Report, runs: pl.DataFrame, config: ReproduceConfig) -> None:
    report.heading("With and without the prior's shift")
    if not config.shift_off_model:
        report.paragraph(
            "Missing: give a network trained with the shift switched off by --shift-off-model to have this part."
        )
        return
    report.paragraph(
        "The synthetic benchmark, "
        + ("by two networks that differ in nothing else." if config.shift_on_model else "by networks of unequal age.")
    )
    lines = []
    for (name, model), method in product(shift_models(config).items(), SHIFT_METHODS):
        rows = runs.filter(
            (pl.col("benchmark") == "synthetic")
            & (pl.col("method") == method)
            & (pl.col("model") == model)
            & (pl.col("status") == "ok")
        )
        width, cover = mean_se(rows["width"]), mean_se(rows["covers_effect"].cast(pl.Float64))
        valid = mean_se(rows["valid"].cast(pl.Float64))
        cells = [cell_text(c, 3) for c in (width, cover, valid)]
        lines.append([name, method, *cells, str(rows.height)])
    report.table(["Network", "Method", "Width", "Covers effect", "Validity", "Data sets"], lines)
