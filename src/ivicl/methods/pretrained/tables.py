"""One data set as tables for the network, as small as they can be without losing anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ivicl._shared.scaling import standardise
from ivicl.data import IVData
from ivicl.data.merging import merge_equal, merge_moments, whole
from ivicl.methods.base import Request
from ivicl.methods.outcomes import Thresholds, choose_thresholds, randomised
from ivicl.methods.pretrained.stacks import Table


def problems(data: IVData, request: Request, rng: np.random.Generator) -> tuple[list[Table], Thresholds | None]:
    """The tables for the graph: one, or several for an amount if one of the paper's combinations is asked for."""
    if data.binary or request.combine == "means":
        return [merged_table(data)], None if data.binary else Thresholds((), (), combine=request.combine)
    return binary_tables(data, request, rng)


def merged_table(data: IVData) -> Table:
    """People who are alike in x, z and t as one row, with the mean and the variance of their outcomes; sorted.

    If every outcome is an end of the range, people with different outcomes are separate rows: this is how the graph
    recognises such an outcome. Sums are added in a fixed order, so that raw rows, merged rows and those of any engine
    give the same to the last bit.
    """
    y = np.clip(data.y01, 0.0, 1.0)
    keys = {f"x{j}": data.x[:, j] for j in range(data.x.shape[1])} | {"z": data.z, "t": data.t}
    spread = None
    if data.v is None and ((y == 0) | (y == 1)).all():
        first, people = merge_equal(keys | {"y": y}, data.mass)
        mean = y[first]
    else:
        first, people, mean, spread = merge_moments(keys, y, data.mass, data.v)
    rows = whole(first, len(data.w))
    return Table(data.x[rows], data.z[rows], data.t[rows], mean, people, spread)


def binary_tables(data: IVData, request: Request, rng: np.random.Generator) -> tuple[list[Table], Thresholds]:
    """An amount as yes and no: one table per threshold, or one per draw. Equal rows of `data` must be merged."""
    layout = _Layout.of(data)
    if request.combine == "randomised":
        draws = [randomised(data, rng) for _ in range(request.n_thresholds)]
        tables = [layout.table(data, ones) for _, ones in draws]
        return tables, Thresholds((), (), combine=request.combine, problems=len(tables))
    thresholds = choose_thresholds(data, request.n_thresholds, request.combine)
    return [layout.table(data, data.w * (data.y >= c)) for c in thresholds.points], thresholds


@dataclass(frozen=True)
class _Layout:
    """Rows that differ only in the outcome form a group: a threshold then only moves people between two weights."""

    group: np.ndarray
    """(N,) the group of each row, equal (x, z, t)."""
    first: np.ndarray
    """(G,) a row of each group."""

    @staticmethod
    def of(data: IVData) -> _Layout:
        import polars as pl

        keys = {f"x{j}": data.x[:, j] for j in range(data.x.shape[1])} | {"z": data.z, "t": data.t}
        frame = pl.DataFrame(keys).with_row_index("row").group_by(list(keys), maintain_order=True).agg("row")
        members = frame["row"]
        rows = members.explode().to_numpy()
        group = np.empty(len(data.w), dtype=np.int64)
        group[rows] = np.repeat(np.arange(len(members)), members.list.len().to_numpy())
        return _Layout(group, members.list.first().to_numpy())

    def table(self, data: IVData, ones: np.ndarray) -> Table:
        """The table if `ones` (N,) people of each row have outcome 1."""
        whole = bool(((ones == 0) | (ones == data.mass)).all())
        if whole and 2 * len(self.first) > len(self.group):
            return Table(data.x, data.z, data.t, (ones > 0).astype(np.float64), data.mass)
        people = np.bincount(self.group, data.mass)
        with_one = np.bincount(self.group, ones)
        x, z, t = (np.concatenate([values[self.first]] * 2) for values in (data.x, data.z, data.t))
        y = np.repeat([0.0, 1.0], len(self.first))
        return Table(x, z, t, y, np.concatenate([people - with_one, with_one]))


def left_out_columns(tables: Sequence[Table], names: tuple[str, ...], keep: int) -> list[str]:
    """Covariates beyond the network's limit: those that it leaves out in at least one of the tables."""
    if len(names) <= keep:
        return []
    dropped = np.zeros(len(names), dtype=bool)
    for table in tables:
        dropped[np.argsort(-association(table), kind="stable")[keep:]] = True
    return [name for name, gone in zip(names, dropped, strict=True) if gone]


def association(table: Table) -> np.ndarray:
    """(D,) how strongly each covariate is associated with the eight (z, t, y) cells, by which the graph orders them.

    This is the share of a column's variance between the cells (the same formula as `prepare.order_covariates`).
    """
    x = standardise(table.x, table.w)
    soft = np.zeros((table.rows, 2, 2, 2))
    rows, z, t = np.arange(table.rows), table.z.astype(np.int64), table.t.astype(np.int64)
    soft[rows, z, t, 0], soft[rows, z, t, 1] = table.w * (1 - table.y), table.w * table.y
    indicator = soft.reshape(-1, 8)
    size = indicator.sum(0)
    score = (x.T @ indicator) / (np.sqrt(size) + 1e-9)
    strength: np.ndarray = (score**2).sum(1) / table.w.sum()
    return strength
