"""`ivicl reproduce`: every table and figure of the paper's evaluation in one run, ending in one report."""

from __future__ import annotations

import logging
import os
import platform
import time
from pathlib import Path

import numpy as np
import polars as pl

from ivicl._shared.cores import threads
from ivicl.benchmarks import catalog, twins
from ivicl.benchmarks.agenda import (
    FULL_METHODS,
    QUICK_METHODS,
    STUDY_METHODS,
    ReproduceConfig,
    jobs_of_studies,
    table_jobs,
)
from ivicl.benchmarks.base import Shown, Study
from ivicl.benchmarks.compare import ComparedTable, compare_all, write_tables
from ivicl.benchmarks.method_spec import MethodSpec
from ivicl.benchmarks.plan import Job, only
from ivicl.benchmarks.report import Report
from ivicl.benchmarks.runner import missing, run_jobs
from ivicl.benchmarks.sets.synthetic import generate
from ivicl.benchmarks.store import RunKey, RunStore
from ivicl.errors import design_warnings_off
from ivicl.methods.base import Method
from ivicl.version import __version__

log = logging.getLogger(__name__)


def reproduce(config: ReproduceConfig) -> tuple[Path, Path]:
    """Run what is missing in the folder, unless only a report is asked for; then write report.md and report.html."""
    started = time.perf_counter()
    config.folder.mkdir(parents=True, exist_ok=True)
    store = RunStore(config.folder)
    wanted = config.methods or (QUICK_METHODS if config.quick else FULL_METHODS)
    study_wanted = config.study_methods or STUDY_METHODS
    absent = {} if config.report_only else unusable({*wanted, *study_wanted}, config.model)
    for method, reason in absent.items():
        log.warning("%s is left out: %s", method, reason)

    tables = table_jobs(config, [m for m in wanted if m not in absent])
    studies = jobs_of_studies(config, [m for m in study_wanted if m not in absent])
    twin_jobs = twins.jobs(config, absent)
    by_key: dict[RunKey, Job] = {}
    for job in (*tables, *(job for some in studies.values() for job in some), *twin_jobs):
        by_key.setdefault(job.key, job)
    jobs = list(by_key.values())
    runs = only(store.frame(), jobs) if config.report_only else _run_with_estimate(jobs, store, config)
    shown = {study: _shown(study, only(runs, some), config) for study, some in studies.items()}

    report = Report("The paper's evaluation, reproduced by ivicl")
    _preamble(report, config, absent)
    if runs.height < len(jobs):
        report.paragraph(f"So far {runs.height:,} of {len(jobs):,} runs are done; the same command does the rest.")
    main = runs.filter(pl.col("model").is_in(["", config.model]))
    _networks(report, main)
    _tables(report, main, config)
    _studies(report, shown, config)
    twins.report_twins(report, runs, config, twin_jobs)
    report.paragraph(
        f"This report took {(time.perf_counter() - started) / 60:.1f} minutes (runs already done not counted)."
    )
    return report.write(config.folder)


def _shown(study: Study, runs: pl.DataFrame, config: ReproduceConfig) -> Shown | None:
    if study.compute is None:
        return study.of_runs(runs)
    return study.compute(study.quick_seeds if config.quick else study.seeds, config.model)


def unusable(methods: set[str], model: str = "") -> dict[str, str]:
    """Methods that cannot run here -> why, found by running each on 200 rows."""
    sample = generate(0, n=200, noise_draws=2).data
    reasons = {}
    for method in sorted(methods):
        try:
            with design_warnings_off():
                MethodSpec.parse(method).estimator(model).fit_data(sample)
        except Exception as error:
            reasons[method] = f"{type(error).__name__}: {error}"
    return reasons


def _run_with_estimate(jobs: list[Job], store: RunStore, config: ReproduceConfig) -> pl.DataFrame:
    """Time one job of each kind (a method on a benchmark) alone; say how long the rest will take; run the rest.

    Quick kinds run first, grouped by powers of ten of their time, and within a group one seed after the other: so even
    after an interruption, methods that take about the same time have seen the same data sets.
    """
    kinds: dict[tuple[str, str], list[Job]] = {}
    for job in missing(jobs, store):
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
    """Mean time of the timed runs of each method on each benchmark; 0 if all failed."""
    timed = runs.filter(pl.col("timed")).group_by("method", "benchmark").agg(pl.col("seconds").mean())
    return {(r["method"], r["benchmark"]): r["seconds"] or 0.0 for r in timed.iter_rows(named=True)}


def _preamble(report: Report, config: ReproduceConfig, absent: dict[str, str]) -> None:
    report.paragraph(
        f"Made by `{config.command()}`, ivicl {__version__}, Python {platform.python_version()} on "
        f"{platform.machine()} with {os.cpu_count()} cores; numerical libraries may use {threads()} thread(s). Times "
        "are of one method at a time, after a warm-up that is not counted, and include whatever else the machine did."
    )
    report.paragraph(
        "Validity: on the synthetic benchmark the interval contains the whole identified set given (X, noise); on "
        "the others it contains the true effect or the trial's estimate of it. Width is divided by max Y - min Y. The "
        "sharp width is that of the identified set: an interval shorter than that cannot contain it. `late` bounds the "
        "compliers' effect, another estimand. "
        f"Intervals are at alpha = {Method.paper_alpha:g}, the paper's level, where no other is named."
    )
    if config.quick:
        report.paragraph("Quick form: few seeds and short sweeps. It shows that everything runs, not who is better.")
    for method, reason in absent.items():
        report.paragraph(f"Left out: {method} ({reason}).")


def _networks(report: Report, runs: pl.DataFrame) -> None:
    """Say which network answered; if there are several, the folder holds runs of an older one."""
    used = sorted(name for name in runs["network"].unique().to_list() if name)
    if used:
        report.paragraph("Network: sha256 " + ", ".join(name[:12] for name in used) + ".")
    if len(used) > 1:
        report.paragraph("The runs come from more than one network; use an empty folder to have one alone.")


def _tables(report: Report, runs: pl.DataFrame, config: ReproduceConfig) -> None:
    report.heading("Tables, ours beside the paper's")
    shown: list[ComparedTable] = []
    for benchmark in catalog.benchmarks().values():
        for table in compare_all(runs, benchmark):
            report.compared(table)
            shown.append(table)
    write_tables(shown, config.folder, "tables")


def _studies(report: Report, shown: dict[Study, Shown | None], config: ReproduceConfig) -> None:
    report.heading("Studies")
    for study, found in shown.items():
        report.heading(study.title, 3)
        if study.text:
            report.paragraph(study.text)
        if found is None:
            report.paragraph("No run of this study succeeded.")
            continue
        numbers, picture = found.write(config.folder, study.stem)
        report.figure(picture, f"{study.caption} The numbers are in {numbers.name}.")
        if found.head:
            report.table(list(found.head), [list(line) for line in found.lines])
        for name, reason in found.left_out.items():
            report.paragraph(f"Left out: {name} ({reason}).")
