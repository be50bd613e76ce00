"""Time and memory against size, behind `ivicl speed --scale`: each point is a command in a process of its own.

Discrete rows are merged as they stream by, so their number should hardly matter, nor whether the outcome is yes/no or
an amount. Rows that all differ go through the network in chunks, every one of them. Each study should cost the same, or
several times as much if codings are tied.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ivicl.benchmarks.speed import gigabytes, made_up
from ivicl.errors import InputError

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

ROWS_PER_FILE = 1_000_000
REGIONS = ("north", "east", "south", "west", "islands")
START_UP_ROWS = 1_000
"""A table so small that fitting it takes little more than starting the process and one pass of the network."""
ROLES = ["-y", "bought", "-t", "saw", "-z", "offered"]
FULL = {
    "discrete rows": (10**5, 10**6, 10**7, 10**8),
    "discrete amounts": (10**5, 10**6, 10**7, 10**8),
    "different rows": (10**5, 10**6, 10**7),
    "different amounts": (10**5, 10**6, 10**7),
    "studies": (1_000, 100_000),
    "studies at a tie": (1_000,),
}
"""What is measured, and at which sizes."""
QUICK = {
    "discrete rows": (10**5, 10**6, 10**7),
    "discrete amounts": (10**5, 10**6),
    "different rows": (10**4, 10**5),
    "different amounts": (10**4, 10**5),
    "studies": (256, 1_024),
    "studies at a tie": (256,),
}
BRIEF = 5.0
"""Seconds below which a fit runs three times, and the shortest counts: start-up, which is subtracted, varies."""
COVARIATES = 10
"""How many covariates rows that all differ have."""


@dataclass(frozen=True)
class Point:
    """One measured command: what it was run on, and what it took."""

    kind: str
    size: int
    seconds: float
    cpu_seconds: float
    peak_gb: float
    beyond_start: float
    """Seconds beyond those for a table of START_UP_ROWS, or for one study."""
    used: int | None = None
    """People whose rows the network saw; None for studies."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def discrete_rows(rows: int, seed: int, amount: bool = False) -> pl.DataFrame:
    """A trial with non-compliance and 20 covariate cells; the outcome is yes/no, or an amount that always differs."""
    import polars as pl

    rng = np.random.default_rng([2026, seed])
    age, region = rng.integers(0, 4, rows, dtype=np.int8), rng.integers(0, 5, rows, dtype=np.int8)
    z = rng.integers(0, 2, rows, dtype=np.int8)
    t = (rng.random(rows, dtype=np.float32) < 0.1 + 0.45 * z + 0.05 * age).astype(np.int8)
    level = 0.25 + 0.2 * t + 0.03 * region
    draw = rng.random(rows, dtype=np.float32)
    y = level + 0.2 * draw if amount else (draw < level).astype(np.int8)
    names = pl.Series(REGIONS).gather(pl.Series(region.astype(np.int64)))
    return pl.DataFrame({"offered": z, "saw": t, "bought": y, "age": age, "region": names})


def different_rows(rows: int, seed: int, amount: bool = False) -> pl.DataFrame:
    """Ten continuous covariates: every row is different."""
    import polars as pl

    rng = np.random.default_rng([2027, seed])
    made = made_up(rows, COVARIATES, rng)
    if amount:
        made["y"] = np.clip(0.3 + 0.2 * made["t"] + 0.1 * made["x1"] + 0.1 * rng.normal(size=rows), 0.0, 1.0)
    return pl.DataFrame(made).rename({"z": "offered", "t": "saw", "y": "bought"})


def write_rows(kind: str, rows: int, folder: Path) -> list[str]:
    """Write Parquet files of at most ROWS_PER_FILE rows, and return the flags that name their covariates."""
    make = discrete_rows if kind.startswith("discrete") else different_rows
    folder.mkdir(parents=True, exist_ok=True)
    for seed, start in enumerate(range(0, rows, ROWS_PER_FILE)):
        part = make(min(ROWS_PER_FILE, rows - start), seed, kind.endswith("amounts"))
        part.write_parquet(folder / f"part-{seed:03d}.parquet")
    names = ["age", "region"] if make is discrete_rows else [f"x{j}" for j in range(COVARIATES)]
    return ["-x", ",".join(names)]


def aggregated_studies(studies: int, tied: bool) -> pl.DataFrame:
    """Studies of 10,000 people as counts; if tied, half of the people are treated and half have the outcome."""
    import polars as pl

    z, t, y = np.indices((2, 2, 2)).reshape(3, -1)
    treated = np.where(z == 1, 0.8, 0.2) if tied else np.where(z == 1, 0.6, 0.1)
    chance = np.where(t == 1, treated, 1 - treated) * (0.5 if tied else np.where(y == 1, 0.3 + 0.2 * t, 0.7 - 0.2 * t))
    people = np.round(10_000 * chance / chance.sum())
    counts = np.tile(people, (studies, 1)) if tied else np.random.default_rng(0).poisson(people, size=(studies, 8))
    columns = {"offered": z, "saw": t, "bought": y}
    frame = {name: np.tile(values, studies) for name, values in columns.items()}
    return pl.DataFrame({"study": np.repeat(np.arange(studies), 8)} | frame | {"people": counts.ravel().astype(int)})


