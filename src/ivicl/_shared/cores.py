"""How many cores to use, and how to spread work over them in order and with little memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from ivicl._shared.one_core import one_core_each

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def threads_asked() -> int:
    """OMP_NUM_THREADS, which other numerical libraries follow too; 0 if it is not set to a number."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdigit() else 0


def threads() -> int:
    """Threads that numerical libraries may use: OMP_NUM_THREADS, or the cores this process may run on."""
    # `process_cpu_count`, new in Python 3.13, respects limits such as taskset's.
    count = getattr(os, "process_cpu_count", os.cpu_count)
    return threads_asked() or count() or 1


def in_order(work: Callable[[Item], Answer], items: Iterable[Item], workers: int) -> Iterator[Answer]:
    """Run `work` on each item, in threads, one core for each; the answers come in the order of the items.

    At most two items per thread are taken ahead of the answers. (`Executor.map` takes all items at once, so everything
    from a generator of large arrays would be in memory together.)
    """
    with one_core_each(), ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Answer]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) == 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:  # left over after an error, or when the caller stops early
                future.cancel()
