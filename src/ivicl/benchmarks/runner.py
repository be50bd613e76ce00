"""Run methods on data sets: resumable, with failures kept as rows, and timed honestly.

Timing: one method at a time, in this process, after a warm-up on a few hundred rows that is not counted (imports, the
network's session, first compilations). Each run records how many threads numerical libraries may use. With workers > 1
the runs share the cores, so they are marked as not timed and the tables leave their time out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ivicl._shared.cores import threads
from ivicl.benchmarks.dataset import BenchmarkDataset
from ivicl.benchmarks.method_spec import MethodSpec
from ivicl.benchmarks.plan import Job
from ivicl.benchmarks.store import KEY, Run, RunStore
from ivicl.benchmarks.workers import in_processes
from ivicl.data import IVData
from ivicl.errors import ModelFileError, design_warnings_off
from ivicl.methods.pretrained.runtime import Model
from ivicl.results.result import BoundsResult
from ivicl.version import __version__

WARM_UP_ROWS = 256


def run_jobs(jobs: Sequence[Job], store: RunStore, *, workers: int = 1, progress: bool = True) -> pl.DataFrame:
    """Do what is not done yet, write each run as it ends, and return all runs of the store."""
    wanted = missing(jobs, store)
    bar = _Bar(len(wanted), progress)
    with bar:
        if workers > 1 and len(wanted) > 1:
            for run in in_processes(execute_beside, wanted, workers):
                store.append(run)
                bar.step()
        else:
            warm: set[tuple[str, str]] = set()
            for job in wanted:
                bar.say(f"{job.method} on {job.benchmark} {job.setting} seed {job.seed}")
                kind = (job.method, job.model)
                store.append(execute(job, warm_up=kind not in warm))
                warm.add(kind)
                bar.step()
    store.consolidate()
    return store.frame()


def missing(jobs: Sequence[Job], store: RunStore) -> list[Job]:
    """The jobs that are not done yet. A run counts as done only if the network now in use answered it."""
    networks = {job.model: "" for job in jobs if MethodSpec.parse(job.method).takes_model}
    for path in networks:
        # A model file that cannot be read fails later, in its run, and becomes a row.
        with suppress(ModelFileError, OSError):
            networks[path] = (Model.load(Path(path)) if path else Model.shipped()).sha256
    return [job for job in jobs if not store.done(job.key, networks.get(job.model, ""))]


def execute_beside(job: Job) -> Run:
    """One run beside others: it is not timed, because the others would slow it down."""
    return execute(job, warm_up=False, timed=False)


def execute(job: Job, warm_up: bool = True, timed: bool = True) -> Run:
    """One run. Whatever goes wrong becomes a row with status `failed`; only an interruption stops the program."""
    spec = MethodSpec.parse(job.method)
    blank: dict[str, Any] = dict.fromkeys(Run.__dataclass_fields__)
    blank |= dict(zip(KEY, job.key, strict=True))
    blank |= dict(status="failed", error="", alpha=spec.alpha, estimand="", timed=timed, threads=threads())
    blank |= dict(levels="", network="", version=__version__)
    try:
        case = job.dataset()
        blank |= _truth(case)
        estimator = spec.estimator(job.model)
        with design_warnings_off():
            if warm_up:
                estimator.fit_data(_few_rows(case.data))
            started = time.perf_counter()
            result = estimator.fit_data(case.data)
            seconds = time.perf_counter() - started
    except Exception as error:
        return Run(**{**blank, "error": f"{type(error).__name__}: {error}"[:500]})
    return Run(**{**blank, "status": "ok", "seconds": seconds, **_scores(case, result), **_levels(job, result)})


def _truth(case: BenchmarkDataset) -> dict[str, Any]:
    lower, upper = case.bounds or (None, None)
    return {
        "effect": case.effect,
        "effect_se": case.effect_se,
        "true_lower": lower,
        "true_upper": upper,
        "sharp_width": case.sharp_width,
        "n": case.data.n,
        "d": case.data.x.shape[1],
        "rho": case.rho,
    }


def _scores(case: BenchmarkDataset, result: BoundsResult) -> dict[str, Any]:
    return {
        "lower": result.lower,
        "upper": result.upper,
        "valid": case.valid(result.lower, result.upper),
        "covers_effect": case.covers_effect(result.lower, result.upper),
        "covers_bounds_x": case.covers_bounds_x(result.lower, result.upper),
        "width": (result.upper - result.lower) / case.scale,
        "estimand": result.estimand,
        "network": str(result.model.sha256 if result.model else ""),
    }


def _levels(job: Job, result: BoundsResult) -> dict[str, str]:
    """The interval at each further level; a method without a posterior has the same interval at every level."""
    if not job.levels:
        return {}
    fixed = (result.lower, result.upper)
    ends = {f"{v:g}": result.interval(1 - v) if result.is_credible else fixed for v in job.levels}
    return {"levels": json.dumps({level: [float(e) for e in pair] for level, pair in ends.items()})}


def _few_rows(data: IVData) -> IVData:
    """A small random part of the data, for the warm-up; it keeps the outcome's range."""
    if len(data.z) <= WARM_UP_ROWS:
        return data
    rows = np.random.default_rng(0).permutation(len(data.z))[:WARM_UP_ROWS]
    return data.take(rows)


class _Bar:
    """A progress bar on stderr, or nothing."""

    def __init__(self, total: int, show: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), disable=not show or total == 0)
        self._task = self._progress.add_task("runs", total=total)

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        self._progress.update(self._task, description=text)

    def step(self) -> None:
        self._progress.advance(self._task)
