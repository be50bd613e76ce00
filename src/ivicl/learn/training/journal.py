"""What a run writes while it goes on: a line a step, validations, the loss curve, and the progress bar."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ivicl.learn.files import whole
from ivicl.learn.training.curve import draw_curve

if TYPE_CHECKING:
    from ivicl.learn.training.run import Run

LOG_FIELDS = ("step", "stage", "seconds", "tables", "lr", "norm", "counts", "compressed", "rows", "ends", "law")


class Journal:
    """`log.csv` (a line a step) and `validation.csv` in the run's folder; lines after the resumed step are dropped."""

    def __init__(self, folder: Path, step: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "log.csv"
        self.validation = folder / "validation.csv"
        for path in (self.path, self.validation):
            _truncate(path, step)
        self.rows: list[dict[str, Any]] = []

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append({k: f"{v:.5g}" if isinstance(v, float) and k != "seconds" else v for k, v in row.items()})

    def note(self, row: dict[str, Any]) -> None:
        append_rows(self.validation, [row], list(row))

    def flush(self) -> None:
        append_rows(self.path, self.rows, list(LOG_FIELDS))
        self.rows = []

    def draw(self) -> None:
        draw_curve(self.path.parent)


def _truncate(path: Path, step: int) -> None:
    """Drop the lines beyond a step, and a line that a kill cut off."""
    if not path.exists():
        return
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    kept = [line for line in lines if None not in line.values() and int(line.get("step") or step + 1) <= step]
    if not kept:
        path.unlink()
        return
    with whole(path) as fresh:
        fresh.unlink(missing_ok=True)
        append_rows(fresh, kept, list(kept[0]))


def append_rows(path: Path, rows: list[dict[str, Any]], fields: list[str]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fields, extrasaction="ignore")
        if new:
            writer.writeheader()
        writer.writerows(rows)


@contextlib.contextmanager
def progress_bar(show: bool, end: int, done: int) -> Iterator[Any]:
    columns = (
        TextColumn("step {task.completed}/{task.total}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, TextColumn("{task.description}"), console=Console(stderr=True), disable=not show) as bar:
        task = bar.add_task("", total=end, completed=done)

        def advance(run: Run, row: dict[str, Any]) -> None:
            speed = sum(run.tables.values()) / max(run.seconds, 1e-9)
            loss = row["rows"] or row["counts"]
            bar.update(task, completed=run.step, description=f"loss {loss:.3f}  {speed:.0f} tables/s")

        yield advance
