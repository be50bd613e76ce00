"""Sums over rows that come in chunks."""

from __future__ import annotations

import numpy as np


class RowSums:
    """What the rows seen so far add up to, part by part."""

    def __init__(self, *shapes: int | tuple[int, ...]) -> None:
        self._sums = [np.zeros(shape) for shape in shapes]

    def add(self, part: list[np.ndarray]) -> None:
        """The sums over one more chunk."""
        self._sums = [total + more for total, more in zip(self._sums, part, strict=True)]
