"""Tables as the graph takes them: one problem with its rows, and several of similar size padded to one block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ivicl.data.merging import moments_by_group
from ivicl.identification.laws import count_cells


@dataclass(frozen=True)
class Table:
    """One problem: x (N,D); z, t, y, w (N,), with the outcome in [0, 1]. A row of weight zero does not count."""

    x: np.ndarray
    z: np.ndarray
    t: np.ndarray
    y: np.ndarray
    w: np.ndarray
    v: np.ndarray | None = None
    """(N,) variance of the outcome among the row's people; None means zero."""
    no_defiers: bool = False
    """Nobody is moved against one direction of the instrument."""
    design: np.ndarray | None = None
    """What its people are worth, for each quantity of the graph; None means one."""

    @property
    def rows(self) -> int:
        return len(self.w)

    @property
    def varies(self) -> bool:
        """Whether some covariate varies. If none does, the table is no more than its counts."""
        return bool(self.x.shape[1] and (self.x != self.x[:1]).any())

    @property
    def binary(self) -> bool:
        """Whether every outcome is 0 or 1."""
        return bool(((self.y == 0) | (self.y == 1)).all()) and (self.v is None or not self.v.any())

    def counts(self) -> np.ndarray:
        """(2,2,2) people by [z][t][y], for outcomes 0 and 1."""
        return count_cells(self.z, self.t, self.y, self.w)

    def without_covariates(self) -> Table:
        """The same people in eight rows, one for each (z, t, y), or in four, one for each (z, t), if y is an amount."""
        if self.binary:
            cell = np.arange(8)
            return Table(
                np.zeros((8, 0)), cell // 4, cell // 2 % 2, cell % 2, self.counts().ravel(),
                no_defiers=self.no_defiers, design=self.design,
            )  # fmt: skip
        group = (2 * self.z + self.t).astype(np.int64)
        people, mean, spread = moments_by_group(group, 4, self.y, self.w, self.v)
        cell = np.arange(4)
        return Table(
            np.zeros((4, 0)), cell // 2, cell % 2, mean, people, spread, no_defiers=self.no_defiers, design=self.design
        )


class Stack(NamedTuple):
    """B tables of N rows and D covariates; weight 0 is padding."""

    x: np.ndarray
    """(B,N,D)."""
    z: np.ndarray
    """(B,N), like t, y and w."""
    t: np.ndarray
    y: np.ndarray
    w: np.ndarray
    v: np.ndarray | None = None
    """(B,N); None means zero."""
    no_defiers: np.ndarray | None = None
    """(B,) 0 or 1; None means zero."""
    design: np.ndarray | None = None
    """(B,Q); None means one."""


def stacked(tables: Sequence[Table]) -> Stack:
    """Tables of any sizes as one block: rows of weight zero and constant covariates change nothing."""
    rows, columns = max(table.rows for table in tables), max(table.x.shape[1] for table in tables)
    x = np.zeros((len(tables), rows, columns))
    others = np.zeros((5, len(tables), rows))
    for b, table in enumerate(tables):
        x[b, : table.rows, : table.x.shape[1]] = table.x
        v = 0.0 if table.v is None else table.v
        for column, values in zip(others, (table.z, table.t, table.y, table.w, v), strict=True):
            column[b, : table.rows] = values
    told = np.array([float(table.no_defiers) for table in tables])
    designs = [table.design for table in tables]
    known = next((design for design in designs if design is not None), None)
    design = None
    if known is not None:
        design = np.stack([np.ones_like(known) if each is None else each for each in designs])
    z, t, y, w, spread = others
    return Stack(x, z, t, y, w, spread, told, design)
