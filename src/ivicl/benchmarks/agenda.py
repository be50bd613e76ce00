"""What `ivicl reproduce` runs: methods, settings and seeds of the tables, the studies and the twins."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ivicl.benchmarks import catalog
from ivicl.benchmarks.runner import Job, MethodSpec, plan
from ivicl.benchmarks.studies import DEFAULT_SEEDS, QUICK_SEEDS, STUDIES, study_jobs

TABLE_BENCHMARKS = ("synthetic", "jobs", "star", "airplane")
FULL_METHODS = ("ivicl", "plugin", "whitehouse", "levis", "bayes-bp", "bayes", "balke-pearl", "late")
QUICK_METHODS = ("ivicl", "plugin@learner=linear", "balke-pearl", "sharp", "manski-iv", "no-defiers", "late")
SLOW_METHODS = ("bayes-bp", "bayes")
"""Minutes a data set, whatever its size, where the others take seconds."""
STUDY_METHODS = ("ivicl", "plugin@learner=linear", "balke-pearl")
SHIFT_METHODS = ("ivicl", "ivicl@effect")
QUICK_STAR = ("small-regular/reading/weak", "small-regular/reading/strong")


@dataclass(frozen=True)
class ReproduceConfig:
    """What to run and where to write it."""

    folder: Path
    quick: bool = False
    """Few seeds, short sweeps, quick methods: minutes instead of hours."""
    methods: tuple[str, ...] | None = None
    """Methods of the tables; by default the paper's, or the quick ones."""
    study_methods: tuple[str, ...] | None = None
    """Methods of the three studies; by default the network, a fast plug-in and Balke-Pearl."""
    seeds: int | None = None
    """Data sets a setting in the tables: 10, or 3 when quick."""
    slow_seeds: int | None = None
    """As `seeds`, for the methods that take minutes a data set; by default the same."""
    model: str = ""
    """A network file to use instead of the shipped one."""
    shift_off_model: str = ""
    """A network trained with the prior's shift switched off, to show what the shift buys."""
    shift_on_model: str = ""
    """Its twin, trained for as long with the shift on; by default the network of the tables, trained for longer."""
    workers: int = 1
    """Processes; with more than one, only the first run of a method on a benchmark, which is done alone, is timed."""
    paths: dict[str, str] = field(default_factory=dict)
    """Files of the trials, by benchmark, instead of the packaged ones."""
    report_only: bool = False
    """Run nothing: a report of the runs that are there."""
    progress: bool = True

    def command(self) -> str:
        """The command line that asks for the same report, but for its folder and the trials' files."""
        words = ["ivicl", "reproduce", *(["--quick"] if self.quick else [])]
        flags: dict[str, str] = {
            "--methods": ",".join(self.methods or ()),
            "--study-methods": ",".join(self.study_methods or ()),
            "--seeds": str(self.seeds or ""),
            "--slow-seeds": str(self.slow_seeds or ""),
            "--model": self.model,
            "--shift-on-model": self.shift_on_model,
            "--shift-off-model": self.shift_off_model,
            "--workers": str(self.workers) if self.workers > 1 else "",
        }
        return shlex.join(words + [word for flag, value in flags.items() if value for word in (flag, value)])


def all_jobs(config: ReproduceConfig, methods: Sequence[str], study_methods: Sequence[str], shift: bool) -> list[Job]:
    """`shift`: with the twins, where their models are given."""
    jobs = table_jobs(config, methods)
    for study in STUDIES:
        seeds = QUICK_SEEDS[study] if config.quick else DEFAULT_SEEDS[study]
        extra = {"model": config.model, "path": config.paths.get("jobs")}
        jobs += study_jobs(study, study_methods, seeds, config.quick, **extra)
    if config.shift_off_model and shift:
        planned = {job.key for job in jobs}
        jobs += [job for job in shift_jobs(config) if job.key not in planned]
    return jobs


def table_jobs(config: ReproduceConfig, methods: Sequence[str]) -> list[Job]:
    jobs: list[Job] = []
    for benchmark in TABLE_BENCHMARKS:
        settings = QUICK_STAR if config.quick and benchmark == "star" else catalog.settings(benchmark)
        common = {"path": config.paths.get(benchmark), "model": config.model}
        fast = [m for m in methods if not _is_slow(m)]
        slow = [m for m in methods if _is_slow(m)]
        jobs += plan(benchmark, settings, range(_seeds(config)), fast, **common)
        jobs += plan(benchmark, settings, range(config.slow_seeds or _seeds(config)), slow, **common)
    return jobs


def _is_slow(method: str) -> bool:
    return MethodSpec.parse(method).name in SLOW_METHODS


def shift_models(config: ReproduceConfig) -> dict[str, str]:
    return {"with the shift": config.shift_on_model or config.model, "shift switched off": config.shift_off_model}


def shift_jobs(config: ReproduceConfig) -> list[Job]:
    seeds = range(_shift_seeds(config))
    models = shift_models(config).values()
    return [job for model in models for job in plan("synthetic", ("default",), seeds, SHIFT_METHODS, model=model)]


def _shift_seeds(config: ReproduceConfig) -> int:
    """Twins get 30 data sets: they differ by less than ten can show."""
    return max(_seeds(config), 30) if config.shift_on_model else _seeds(config)


def _seeds(config: ReproduceConfig) -> int:
    return config.seeds or (3 if config.quick else 10)
