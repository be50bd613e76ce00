"""What was computed for a chunk, kept while there is room: a pass that finds it need not compute it again."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import numpy as np

BYTES = 1_000_000_000
"""Room for what is kept beside the table. The answers are the same with any."""


class Room:
    """Bytes that are left."""

    def __init__(self, table: int = 0) -> None:
        """`table`: bytes of the covariates, which are in memory as well; a large table leaves an eighth of the room."""
        self._left, self._lock = max(BYTES - table, BYTES // 8), Lock()

    def take(self, size: int) -> bool:
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True


class Kept:
    """Arrays by the number of their chunk."""

    def __init__(self, room: Room) -> None:
        self._room, self._held = room, dict[int, np.ndarray]()

    def get(self, number: int, make: Callable[[], np.ndarray]) -> np.ndarray:
        found = self._held.get(number)
        if found is None:
            found = make()
            if self._room.take(found.nbytes):
                self._held[number] = found
        return found
