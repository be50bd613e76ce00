"""A table's rows in chunks, as the network sees them after its first steps: standardised, recoded, strongest first.

The people of a chunk are alike in z and t, so that a chunk belongs to one arm and one treatment, and nothing has to be
masked. D covariates that vary, P kept ones, n rows of a chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ivicl._shared.cores import in_order, threads
from ivicl.methods.pretrained.stacks import Table
from ivicl.methods.pretrained.streaming.constants import CODINGS, DIRECTION, NO_ASSOCIATION
from ivicl.methods.pretrained.streaming.kept import Kept, Room

Answer = TypeVar("Answer")
CHUNK = 8_192
"""Rows in memory at once, for each thread: about 100 MB."""
SHOWN = 65_536
"""Rows whose laws are handed out: of a larger table, which is sorted, every second, third, ... one."""


@dataclass(frozen=True)
class Chunk:
    """Rows of one (z, t)."""

    number: int
    """Its place in the source's plan."""
    z: int
    t: int
    x: np.ndarray
    """(n,P) float32."""
    seen: np.ndarray
    """(n,2) 1-y and y, the row's soft cells at its own z and t."""
    v: np.ndarray
    w: np.ndarray

    @property
    def wide(self) -> np.ndarray:
        """(n,P) covariates in float64."""
        return self.x.astype(np.float64)

    @property
    def people(self) -> np.ndarray:
        """(n,2) with either outcome."""
        answer: np.ndarray = self.seen * self.w[:, None]
        return answer


@dataclass(frozen=True)
class Totals:
    """What sums over all rows say, in one coding."""

    counts: np.ndarray
    """(2,2,2) people by [z][t][y]."""
    spread: np.ndarray
    """(2,2) variance of y by [z][t], over m (1-m)."""
    binary: bool
    """Every outcome is 0 or 1."""
    columns: np.ndarray
    """(D,2,2,2) sums of the covariates over the people of a cell."""

    def recoded(self, flips: tuple[int, int, int]) -> Totals:
        flip_t, flip_y, flip_z = flips
        cells = [axis for axis, flip in enumerate((flip_z, flip_t, flip_y)) if flip]
        groups = [axis for axis in cells if axis < 2]
        return replace(
            self,
            counts=np.flip(self.counts, tuple(cells)),
            spread=np.flip(self.spread, tuple(groups)),
            columns=np.flip(self.columns, tuple(axis + 1 for axis in cells)),
        )


