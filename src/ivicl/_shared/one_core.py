"""One core for each product of matrices, for as long as several threads of ours compute.

Otherwise the linear-algebra library divides every product among all cores, which our own threads keep busy already, and
its threads spend their time waiting for each other. How many cores it uses is a setting of the whole process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from threadpoolctl import threadpool_limits


class _Setting:
    """The cores for each product: one while anybody asks for that, and then as many as before."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._asking = 0

    def ask(self) -> None:
        with self._lock:
            if not self._asking:
                self._before = threadpool_limits(limits=1, user_api="blas")
            self._asking += 1

    def release(self) -> None:
        with self._lock:
            self._asking -= 1
            if not self._asking:
                self._before.restore_original_limits()


_SETTING = _Setting()


@contextmanager
def one_core_each() -> Iterator[None]:
    """In here every product uses one core; several threads may be in here at once."""
    _SETTING.ask()
    try:
        yield
    finally:
        _SETTING.release()
