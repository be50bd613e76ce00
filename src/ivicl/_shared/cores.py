"""How many cores to use, and work spread over them that stays in order and in memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def threads_asked() -> int:
    """OMP_NUM_THREADS, as other numerical libraries have it; 0 where it does not say."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdigit() else 0


def threads() -> int:
    """Threads that numerical libraries may use: OMP_NUM_THREADS, or the cores this process may run on."""
    count = getattr(os, "process_cpu_count", os.cpu_count)  # the first, of Python 3.13, knows of taskset and the like
    return threads_asked() or count() or 1


def in_order(work: Callable[[Item], Answer], items: Iterable[Item], workers: int) -> Iterator[Answer]:
    """`work` on each item, in threads; the answers come in the order of the items.

    At most two items for each thread are taken ahead of the answers. (`Executor.map` takes all items at once, so that
    a generator of large arrays would be in memory as a whole.)
    """
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Answer]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) == 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:  # an error, or a caller who has seen enough
                future.cancel()