class Source:
    """The rows of one table, in the caller's coding. Nothing is read before `prepare`."""

    def __init__(self, table: Table) -> None:
        rows = np.flatnonzero(table.w > 0)
        group = (2 * table.z + table.t).astype(np.int8)[rows]
        y, w = table.y[rows].astype(np.float32), table.w[rows].astype(np.float32).astype(np.float64)
        counts = [np.bincount(group, w * part, 4) for part in (1 - y, y)]
        self.counts = np.stack(counts, 1).reshape(2, 2, 2)
        """People by [z][t][y]."""
        self.total = float(w.sum())
        # By (z, t), and within it as they came. Half as large as what numpy makes of places.
        self._rows = rows[np.argsort(group, kind="stable")].astype(np.uint32)
        self._table = table
        starts = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=4))]).tolist()
        self.plan = [
            (k, start, min(start + CHUNK, starts[k + 1]))
            for k in range(4)
            for start in range(starts[k], starts[k + 1], CHUNK)
        ]
        """The group 2z + t of each chunk, and where it begins and ends."""
        self._on_rows: Callable[[int], None] = lambda rows: None
        self._step = -(-table.rows // SHOWN)

    def prepare(self, on_rows: Callable[[int], None]) -> None:
        """The passes before anything is fitted. `on_rows` is told of the rows of every pass."""
        self._on_rows = on_rows
        self._standardise()
        self.totals = self._totals()

    @property
    def nbytes(self) -> int:
        """Of the covariates."""
        return int(self._table.x.nbytes)

    def shown(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Of a chunk, the rows whose laws are handed out: their places in the chunk, and in the table."""
        _, start, stop = self.plan[number]
        rows = self._rows[start:stop].astype(np.intp)
        here = np.flatnonzero(rows % self._step == 0)
        return here, rows[here]

    def sweep(self, work: Callable[[int], Answer]) -> Iterator[Answer]:
        """`work` on the number of each chunk, on all cores; answers in order, so that sums are the same every time."""
        for (_, start, stop), answer in zip(self.plan, in_order(work, range(len(self.plan)), threads()), strict=True):
            self._on_rows(stop - start)
            yield answer

    def _raw(self, number: int) -> np.ndarray:
        """(n,.) covariates as they came."""
        _, start, stop = self.plan[number]
        found: np.ndarray = self._table.x[self._rows[start:stop]]
        return found

    def others(self, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """y, v and w (n,) as the graph takes them."""
        _, start, stop = self.plan[number]
        rows, table = self._rows[start:stop], self._table
        v = np.zeros(len(rows), np.float32) if table.v is None else table.v[rows].astype(np.float32)
        y, w = table.y[rows].astype(np.float32), table.w[rows].astype(np.float32)
        return y, v.astype(np.float64), w.astype(np.float64)

    def _standardise(self) -> None:
        """As `prepare.standardise` has it: first to [0, 1] by the range, then to mean 0 and variance 1."""
        low, high = np.full(self._table.x.shape[1], np.inf), np.full(self._table.x.shape[1], -np.inf)

        def ends(number: int) -> tuple[np.ndarray, np.ndarray]:
            x = self._raw(number)
            return x.min(0), x.max(0)

        for least, most in self.sweep(ends):
            low, high = np.minimum(low, least), np.maximum(high, most)
        span = 0.5 * high - 0.5 * low
        self._varying = np.flatnonzero(span > 1e-13 * np.maximum(np.abs(low), np.abs(high)))
        self._low, self._span = low[self._varying], span[self._varying]
        self._mean, self._scale = np.zeros(len(self._varying)), np.ones(len(self._varying))
        none = np.zeros(len(self._varying))
        self._mean = sum(self.sweep(lambda k: self.others(k)[2] @ self._unit(k)), none) / self.total
        squares = sum(self.sweep(lambda k: self.others(k)[2] @ self._unit(k) ** 2), none)
        variance = squares / self.total
        self._scale = np.sqrt(np.where(variance > 0, variance, 1.0))

    def _unit(self, number: int, columns: slice | np.ndarray = slice(None)) -> np.ndarray:
        found = self._raw(number)[:, self._varying[columns]]
        found *= 0.5
        found -= 0.5 * self._low[columns]
        found /= self._span[columns]
        found -= self._mean[columns]
        return found

    def standard(self, number: int, columns: slice | np.ndarray = slice(None)) -> np.ndarray:
        """(n,D) float32: mean 0 and variance 1."""
        found = self._unit(number, columns)
        found /= self._scale[columns]
        return found.astype(np.float32)

    def _totals(self) -> Totals:
        columns = np.zeros((len(self._varying), 4, 2))
        odd = 0.0

        def first(k: int) -> tuple[np.ndarray, float]:
            y, v, w = self.others(k)
            people = np.stack([(1 - y).astype(np.float64), y.astype(np.float64)], 1) * w[:, None]
            share = y.astype(np.float64)
            return self.standard(k).astype(np.float64).T @ people, float((share * (1 - share) + v).max())

        for (group, _, _), (by_column, oddest) in zip(self.plan, self.sweep(first), strict=True):
            columns[:, group] += by_column
            odd = max(odd, oddest)
        counts = self.counts.reshape(4, 2)
        size = np.maximum(counts.sum(1), 1e-30)
        mean = counts[:, 1] / size

        def second(k: int) -> float:
            y, v, w = self.others(k)
            return float(w @ (v + (y - mean[self.plan[k][0]]) ** 2))

        squares = np.zeros(4)
        for (group, _, _), found in zip(self.plan, self.sweep(second), strict=True):
            squares[group] += found
        top = mean * (1 - mean)
        spread = np.where(top > 1e-12, squares / size / np.maximum(top, 1e-12), 1.0).clip(0, 1)
        return Totals(self.counts, spread.reshape(2, 2), odd < 1e-9, columns.reshape(-1, 2, 2, 2))

    def coding_weights(self, ramp: float) -> np.ndarray:
        """(8,) float32: how much each coding of CODINGS counts. One has all the weight, except near a tie."""
        counts, total = self.counts, self.counts.sum()

        def flip(excess: float) -> float:
            return float(np.clip(0.5 + excess / (2 * ramp), 0, 1))

        flip_t, flip_y = flip(counts[:, 1].sum() / total - 0.5), flip(counts[:, :, 1].sum() / total - 0.5)
        arms, taking = counts.sum((1, 2)), counts[:, 1].sum(1)
        first_stage = taking[1] / arms[1] - taking[0] / arms[0] if arms.all() else 0.0
        flip_z = flip(-first_stage)
        weights = [
            (flip_t if ft else 1 - flip_t) * (flip_y if fy else 1 - flip_y) * (flip_z if fz != ft else 1 - flip_z)
            for ft, fy, fz in CODINGS
        ]
        return np.array(weights, np.float32)


class Recoded:
    """The rows of a source in one coding, with the kept covariates in their order and directions."""

    def __init__(self, source: Source, flips: tuple[int, int, int], keep: int) -> None:
        self.source, self._flips = source, flips
        self.totals = source.totals.recoded(flips)
        cells = self.totals.columns.reshape(-1, 8)
        association = cells / (np.sqrt(self.totals.counts.reshape(8)) + 1e-9) / np.sqrt(source.total)
        score = (association**2).sum(1)
        best = np.argsort(-score, kind="stable")[:keep]
        self._kept = best[score[best] > NO_ASSOCIATION]
        self._sign = np.where(association[self._kept] @ np.array(DIRECTION) < 0, -1, 1).astype(np.float32)
        self.score = score[self._kept]
        """(P,)."""
        self.room = Room(source.nbytes)
        self._x = Kept(self.room)

    @property
    def columns(self) -> int:
        return len(self._kept)

    @property
    def count(self) -> int:
        """Rows in all."""
        return sum(self.arms)

    @property
    def arms(self) -> list[int]:
        """Rows of each."""
        sizes = [0, 0]
        for group, start, stop in self.source.plan:
            sizes[(group // 2) ^ self._flips[2]] += stop - start
        return sizes

    def chunk(self, number: int) -> Chunk:
        flip_t, flip_y, flip_z = self._flips
        group = self.source.plan[number][0]
        y, v, w = self.source.others(number)
        y = np.abs(y - np.float32(flip_y))
        seen = np.stack([1 - y, y], 1).astype(np.float64)
        x = self._x.get(number, lambda: self.source.standard(number, self._kept) * self._sign)
        return Chunk(number, (group // 2) ^ flip_z, (group % 2) ^ flip_t, x, seen, v, w)

    def sweep(self, work: Callable[[Chunk], Answer]) -> Iterator[tuple[Chunk, Answer]]:
        """`work` on each chunk."""

        def on(number: int) -> tuple[Chunk, Answer]:
            chunk = self.chunk(number)
            return chunk, work(chunk)

        return self.source.sweep(on)