def chosen_sizes(quick: bool, only: Sequence[str] = (), most: int | None = None) -> dict[str, tuple[int, ...]]:
    """What to measure: all kinds or some, and sizes up to `most`."""
    every = QUICK if quick else FULL
    unknown = [name for name in only if name not in every]
    if unknown:
        raise InputError(f"--only names '{unknown[0]}', which is not measured; there are: {', '.join(every)}.")
    return {
        kind: tuple(size for size in sizes if most is None or size <= most)
        for kind, sizes in every.items()
        if not only or kind in only
    }


def measure_scale(quick: bool = False, only: Sequence[str] = (), most: int | None = None) -> Iterator[Point]:
    """All points, the small ones of each kind first."""
    for kind, sizes in chosen_sizes(quick, only, most).items():
        first = 1 if kind.startswith("studies") else START_UP_ROWS
        start = 0.0
        for size in (first, *sizes) if sizes else ():
            with tempfile.TemporaryDirectory() as folder:  # a folder per point: the largest take gigabytes
                point = _shortest(kind, size, _command(kind, size, Path(folder)), start)
            if size == first:
                start = point.seconds
            else:
                yield point


def _command(kind: str, size: int, folder: Path) -> list[str]:
    """Write the data of one point, and return the command to measure."""
    if not kind.startswith("studies"):
        named = write_rows(kind, size, folder)
        return ["fit", f"{folder}/*.parquet", *ROLES, *named, "--format", "json"]
    table, output = folder / "studies.parquet", folder / "bounds.parquet"
    aggregated_studies(size, tied=kind == "studies at a tie").write_parquet(table)
    return ["batch", str(table), "--by", "study", *ROLES, "-w", "people", "-o", str(output)]


def _shortest(kind: str, size: int, arguments: list[str], start_up: float) -> Point:
    point = _run(kind, size, arguments, start_up)
    # A batch would go on from what it wrote before.
    again = 2 if arguments[0] == "fit" and point.seconds < BRIEF else 0
    return min([point, *(_run(kind, size, arguments, start_up) for _ in range(again))], key=lambda run: run.seconds)


def _run(kind: str, size: int, arguments: list[str], start_up: float) -> Point:
    """Run the command in a process of its own; its time, and its peak memory as the system reports it."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as said:
        process = subprocess.Popen([sys.executable, "-m", "ivicl", *arguments], stdout=printed, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        said.seek(0)
        if process.returncode:
            raise RuntimeError(f"the measured command failed: {said.read().decode()[-400:]}")
        printed.seek(0)
        people = json.loads(printed.read())["details"]["n_used"] if arguments[0] == "fit" else None
    spent = used.ru_utime + used.ru_stime
    return Point(kind, size, seconds, spent, gigabytes(used.ru_maxrss), max(seconds - start_up, 1e-3), people)


def slope(points: Sequence[Point]) -> float | None:
    """The power of size by which time grows, start-up subtracted: 1 is proportional. None for fewer than two points."""
    if len(points) < 2:
        return None
    size, spent = (np.log([getattr(p, name) for p in points]) for name in ("size", "beyond_start"))
    return float(np.polyfit(size, spent, 1)[0])


def draw(points: Sequence[Point]) -> Figure:
    """Time and memory against size, with the fitted slope of each kind."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.6), layout="constrained")
    axes = figure.subplots(1, 2)
    for kind in dict.fromkeys(point.kind for point in points):
        here = [point for point in points if point.kind == kind]
        size, power = [point.size for point in here], slope(here)
        label = kind if power is None else f"{kind}: time ~ size^{power:.2f}"
        axes[0].plot(size, [point.beyond_start for point in here], "o-", label=label)
        axes[1].plot(size, [point.peak_gb for point in here], "o-", label=kind)
    for axis, what in zip(axes, ("Seconds, start-up subtracted", "Peak memory, GB"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel="Rows, or studies", ylabel=what)
        axis.grid(alpha=0.3)
    # Below the axes, because inside the legend would cover some of the points.
    figure.legend(*axes[0].get_legend_handles_labels(), fontsize=8, ncols=3, loc="outside lower center")
    return figure


def lines_of(points: Sequence[Point]) -> list[str]:
    """The slopes in words."""
    found = []
    for kind in dict.fromkeys(point.kind for point in points):
        power = slope([point for point in points if point.kind == kind])
        if power is not None and math.isfinite(power):
            found.append(f"{kind}: time grows as size^{power:.2f}, start-up subtracted")
    return found
