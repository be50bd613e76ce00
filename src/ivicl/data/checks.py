"""Weights checked, and rows with missing values dropped."""

from __future__ import annotations

import numpy as np

from ivicl.data.encoding import Column, show_values
from ivicl.errors import InputError


def checked_weights(column: Column) -> np.ndarray:
    name, values = column.name, column.values
    if column.kind == "text":
        raise InputError(
            f"weights '{name}' must be whole numbers, but holds text such as {show_values(column.levels(), 2)}."
        )
    if column.missing.any():
        raise InputError(f"weights '{name}' has {int(column.missing.sum())} missing values.")
    if (values < 0).any():
        raise InputError(f"weights '{name}' must not be negative, but one is {values.min():g}.")
    fractional = values[values != np.round(values)]
    if len(fractional):
        raise InputError(
            f"weights '{name}' must be whole numbers (how many people a row stands for), but one is {fractional[0]:g}; "
            "sampling weights are not supported."
        )
    if values.sum() == 0:
        raise InputError(f"weights '{name}' sum to zero.")
    if values.sum() > 2**53:
        raise InputError(f"weights '{name}' sum to {values.sum():.3g}, more people than can be counted exactly.")
    return values.astype(np.float64)


def rows_to_keep(
    z: Column, t: Column, y: Column, x: list[Column], weights: np.ndarray, missing: str, notes: list[str]
) -> np.ndarray:
    keep = weights > 0
    if not keep.all():
        notes.append(f"{int((~keep).sum())} rows of weight zero dropped")
    decisive = [(c, role) for c, role in ((z, "instrument"), (t, "treatment"), (y, "outcome"))]
    if missing == "drop":
        decisive += [(c, "covariate") for c in x]
    for column, role in decisive:
        gone = int((keep & column.missing).sum())
        if gone:
            notes.append(f"{gone} rows dropped: {role} '{column.name}' is missing")
        if gone and not (keep & ~column.missing).any():
            raise InputError(
                f"no row is left: {role} '{column.name}' is missing in all {gone} rows"
                + (" that were left." if gone < len(keep) else ".")
            )
        keep = keep & ~column.missing
    if missing == "raise":
        for column in x:
            gone = int((keep & column.missing).sum())
            if gone:
                raise InputError(f"covariate '{column.name}' is missing in {gone} rows, and missing='raise' was asked.")
    return keep
