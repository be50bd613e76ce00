"""What `ivicl reproduce` runs: methods, settings and seeds of the tables and the studies."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ivicl.benchmarks import catalog
from ivicl.benchmarks.base import Benchmark, Study
from ivicl.benchmarks.method_spec import MethodSpec
from ivicl.benchmarks.plan import Job, plan, study_jobs

# Thresholds added by quantiles are neither the default nor the paper's: a row of the tables, and no curve of the
# studies, where they would take as long as all the rest.
FULL_METHODS = (
    "ivicl",
    "ivicl@comonotone",
    "plugin",
    "whitehouse",
    "levis",
    "bayes-bp",
    "bayes",
    "balke-pearl",
    "late",
)
QUICK_METHODS = ("ivicl", "plugin@learner=linear", "balke-pearl", "sharp", "manski-iv", "no-defiers", "late")
STUDY_METHODS = ("ivicl", "plugin@learner=linear", "balke-pearl")


@dataclass(frozen=True)
class ReproduceConfig:
    """What to run and where to write it."""

    folder: Path
    quick: bool = False
    """Few seeds, short sweeps, quick methods: minutes instead of hours."""
    methods: tuple[str, ...] | None = None
    """Methods of the tables; by default the paper's, or the quick ones."""
    study_methods: tuple[str, ...] | None = None
    """Methods of the studies; by default the network, a fast plug-in and Balke-Pearl."""
    seeds: int | None = None
    """Data sets per setting in the tables; by default 10, or 3 when quick."""
    slow_seeds: int | None = None
    """Like `seeds`, for the methods that take minutes per data set; by default the same."""
    model: str = ""
    """A network file to use instead of the shipped one."""
    shift_off_model: str = ""
    """A network trained with the prior's shift switched off, to show what the shift buys."""
    shift_on_model: str = ""
    """Its twin, trained for as long with the shift on; by default the network of the tables, which trained longer."""
    workers: int = 1
    """Processes. With more than one, only the first run of each method on a benchmark is timed, as it runs alone."""
    files: dict[str, str] = field(default_factory=dict)
    """Files to use instead of the packaged trials, keyed by the names of the benchmarks' sources."""
    report_only: bool = False
    """Run nothing: only report on the runs that are already there."""
    progress: bool = True

    def seeds_of(self, benchmark: Benchmark) -> int:
        return self.seeds or (benchmark.quick_seeds if self.quick else benchmark.seeds)

    def command(self) -> str:
        """The command line that asks for the same report, except for its folder and the trials' files."""
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


def table_jobs(config: ReproduceConfig, methods: Sequence[str]) -> list[Job]:
    """The runs of the benchmarks that the paper has tables of."""
    slow = [m for m in methods if MethodSpec.parse(m).method.takes_minutes]
    fast = [m for m in methods if m not in slow]
    jobs: list[Job] = []
    for benchmark in (b for b in catalog.benchmarks().values() if b.paper):
        settings = (benchmark.quick_settings if config.quick else ()) or benchmark.settings
        seeds = config.seeds_of(benchmark)
        for some, n in ((fast, seeds), (slow, config.slow_seeds or seeds)):
            jobs += plan(benchmark, settings, range(n), some, files=config.files, model=config.model)
    return jobs


def jobs_of_studies(config: ReproduceConfig, methods: Sequence[str]) -> dict[Study, list[Job]]:
    """The runs of each of the paper's studies."""
    return {
        study: study_jobs(study, methods, quick=config.quick, files=config.files, model=config.model)
        for study in catalog.studies().values()
        if study.in_paper
    }
