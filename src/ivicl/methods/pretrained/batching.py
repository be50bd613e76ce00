"""Many tables, few forward passes: tables of similar size are padded with rows of weight zero and stacked.

Padding with weight zero and with constant covariates changes nothing (to float precision): the graph is built so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ivicl.identification.laws import count_cells
from ivicl.methods.pretrained.runtime import Model, Posteriors

ROWS_PER_PASS = 4_096
"""Rows in one stacked pass; a single larger table passes alone. More is a tenth slower, and takes more memory."""
PASSES_WORTH_A_POOL = 12
"""From here on passes go side by side, each on one core; fewer would not pay for opening the file a second time."""
COUNTS_PER_PASS = 4_096
"""Tables without covariates in one pass: eight rows each."""


@dataclass(frozen=True)
class Table:
    """One binary problem: x (N,D); z, t, y, w (N,). Weight zero means that the row is not there."""

    x: np.ndarray
    z: np.ndarray
    t: np.ndarray
    y: np.ndarray
    w: np.ndarray

    @property
    def rows(self) -> int:
        return len(self.w)

    @property
    def varies(self) -> bool:
        """Some covariate takes two values. Without one the table is its eight counts."""
        return bool(self.x.shape[1] and (self.x != self.x[:1]).any())

    def counts(self) -> np.ndarray:
        return count_cells(self.z, self.t, self.y, self.w)


def predict_tables(
    model: Model, tables: Sequence[Table], on_rows: Callable[[int], None] = lambda rows: None
) -> Posteriors:
    """The posteriors of all tables, in their order. `on_rows` is told the rows done, for a progress bar."""
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray] | None] = [None] * len(tables)
    varies = [table.varies for table in tables]
    plain = [i for i in range(len(tables)) if not varies[i]]
    for start in range(0, len(plain), COUNTS_PER_PASS):
        chosen = plain[start : start + COUNTS_PER_PASS]
        _spread(model.predict_counts(np.stack([tables[i].counts() for i in chosen])), chosen, found)
        on_rows(sum(tables[i].rows for i in chosen))
    batches = _batches([i for i in range(len(tables)) if varies[i]], [table.rows for table in tables])
    stacks = (_stack([tables[i] for i in chosen]) for chosen in batches)
    # Large tables pass alone: side by side their memory would add up, and nothing is gained.
    many = len(batches) >= PASSES_WORTH_A_POOL and tables[batches[0][0]].rows <= ROWS_PER_PASS
    answers = model.predict_side_by_side(stacks) if many else (model.predict(*arrays) for arrays in stacks)
    for chosen, answer in zip(batches, answers, strict=True):
        _spread(answer, chosen, found)
        on_rows(sum(tables[i].rows for i in chosen))
    parts = [part for part in found if part is not None]
    return Posteriors(*(np.stack([part[k] for part in parts]) for k in range(3)))


def _batches(chosen: list[int], rows: list[int]) -> list[list[int]]:
    """Groups of tables whose sizes lie within a factor of two, each of at most ROWS_PER_PASS padded rows."""
    batches: list[list[int]] = []
    for i in sorted(chosen, key=lambda i: -rows[i]):
        # The first of a batch is its largest: it sets the padded size.
        largest = rows[batches[-1][0]] if batches else 0
        similar = rows[i] * 2 >= largest or largest <= 64
        if batches and similar and (len(batches[-1]) + 1) * largest <= ROWS_PER_PASS:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def _stack(tables: list[Table]) -> tuple[np.ndarray, ...]:
    rows, columns = max(table.rows for table in tables), max(table.x.shape[1] for table in tables)
    x = np.zeros((len(tables), rows, columns))
    others = np.zeros((4, len(tables), rows))
    for b, table in enumerate(tables):
        x[b, : table.rows, : table.x.shape[1]] = table.x
        others[:, b, : table.rows] = table.z, table.t, table.y, table.w
    return (x, *others)


def _spread(
    posteriors: Posteriors, chosen: list[int], found: list[tuple[np.ndarray, np.ndarray, np.ndarray] | None]
) -> None:
    for place, i in enumerate(chosen):
        found[i] = (posteriors.effect[place], posteriors.lower[place], posteriors.upper[place])
