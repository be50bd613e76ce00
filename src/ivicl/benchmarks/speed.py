"""The timings behind `ivicl speed`: a benchmark that prints, and not a test, which would fail on a busy machine."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ivicl.errors import design_warnings_off

COLD_RUNS = 5
"""How many times the cold command is run: a single run says more about the machine's load than about the command."""


@dataclass(frozen=True)
class Timing:
    """One measured duration, or the ratio of two, and the target for it."""

    name: str
    seconds: float
    wanted: float
    note: str = ""
    unit: str = "s"
    """"s", or "times" if `seconds` is a ratio."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def made_up(n: int, d: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A table with continuous covariates: every row is different."""
    x = rng.normal(size=(n, d))
    z = rng.integers(0, 2, n)
    t = (rng.random(n) < 0.15 + 0.5 * z + 0.1 * (x[:, 0] > 0)).astype(int)
    y = (rng.random(n) < 0.3 + 0.2 * t + 0.15 * (x[:, 1] > 0)).astype(int)
    return {"z": z, "t": t, "y": y} | {f"x{j}": x[:, j] for j in range(d)}


def measure(quick: bool = False) -> Iterator[Timing]:
    """The timings, one after the other. `quick` shortens those that take longest."""
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(10)]
    roles: dict[str, Any] = {"outcome": "y", "treatment": "t", "instrument": "z", "covariates": names}
    frame = made_up(2048, 10, rng)
    seconds = median(_cold_fit(frame, names) for _ in range(COLD_RUNS))
    yield Timing("cold command, ivicl fit, 2,048 rows, 10 covariates", seconds, 1.5, f"median of {COLD_RUNS}")

    from ivicl import IVBounds
    from ivicl.methods.pretrained.runtime import Model

    model = Model.shipped()
    frame = made_up(2048, 10, rng)
    x = np.column_stack([frame[name] for name in names])[None]
    feed = (x, *(frame[name][None] for name in "zty"), np.ones((1, 2048)))
    yield Timing("forward pass, 2,048 rows, 10 covariates", _best(lambda: model.predict(*feed), 5), 0.1)

    yield _amount_and_yes_no(2048, roles, rng)

    studies = 100 if quick else 1000
    frame = made_up(256 * studies, 4, rng) | {"study": np.repeat(np.arange(studies), 256)}
    many = roles | {"by": "study", "covariates": names[:4]}
    seconds = _best(lambda: IVBounds().fit_many(frame, **many), 1)
    yield Timing(f"fit_many, {studies:,} studies of 256 rows, 4 covariates", seconds, 3 if quick else 30)

    rows = 100_000 if quick else 1_000_000
    frame = made_up(rows, 10, rng)
    seconds = _best(lambda: IVBounds().fit(frame, **roles), 1)
    name = f"fit, {rows:,} distinct rows, 10 covariates"
    yield Timing(name, seconds, 60, f"peak memory {_peak_memory()}, wanted below 8 GB")

    table = np.round(np.array([[[0.4, 0.1], [0, 0]], [[0.15, 0.05], [0.1, 0.2]]]) * 1e7)
    yield Timing("fit_counts, 10 million people", _best(lambda: IVBounds().fit_counts(table), 5), 0.05)


def _amount_and_yes_no(rows: int, roles: dict[str, Any], rng: np.random.Generator) -> Timing:
    """Time for an amount over time for a yes/no outcome of the same people; the note compares with Levis et al."""
    from ivicl import IVBounds
    from ivicl.errors import MissingDependencyError

    frame = made_up(rows, 10, rng)
    frames = [frame, frame | {"y": frame["y"] + rng.random(rows)}]

    def seconds(method: str, times: int) -> list[float]:
        return [_best(lambda each=each: IVBounds(method).fit(each, **roles), times) for each in frames]  # type: ignore[misc]

    yes_no, amount = seconds("ivicl", 3)
    try:
        others = [levis / ours for levis, ours in zip(seconds("levis", 1), (yes_no, amount), strict=True)]
        beside = (
            f"Levis et al. over the network: {others[0]:.1f} for the yes/no outcome, {others[1]:.1f} for the amount"
        )
    except MissingDependencyError:
        beside = "Levis et al. need pip install 'ivicl[baselines]'"
    return Timing(f"an amount over a yes/no outcome, fit, {rows:,} rows", amount / yes_no, 1.3, beside, "times")


def _best(action: Callable[[], Any], times: int) -> float:
    """The shortest of several runs after a warm-up; with `times=1`, for long actions, a single run without one."""
    found = []
    with design_warnings_off():
        if times > 1:
            action()
        for _ in range(times):
            start = time.perf_counter()
            action()
            found.append(time.perf_counter() - start)
    return min(found)


def _peak_memory() -> str:
    """The most memory that this process has used so far, if the system can tell."""
    try:
        import resource
    except ImportError:  # Windows
        return "not known here"
    return f"{gigabytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss):.1f} GB"


def gigabytes(maxrss: int) -> float:
    """The peak memory of a process, from the system's `ru_maxrss`."""
    return maxrss / (1e9 if sys.platform == "darwin" else 1e6)  # macOS counts bytes, others count kilobytes


def _cold_fit(frame: dict[str, np.ndarray], names: list[str]) -> float:
    """Seconds of the command in a new process, from its start to its JSON."""
    import polars as pl

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        pl.DataFrame(frame).write_csv(path)
        command = [sys.executable, "-m", "ivicl", "fit", str(path), "-y", "y", "-t", "t", "-z", "z"]
        command += ["-x", ",".join(names), "--format", "json"]
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"the timed command failed: {done.stderr.strip()[-400:]}")
    return seconds
