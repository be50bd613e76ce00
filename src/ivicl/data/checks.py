"""Weights checked, and rows with missing values dropped."""

from __future__ import annotations

import numpy as np

from ivicl.data.encoding import Column, show_values
from ivicl.data.rules import note, refusal
from ivicl.errors import InputError


def checked_weights(column: Column) -> np.ndarray:
    name, values = column.name, column.values
    if column.kind == "text":
        raise refusal("weights_text", column=name, values=show_values(column.levels(), 2))
    if column.missing.any():
        raise refusal("weights_missing", column=name, count=int(column.missing.sum()))
    if (values < 0).any():
        raise refusal("weights_negative", column=name, value=f"{values.min():g}")
    fractional = values[values != np.round(values)]
    if len(fractional):
        raise refusal("weights_fraction", column=name, value=f"{fractional[0]:g}")
    if values.sum() == 0:
        raise refusal("weights_zero", column=name)
    if values.sum() > 2**53:
        raise refusal("weights_large", column=name, value=f"{values.sum():.3g}")
    return values.astype(np.float64)


def rows_to_keep(
    z: Column, t: Column, y: Column, x: list[Column], weights: np.ndarray, missing: str, notes: list[str]
) -> np.ndarray:
    keep = weights > 0
    if not keep.all():
        notes.append(note("zero_weight", count=int((~keep).sum())))
    decisive = [(c, role) for c, role in ((z, "instrument"), (t, "treatment"), (y, "outcome"))]
    if missing == "drop":
        decisive += [(c, "covariate") for c in x]
    for column, role in decisive:
        gone = int((keep & column.missing).sum())
        if gone:
            notes.append(note("dropped", count=gone, role=role, column=column.name))
        if gone and not (keep & ~column.missing).any():
            rest = " that were left" if gone < len(keep) else ""
            raise refusal("none_left", role=role, column=column.name, count=gone, rest=rest)
        keep = keep & ~column.missing
    if missing == "raise":
        for column in x:
            gone = int((keep & column.missing).sum())
            if gone:
                raise InputError(f"covariate '{column.name}' is missing in {gone} rows, and missing='raise' was asked.")
    return keep
