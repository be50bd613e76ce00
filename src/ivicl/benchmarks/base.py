"""What a benchmark is, and what a study is: objects that say what they need, what they run and what they show.

To add one, put a file with a `BENCHMARK` into `sets`, or a file with a `STUDY` into `studies`. The runner, the tables,
the reports and the command line read these fields and never check for a particular name.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import polars as pl

from ivicl.benchmarks.dataset import BenchmarkDataset
from ivicl.benchmarks.paper_tables import PaperTable
from ivicl.benchmarks.settings import SettingForm
from ivicl.errors import InputError


@dataclass(frozen=True)
class TrialFile:
    """A trial whose data come with a package or from the user's file; `make` gets the file's path, or None."""

    name: str
    """Users give the file by `--file NAME=PATH`."""
    title: str


@dataclass(frozen=True, eq=False)
class Benchmark:
    """Data sets with a known answer. `plan` takes one by name, or an object like this."""

    name: str
    """What users type."""
    title: str
    """One line: what it is."""
    make: Callable[..., BenchmarkDataset]
    """`function(setting, seed) -> BenchmarkDataset`; with `source`, `function(setting, seed, path)`."""
    settings: tuple[str, ...]
    """The settings that are run by default."""
    form: SettingForm | None = None
    """How further settings are written; None if there are no others than `settings`."""
    binary: bool = False
    """Its outcomes are 0 and 1, so that all ways of combining thresholds agree."""
    source: TrialFile | None = None
    """The trial that it is made from; None if the data are drawn from a law that we define."""
    seeds: int = 10
    """Data sets per setting."""
    quick_seeds: int = 3
    """The same in `ivicl reproduce --quick`."""
    quick_settings: tuple[str, ...] = ()
    """The settings of `ivicl reproduce --quick`; all of `settings` when empty."""
    paper: tuple[PaperTable, ...] = ()
    """The paper's tables for this benchmark; a benchmark that has any is part of `ivicl reproduce`."""
    order: int = 100
    """Its place in lists and reports; ties are sorted by name."""

    def check(self, setting: str) -> None:
        """Raise an InputError for a setting that does not exist, and name the nearest one that does."""
        if setting in self.settings:
            return
        examples: list[str] = []
        if self.form is not None:
            try:
                self.form.parse(setting)
                return
            except InputError:
                examples = self.form.examples()
        near = difflib.get_close_matches(setting, [*self.settings, *examples], n=1, cutoff=0.0)[0]
        written = f"; settings are written {self.form}" if self.form else ""
        raise InputError(f"benchmark '{self.name}' has no setting '{setting}'; the nearest is '{near}'{written}.")

    def dataset(self, setting: str, seed: int, path: str | None = None) -> BenchmarkDataset:
        """One data set; recent ones are cached, because many methods ask for the same."""
        self.check(setting)
        return _made(self, setting, seed, path)


@lru_cache(maxsize=64)
def _made(benchmark: Benchmark, setting: str, seed: int, path: str | None) -> BenchmarkDataset:
    return benchmark.make(setting, seed) if benchmark.source is None else benchmark.make(setting, seed, path)


@dataclass(frozen=True)
class StudyRuns:
    """The runs of one benchmark that a study reads, and what it makes of them."""

    benchmark: str
    settings: tuple[str, ...]
    quick_settings: tuple[str, ...]
    """Little more than the ends of each sweep, and smaller tables."""
    table: Callable[[pl.DataFrame], pl.DataFrame]
    """`function(runs) -> the numbers behind the figure`, without rows if no run is of use."""
    figure: Callable[[pl.DataFrame, Path], Path]
    """`function(table, path)`: draws the figure from those numbers."""
    first_seed: int = 0
    levels: tuple[float, ...] = ()
    """Further nominal levels at which posteriors are read."""
    alpha: float | None = None
    """One level for all methods; with None each method keeps its own."""


@dataclass(frozen=True)
class Shown:
    """What a study shows: its numbers, a figure of them, and a short table if the figure does not say it all."""

    table: pl.DataFrame
    draw: Callable[[Path], Path]
    head: tuple[str, ...] = ()
    """The short table's header; if it is empty, there is no short table."""
    lines: tuple[tuple[str, ...], ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    """What gave no answer -> why."""

    def write(self, folder: Path, stem: str) -> tuple[Path, Path]:
        """Write stem.csv and stem.png into the folder."""
        path = folder / f"{stem}.csv"
        self.table.write_csv(path)
        return path, self.draw(folder / f"{stem}.png")


@dataclass(frozen=True, eq=False)
class Study:
    """A question that a figure answers: from runs of a benchmark, or from a computation of its own."""

    name: str
    """What users type."""
    title: str
    caption: str
    """What the figure shows."""
    seeds: int
    """Data sets per setting."""
    quick_seeds: int
    """The same in `ivicl reproduce --quick`."""
    runs: StudyRuns | None = None
    compute: Callable[[int, str], Shown] | None = None
    """Instead of `runs`: `function(seeds, model) -> Shown`, with the path of a network file or ""."""
    text: str = ""
    """A paragraph above the figure."""
    in_paper: bool = False
    """It is part of `ivicl reproduce`."""
    order: int = 100
    """Its place in lists and reports; ties are sorted by name."""

    def __post_init__(self) -> None:
        if (self.runs is None) == (self.compute is None):
            raise InputError(f"study '{self.name}' must have either runs or a computation of its own.")

    @property
    def stem(self) -> str:
        """The name of its files."""
        return self.name.replace("-", "_")

    def of_runs(self, runs: pl.DataFrame) -> Shown | None:
        """What its runs show; None if none of them is of use."""
        read = self.runs
        if read is None:
            raise InputError(f"study '{self.name}' is not made of runs.")
        table = read.table(runs)
        return None if table.is_empty() else Shown(table, lambda path: read.figure(table, path))
