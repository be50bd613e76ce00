"""Where runs are kept: one JSON line per run, written as soon as it is done, and a Parquet file made from the lines."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import polars as pl

KEY = ("benchmark", "setting", "seed", "method", "model")
"""The columns that identify a run."""
RunKey = tuple[str, str, int, str, str]


@dataclass(frozen=True)
class Run:
    """One method on one data set."""

    benchmark: str
    setting: str
    seed: int
    method: str
    """As asked for, options included, such as ivicl@independent."""
    model: str
    """Network file given with --model; empty for the shipped one."""
    network: str
    """sha256 of the network that answered; empty for other methods."""
    status: str
    """ok or failed."""
    error: str
    """Why it failed."""
    alpha: float
    lower: float | None
    upper: float | None
    valid: bool | None
    """The interval contains the identified set or, if that is unknown, the true effect."""
    covers_effect: bool | None
    covers_bounds_x: bool | None
    """The interval contains the identified set given the covariates alone, if that is known."""
    width: float | None
    """(upper - lower) / (max Y - min Y)."""
    sharp_width: float | None
    """The same for the identified set, if it is known."""
    effect: float | None
    effect_se: float | None
    true_lower: float | None
    true_upper: float | None
    n: int | None
    d: int | None
    rho: float | None
    estimand: str
    seconds: float | None
    timed: bool
    """This program ran nothing else at the same time, and the warm-up was excluded."""
    threads: int
    levels: str
    """JSON {nominal level: [lower, upper]} if a study asked for more than one level."""
    version: str

    @property
    def key(self) -> RunKey:
        return (self.benchmark, self.setting, self.seed, self.method, self.model)


_POLARS = {"str": pl.String, "int": pl.Int64, "float": pl.Float64, "bool": pl.Boolean}
SCHEMA = {f.name: _POLARS[str(f.type).split(" ")[0]] for f in fields(Run)}


class RunStore:
    """A folder with runs.jsonl (a log that is appended to) and runs.parquet (a table of all runs, which can be shared).

    A folder that holds nothing but the table goes on from there.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log, self.table = self.folder / "runs.jsonl", self.folder / "runs.parquet"
        logged = (_parse(line) for line in self.log.read_text().splitlines()) if self.log.exists() else ()
        known = [*_tabled(self.table), *(run for run in logged if run is not None)]
        self._runs: dict[RunKey, Run] = {run.key: run for run in known}

    def done(self, key: RunKey, network: str = "") -> bool:
        """Whether this run has succeeded before, with this network if it needs one; failed runs are tried again."""
        run = self._runs.get(key)
        return run is not None and run.status == "ok" and run.network in ("", network)

    def append(self, run: Run) -> None:
        self._runs[run.key] = run
        with self.log.open("a") as file:
            file.write(json.dumps(asdict(run)) + "\n")

    def frame(self) -> pl.DataFrame:
        """One row per run; a run that was repeated counts once, with its last outcome."""
        return pl.DataFrame([asdict(r) for r in self._runs.values()], schema=SCHEMA, strict=False)

    def consolidate(self) -> Path:
        self.frame().write_parquet(self.table)
        return self.table


def _parse(line: str) -> Run | None:
    """None for a line cut short by an interruption."""
    try:
        return Run(**json.loads(line))
    except (json.JSONDecodeError, TypeError):
        return None


def _tabled(path: Path) -> list[Run]:
    """None of a table that another version wrote."""
    table = pl.read_parquet(path) if path.exists() else pl.DataFrame(schema=SCHEMA)
    return [Run(**row) for row in table.iter_rows(named=True)] if table.schema == SCHEMA else []
