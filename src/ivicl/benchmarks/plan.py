"""Which runs are wanted: one method on one data set each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from ivicl.benchmarks import catalog
from ivicl.benchmarks.base import Benchmark, Study
from ivicl.benchmarks.dataset import BenchmarkDataset
from ivicl.benchmarks.method_spec import MethodSpec, at_level, expand_methods
from ivicl.benchmarks.store import KEY, RunKey
from ivicl.errors import InputError


@dataclass(frozen=True)
class Job:
    """One run to be done."""

    benchmark: str
    setting: str
    seed: int
    method: str
    levels: tuple[float, ...] = ()
    """Further nominal levels at which a posterior is read."""
    path: str | None = None
    """The file of the benchmark's trial, instead of the packaged one."""
    model: str = ""
    maker: Benchmark | None = None
    """The benchmark itself, if it is not in the catalog."""

    @property
    def key(self) -> RunKey:
        model = self.model if MethodSpec.parse(self.method).takes_model else ""
        return (self.benchmark, self.setting, self.seed, self.method, model)

    def dataset(self) -> BenchmarkDataset:
        maker = self.maker or catalog.benchmark(self.benchmark)
        return maker.dataset(self.setting, self.seed, self.path)


def plan(
    benchmark: str | Benchmark,
    settings: Sequence[str],
    seeds: Iterable[int],
    methods: Sequence[str],
    *,
    levels: tuple[float, ...] = (),
    alpha: float | None = None,
    files: Mapping[str, str] | None = None,
    model: str = "",
) -> list[Job]:
    """All runs, method by method. For a binary outcome only the usual combination of thresholds is run: all agree.

    `benchmark` is a name, or a `Benchmark` of your own; `alpha` is one level for all methods; `files` maps the names of
    sources to files of trials.
    """
    made = catalog.benchmark(benchmark) if isinstance(benchmark, str) else benchmark
    for setting in settings:
        made.check(setting)
    path = (files or {}).get(made.source.name) if made.source else None
    maker = None if catalog.benchmarks().get(made.name) is made else made
    specs = [MethodSpec.parse(at_level(text, alpha)) for text in expand_methods(methods)]
    kept = [spec.text for spec in specs if spec.usual_combination or not made.binary]
    seeds = list(seeds)
    return [
        Job(made.name, setting, seed, method, levels, path, model, maker)
        for method in kept
        for setting in settings
        for seed in seeds
    ]


def study_jobs(
    study: Study,
    methods: Sequence[str],
    seeds: int | None = None,
    quick: bool = False,
    *,
    files: Mapping[str, str] | None = None,
    model: str = "",
) -> list[Job]:
    """The runs that a study reads: none if it has a computation of its own."""
    if study.runs is None:
        return []
    read = study.runs
    settings = read.quick_settings if quick else read.settings
    wanted = seeds or (study.quick_seeds if quick else study.seeds)
    return plan(
        read.benchmark,
        settings,
        range(read.first_seed, read.first_seed + wanted),
        methods,
        levels=read.levels,
        alpha=read.alpha,
        files=files,
        model=model,
    )


def check_files(files: Mapping[str, str]) -> None:
    """Raise an InputError for a file that no benchmark reads."""
    known = {made.source.name: made.source.title for made in catalog.benchmarks().values() if made.source}
    for name in files:
        if name not in known:
            listed = ", ".join(f"{name} ({title})" for name, title in known.items())
            raise InputError(f"no benchmark reads a file '{name}'; files can be given for {listed}.")


def only(runs: pl.DataFrame, jobs: Sequence[Job]) -> pl.DataFrame:
    """The runs of these jobs; the folder may hold others, from earlier calls."""
    wanted = {job.key for job in jobs}
    keys = runs.select(*KEY).rows()
    return runs.filter(pl.Series([key in wanted for key in keys], dtype=pl.Boolean))
