"""Processes that run jobs side by side, one core each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import TypeVar

Task = TypeVar("Task")
Answer = TypeVar("Answer")


def in_processes(function: Callable[[Task], Answer], tasks: Iterable[Task], workers: int) -> Iterator[Answer]:
    """The answers as they arrive, in any order."""
    context = get_context("spawn")
    with _one_thread(), ProcessPoolExecutor(workers, mp_context=context, initializer=_leave_with_parent) as pool:
        for finished in as_completed([pool.submit(function, task) for task in tasks]):
            yield finished.result()


def _leave_with_parent() -> None:
    """Runs in a worker: exit when the parent process has been killed; the worker would otherwise wait forever."""
    parent = parent_process()
    assert parent is not None, "a worker has one"

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes started inside this context use one core each.

    Libraries read these variables when they are imported, so they are set before the processes start.
    """
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS", "LOKY_MAX_CPU_COUNT")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
