"""Data that do not come in a frame: the work behind `IVData.from_arrays` and `IVData.from_counts`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ivicl.data.building import build
from ivicl.data.checks import checked_counts
from ivicl.data.columns import column_from_array
from ivicl.data.ivdata import IVData
from ivicl.data.labels import column_in_role
from ivicl.data.report import DataReport
from ivicl.data.roles import check_missing_outcome
from ivicl.errors import InputError


def from_arrays(
    z: Any,
    t: Any,
    y: Any,
    x: Any,
    w: Any,
    outcome_range: tuple[float, float] | None,
    covariates: Sequence[str] | None,
    missing: str,
    missing_outcome: str,
    cluster: Any,
    strata: Any,
    sampling_weights: Any,
) -> IVData:
    """One array per role; messages call them by the names of the arguments."""
    columns = {name: column_from_array(name, value) for name, value in (("z", z), ("t", t), ("y", y))}
    given = {"w": w, "cluster": cluster, "strata": strata, "sampling_weights": sampling_weights}
    columns |= {role: column_in_role(role, role, value) for role, value in given.items() if value is not None}
    n = len(columns["z"])
    matrix = np.empty((n, 0)) if x is None else np.asarray(x)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2:
        raise InputError(f"x must have two dimensions (rows, covariates), but has shape {matrix.shape}.")
    names = tuple(covariates) if covariates is not None else tuple(f"x{j + 1}" for j in range(matrix.shape[1]))
    if len(names) != matrix.shape[1]:
        raise InputError(f"covariates has {len(names)} names, but x has {matrix.shape[1]} columns.")
    lengths = {name: len(column) for name, column in columns.items()} | {"x": len(matrix)}
    if len(set(lengths.values())) > 1:
        raise InputError("arrays differ in length: " + ", ".join(f"{k} has {v}" for k, v in lengths.items()) + ".")
    return build(
        z=columns["z"],
        t=columns["t"],
        y=columns["y"],
        x=[column_from_array(name, matrix[:, j]) for j, name in enumerate(names)],
        w=columns.get("w"),
        outcome_range=outcome_range,
        missing=missing,
        missing_outcome=missing_outcome,
        ones={},
        cluster=columns.get("cluster"),
        strata=columns.get("strata"),
        sampling=columns.get("sampling_weights"),
    )


def from_counts(table: Any, missing_outcome: str) -> IVData:
    """One row for each cell that holds somebody."""
    check_missing_outcome(missing_outcome)
    cells = checked_counts(table)
    seen, lost = cells[..., :2].reshape(-1), cells[..., 2].reshape(-1)
    cell, free = np.flatnonzero(seen), np.flatnonzero(lost) if missing_outcome == "bounds" else np.empty(0, int)
    (n00, n01), (n10, n11) = cells[..., 2].astype(int).tolist()
    report = DataReport(
        n=int(seen.sum() + lost[free].sum()),
        n_rows=len(cell) + len(free),
        n_dropped=0,
        lost=((n00, n01), (n10, n11)),
    )
    data = IVData(
        x=np.empty((len(cell), 0)),
        z=(cell // 4).astype(np.float64),
        t=(cell // 2 % 2).astype(np.float64),
        y=(cell % 2).astype(np.float64),
        w=seen[cell],
        covariates=(),
        outcome_range=(0.0, 1.0),
        binary=True,
        report=report,
    )
    if not len(free):
        return data
    z, t = (free // 2).astype(np.float64), (free % 2).astype(np.float64)
    lost_people = replace(data, x=np.empty((len(free), 0)), z=z, t=t, y=np.zeros(len(free)), w=lost[free])
    return replace(data, lost=lost_people)
