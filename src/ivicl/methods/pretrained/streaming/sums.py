"""Sums over rows that come in chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ivicl.methods.pretrained.streaming.source import Chunk


class LawSums(ABC):
    """What the laws of the rows seen so far add up to, part by part."""

    def __init__(self, *shapes: int | tuple[int, ...]) -> None:
        self._sums = [np.zeros(shape) for shape in shapes]

    @abstractmethod
    def part(self, chunk: Chunk, law: np.ndarray, chance: np.ndarray) -> list[np.ndarray]:
        """Sums over the rows of a chunk, with law (n,2,4) and P(Z=1 | x) (n,)."""

    def add(self, part: list[np.ndarray]) -> None:
        """The sums over one more chunk."""
        self._sums = [total + more for total, more in zip(self._sums, part, strict=True)]
