"""A progress bar on stderr, so that stdout holds nothing but the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(label: str, total: int, start: int = 0, on: bool = True) -> Iterator[Callable[[int], None]]:
    """Yields a function to call with the amount of work just done; with `on=False` nothing is shown."""
    if not on:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task(label, total=total, completed=start)
        yield lambda done: progress.advance(task, done)
