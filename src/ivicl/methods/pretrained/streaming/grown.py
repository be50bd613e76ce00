"""The grown tree of `learn.network.grown` in passes over chunks: two a level, over the strongest covariates alone.

P strong covariates, C cuts, L leaves, n rows of a chunk.
"""

from __future__ import annotations

import numpy as np

from ivicl.methods.pretrained.streaming.constants import COARSE, FINE, LEVELS, SHRINKAGE, STRONGEST, TIE
from ivicl.methods.pretrained.streaming.source import Chunk, Recoded

PASSES = 2 * LEVELS[-1]


class GrownTree:
    """Questions, and the laws in the leaves after each number of LEVELS."""

    def __init__(self, rows: Recoded, columns: int, mean: np.ndarray) -> None:
        """columns that the network keeps at most; mean (2,4) of the arms."""
        self._asked = min(STRONGEST, columns)
        self._questions: list[tuple[int, float]] = []
        self._laws = []
        every = np.array(COARSE)
        for level in range(LEVELS[-1]):
            below, total = self._below(rows, [(column, every) for column in range(self._asked)])
            column, place = divmod(_best(below, total), len(every))
            cuts = every[place] + np.array(FINE)
            below, total = self._below(rows, [(column, cuts)])
            best = _best(below, total)
            self._questions.append((column, float(cuts[best])))
            if level + 1 in LEVELS:
                held = np.concatenate([below[best], total - below[best]])  # those above the cut have the next bit
                self._laws.append(held + SHRINKAGE * mean.reshape(2, 2, 2))

    def _values(self, chunk: Chunk, column: int) -> np.ndarray:
        """(n,) of a covariate; one that is not there is zero everywhere."""
        if column >= chunk.x.shape[1]:
            return np.zeros(len(chunk.w))
        return chunk.x[:, column].astype(np.float64)

    def _leaf(self, chunk: Chunk, levels: int) -> np.ndarray:
        """(n,) the leaf after so many questions."""
        found = np.zeros(len(chunk.w), np.intp)
        for level, (column, cut) in enumerate(self._questions[:levels]):
            found |= (self._values(chunk, column) > cut).astype(np.intp) << level
        return found

    def _below(self, rows: Recoded, asked: list[tuple[int, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """What rows at or below each cut add to their leaves (C,L,2,2,2), for all columns asked; and all rows (L,.)."""
        levels = len(self._questions)
        leaves, cuts = 2**levels, len(asked[0][1])

        def work(chunk: Chunk) -> np.ndarray:
            first = self._leaf(chunk, levels) * (cuts + 1)
            found = np.empty((len(asked), leaves, cuts + 1, 2))
            for k, (column, edges) in enumerate(asked):
                steps = np.ceil((self._values(chunk, column) - edges[0]) / (edges[1] - edges[0]))
                place = first + steps.clip(0, cuts).astype(np.intp)
                for y in (0, 1):
                    sums = np.bincount(place, chunk.people[:, y], leaves * (cuts + 1))
                    found[k, :, :, y] = sums.reshape(leaves, cuts + 1)
            return found

        held = np.zeros((len(asked), leaves, cuts + 1, 2, 2, 2))
        for chunk, part in rows.sweep(work):
            held[:, :, :, chunk.z, chunk.t] += part
        below = held.cumsum(2)
        return below[:, :, :-1].transpose(0, 2, 1, 3, 4, 5).reshape(-1, leaves, 2, 2, 2), below[0, :, -1]

    def laws(self, chunk: Chunk) -> list[np.ndarray]:
        """(n,2,4) after each number of LEVELS, leave-one-out in the own arm."""
        found = []
        for levels, held in zip(LEVELS, self._laws, strict=True):
            law = held[self._leaf(chunk, levels)].reshape(-1, 2, 4)
            law[:, chunk.z, 2 * chunk.t : 2 * chunk.t + 2] -= chunk.seen
            found.append(law / np.maximum(law.sum(-1, keepdims=True), 1e-6))
        return found


def _best(below: np.ndarray, total: np.ndarray) -> int:
    """Which of the questions, that leave (C,L,2,2,2) below of (L,2,2,2), parts the leaves' cells best."""
    size = np.maximum(total.sum((0, 2, 3)), 1e-6)
    gain = ((_parted(below) + _parted(total - below)) / size).sum(-1)
    return int((gain - TIE * np.arange(len(gain))).argmax())


def _parted(sums: np.ndarray) -> np.ndarray:
    """(C,2): the sum of squares that the leaves' means explain; small leaves count less."""
    explained: np.ndarray = ((sums**2).sum((3, 4)) / (sums.sum((3, 4)) + SHRINKAGE)).sum(1)
    return explained
