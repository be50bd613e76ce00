"""Time and memory against size, behind `ivicl speed --scale`: each point is a command in a process of its own.

Discrete rows are merged as they stream by, so their number should hardly matter; rows that all differ are sampled
beyond a limit; studies should cost the same each, and several times as much where codings are tied.
"""

from __future__ import annotations

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

from ivicl.benchmarks.speed import made_up

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

ROWS_PER_FILE = 5_000_000
REGIONS = ("north", "east", "south", "west", "islands")
START_UP_ROWS = 1_000
"""A table so small that a fit of it is the start of the process and one pass."""
ROLES = ["-y", "bought", "-t", "saw", "-z", "offered"]
FULL = {"discrete rows": (10**5, 10**6, 10**7, 10**8), "different rows": (10**4, 10**5, 10**6, 10**7)}
QUICK = {"discrete rows": (10**5, 10**6, 10**7), "different rows": (10**4, 10**5)}
STUDIES = {"full": (1_000, 100_000), "quick": (256, 1_024)}


@dataclass(frozen=True)
class Point:
    """One command: what of, how much, and what it took."""

    kind: str
    size: int
    seconds: float
    cpu_seconds: float
    peak_gb: float
    beyond_start: float
    """Seconds without those of a table of START_UP_ROWS."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def discrete_rows(rows: int, seed: int) -> pl.DataFrame:
    """A trial with non-compliance, 20 covariate cells, text among them."""
    import polars as pl

    rng = np.random.default_rng([2026, seed])
    age, region = rng.integers(0, 4, rows, dtype=np.int8), rng.integers(0, 5, rows, dtype=np.int8)
    z = rng.integers(0, 2, rows, dtype=np.int8)
    t = (rng.random(rows, dtype=np.float32) < 0.1 + 0.45 * z + 0.05 * age).astype(np.int8)
    y = (rng.random(rows, dtype=np.float32) < 0.25 + 0.2 * t + 0.03 * region).astype(np.int8)
    names = pl.Series(REGIONS).gather(pl.Series(region.astype(np.int64)))
    return pl.DataFrame({"offered": z, "saw": t, "bought": y, "age": age, "region": names})


def write_discrete(rows: int, folder: Path) -> None:
    """Parquet files of at most ROWS_PER_FILE rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, start in enumerate(range(0, rows, ROWS_PER_FILE)):
        discrete_rows(min(ROWS_PER_FILE, rows - start), seed).write_parquet(folder / f"part-{seed:02d}.parquet")


def aggregated_studies(studies: int, tied: bool) -> pl.DataFrame:
    """Studies of 10,000 people as counts; at a tie half of the people are treated, and half have the outcome."""
    import polars as pl

    z, t, y = np.indices((2, 2, 2)).reshape(3, -1)
    treated = np.where(z == 1, 0.8, 0.2) if tied else np.where(z == 1, 0.6, 0.1)
    chance = np.where(t == 1, treated, 1 - treated) * (0.5 if tied else np.where(y == 1, 0.3 + 0.2 * t, 0.7 - 0.2 * t))
    people = np.round(10_000 * chance / chance.sum())
    counts = np.tile(people, (studies, 1)) if tied else np.random.default_rng(0).poisson(people, size=(studies, 8))
    columns = {"offered": z, "saw": t, "bought": y}
    frame = {name: np.tile(values, studies) for name, values in columns.items()}
    return pl.DataFrame({"study": np.repeat(np.arange(studies), 8)} | frame | {"people": counts.ravel().astype(int)})


def measure_scale(quick: bool = False) -> Iterator[Point]:
    """All points, the small ones of each kind first."""
    import polars as pl

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, sizes in (QUICK if quick else FULL).items():
            start = 0.0
            for rows in (START_UP_ROWS, *sizes):
                place = folder / f"{kind} {rows}"
                if kind == "discrete rows":
                    write_discrete(rows, place)
                    more = ["-x", "age,region"]
                else:
                    place.mkdir()
                    frame = pl.DataFrame(made_up(rows, 10, np.random.default_rng(rows)))
                    frame = frame.rename({"z": "offered", "t": "saw", "y": "bought"})
                    frame.write_parquet(place / "part.parquet")
                    more = ["-x", ",".join(f"x{j}" for j in range(10))]
                point = _run(kind, rows, ["fit", f"{place}/*.parquet", *ROLES, *more, "--format", "json"], start)
                if rows == START_UP_ROWS:
                    start = point.seconds
                else:
                    yield point
        for tied, studies in ((False, STUDIES["quick" if quick else "full"]), (True, STUDIES["quick"][:1])):
            for number in studies:
                table, output = folder / "studies.parquet", folder / "bounds.parquet"
                aggregated_studies(number, tied).write_parquet(table)
                command = ["batch", str(table), "--by", "study", *ROLES, "-w", "people", "-o", str(output)]
                yield _run("studies at a tie" if tied else "studies", number, [*command, "--overwrite"], 0.0)


def _run(kind: str, size: int, arguments: list[str], start_up: float) -> Point:
    """The command in a process of its own: its time, and the memory that the system says it held at most."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen([sys.executable, "-m", "ivicl", *arguments], stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        said.seek(0)
        if process.returncode:
            raise RuntimeError(f"the measured command failed: {said.read().decode()[-400:]}")
    unit = 1e9 if sys.platform == "darwin" else 1e6  # macOS counts bytes, others count kilobytes
    return Point(
        kind, size, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / unit, max(seconds - start_up, 1e-3)
    )


def slope(points: Sequence[Point]) -> float | None:
    """The power of size by which time grows, start-up subtracted: 1 is proportional. None for fewer than two points."""
    if len(points) < 2:
        return None
    size, spent = (np.log([getattr(p, name) for p in points]) for name in ("size", "beyond_start"))
    return float(np.polyfit(size, spent, 1)[0])


def draw(points: Sequence[Point]) -> Figure:
    """Time and memory against size, with the fitted slope of each kind."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
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
    axes[0].legend(fontsize=8)
    return figure


def lines_of(points: Sequence[Point]) -> list[str]:
    """The slopes in words."""
    found = []
    for kind in dict.fromkeys(point.kind for point in points):
        power = slope([point for point in points if point.kind == kind])
        if power is not None and math.isfinite(power):
            found.append(f"{kind}: time grows as size^{power:.2f}, start-up subtracted")
    return found
