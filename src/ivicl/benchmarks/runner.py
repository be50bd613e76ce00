"""Run methods on data sets: resumable, failures kept as rows, and timed honestly.

Timing: one method at a time, in this process, after a warm-up on a few hundred rows that is not counted (imports, the
network's session, first compilations). The threads that numerical libraries may use are stated with each run. With
workers > 1 the runs share the cores, so they are marked as not timed and the tables leave their time out.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any

import numpy as np
import polars as pl

from ivicl._shared.cores import threads
from ivicl.benchmarks import catalog
from ivicl.benchmarks.base import BenchmarkDataset
from ivicl.benchmarks.store import Run, RunStore
from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.estimator import IVBounds
from ivicl.methods.base import COVERS
from ivicl.methods.outcomes import COMBINATIONS
from ivicl.methods.registry import resolve
from ivicl.results.result import BoundsResult
from ivicl.version import __version__

WARM_UP_ROWS = 256


@dataclass(frozen=True)
class MethodSpec:
    """A method with its options, written name[@option...]: ivicl@effect, levis@form=smooth, exact@alpha=0.1."""

    text: str
    name: str
    alpha: float
    combine: str
    options: dict[str, Any]

    @classmethod
    def parse(cls, text: str) -> MethodSpec:
        name, *parts = text.split("@")
        alpha, combine = resolve(name).paper_alpha, "comonotone"
        options: dict[str, Any] = {}
        for part in parts:
            key, _, value = part.partition("=")
            if not value and key in COMBINATIONS:
                combine = key
            elif not value and key in COVERS:
                options["covers"] = key
            elif key == "alpha" and _number(value) is not None:
                alpha = float(value)
            elif value:
                options[key] = value if _number(value) is None else _number(value)
            else:
                raise InputError(f"'{part}' in '{text}' is neither a combination, nor what to cover, nor option=value.")
        return cls(text, name, alpha, combine, options)

    def estimator(self, model: str = "") -> IVBounds:
        options = {**self.options, **({"model": model} if model and self.name == "ivicl" else {})}
        return IVBounds(method=self.name, alpha=self.alpha, combine=self.combine, **options)


def _number(text: str) -> float | int | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None


@dataclass(frozen=True)
class Job:
    """One run that is wanted."""

    benchmark: str
    setting: str
    seed: int
    method: str
    levels: tuple[float, ...] = ()
    """Further nominal levels at which a posterior is read."""
    path: str | None = None
    model: str = ""

    @property
    def key(self) -> tuple[str, str, int, str, str]:
        return (self.benchmark, self.setting, self.seed, self.method, self.model if is_network(self.method) else "")

    def dataset(self) -> BenchmarkDataset:
        return catalog.dataset(self.benchmark, self.setting, self.seed, self.path)


def is_network(method: str) -> bool:
    return method.split("@")[0] == "ivicl"


def expand_methods(methods: Iterable[str]) -> tuple[str, ...]:
    """The network's bare name stands for three rows: our interval, and the paper's under both combinations."""
    wanted: list[str] = []
    for method in methods:
        MethodSpec.parse(method)
        wanted += [method, "ivicl@effect", "ivicl@independent"] if method == "ivicl" else [method]
    return tuple(dict.fromkeys(wanted))


def plan(
    benchmark: str,
    settings: Sequence[str],
    seeds: Iterable[int],
    methods: Sequence[str],
    **common: Any,
) -> list[Job]:
    """All runs, method by method. Combinations of thresholds are left out where the outcome is binary: they agree."""
    seeds = list(seeds)
    binary = benchmark == "synthetic"
    kept = [m for m in expand_methods(methods) if not (binary and MethodSpec.parse(m).combine != "comonotone")]
    return [Job(benchmark, s, seed, m, **common) for m in kept for s in settings for seed in seeds]


def run_jobs(jobs: Sequence[Job], store: RunStore, *, workers: int = 1, progress: bool = True) -> pl.DataFrame:
    """Do what is not done yet, write each run as it ends, and return all runs of the store."""
    wanted = [job for job in jobs if not store.done(job.key)]
    bar = _Bar(len(wanted), progress)
    with bar:
        if workers > 1 and len(wanted) > 1:
            _run_parallel(wanted, store, workers, bar)
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


def only(runs: pl.DataFrame, jobs: Sequence[Job]) -> pl.DataFrame:
    """The runs of these jobs; the folder may hold others, from earlier calls."""
    wanted = {job.key for job in jobs}
    keys = runs.select("benchmark", "setting", "seed", "method", "model").rows()
    return runs.filter(pl.Series([key in wanted for key in keys], dtype=pl.Boolean))


def _run_parallel(jobs: Sequence[Job], store: RunStore, workers: int, bar: _Bar) -> None:
    context = get_context("spawn")
    with _one_thread(), ProcessPoolExecutor(workers, mp_context=context, initializer=_leave_with_parent) as pool:
        running = [pool.submit(execute, job, False, False) for job in jobs]
        for finished in as_completed(running):
            store.append(finished.result())
            bar.step()


def _leave_with_parent() -> None:
    """In a worker: end when the program that started it has been killed, which would otherwise leave it waiting."""
    parent = parent_process()
    assert parent is not None, "a worker has one"

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes started meanwhile use one core each. Libraries ask when they are imported, so it is set before."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS", "LOKY_MAX_CPU_COUNT")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def execute(job: Job, warm_up: bool = True, timed: bool = True) -> Run:
    """One run. Whatever goes wrong becomes a row with status `failed`; only an interruption stops the program."""
    spec = MethodSpec.parse(job.method)
    blank: dict[str, Any] = dict.fromkeys(Run.__dataclass_fields__)
    blank |= dict(zip(("benchmark", "setting", "seed", "method", "model"), job.key, strict=True))
    blank |= dict(status="failed", error="", alpha=spec.alpha, estimand="", timed=timed, threads=threads())
    blank |= dict(levels="", network="", version=__version__)
    try:
        case = job.dataset()
        blank |= _truth(case)
        estimator = spec.estimator(job.model)
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
    """The interval at each further level; a method without a posterior has one interval, whatever the level."""
    if not job.levels:
        return {}
    fixed = (result.lower, result.upper)
    ends = {f"{v:g}": result.interval(1 - v) if result.is_credible else fixed for v in job.levels}
    return {"levels": json.dumps({level: [float(e) for e in pair] for level, pair in ends.items()})}


def _few_rows(data: IVData) -> IVData:
    """A small part of the data that keeps both arms and all of the outcome's range."""
    if len(data.z) <= WARM_UP_ROWS:
        return data
    rows = np.random.default_rng(0).permutation(len(data.z))[:WARM_UP_ROWS]
    return replace(data, x=data.x[rows], z=data.z[rows], t=data.t[rows], y=data.y[rows], w=data.w[rows])


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
