"""Weights checked, and rows with missing values dropped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.data.encoding import Column, show_values
from ivicl.data.rules import note, refusal
from ivicl.errors import InputError


@dataclass(frozen=True)
class WeightFacts:
    """What must be known of a column of weights, whether an array was looked through or an engine was asked."""

    missing: int
    least: float
    fractional: float | None
    """One that is not a whole number."""
    total: float

    def check(self, name: str) -> None:
        if not np.isfinite(self.total):
            raise refusal("infinite", column=name, count="an", s="")
        if self.missing:
            raise refusal("weights_missing", column=name, count=self.missing)
        if self.least < 0:
            raise refusal("weights_negative", column=name, value=f"{self.least:g}")
        if self.fractional is not None:
            raise refusal("weights_fraction", column=name, value=f"{self.fractional:g}")
        if self.total == 0:
            raise refusal("weights_zero", column=name)
        if self.total > 2**53:
            raise refusal("weights_large", column=name, value=f"{self.total:.3g}")


def checked_weights(column: Column) -> np.ndarray:
    name, values = column.name, column.values
    if column.kind == "text":
        raise refusal("weights_text", column=name, values=show_values(column.levels(), 2))
    fractional = values[values != np.round(values)]
    WeightFacts(
        missing=int(column.missing.sum()),
        least=float(values.min(initial=0.0)),
        fractional=float(fractional[0]) if len(fractional) else None,
        total=float(values.sum()),
    ).check(name)
    return values.astype(np.float64)


def rows_to_keep(
    z: Column,
    t: Column,
    y: Column,
    x: list[Column],
    weights: np.ndarray,
    missing: str,
    notes: list[str],
    rows: np.ndarray,
) -> np.ndarray:
    """The entries that are kept; `rows` says how many rows of the user's table each stands for."""
    keep = weights > 0
    if not keep.all():
        notes.append(note("zero_weight", count=int(rows[~keep].sum())))
    decisive = [(c, role) for c, role in ((z, "instrument"), (t, "treatment"), (y, "outcome"))]
    if missing == "drop":
        decisive += [(c, "covariate") for c in x]
    for column, role in decisive:
        gone = int(rows[keep & column.missing].sum())
        if gone:
            notes.append(note("dropped", count=gone, role=role, column=column.name))
        if gone and not (keep & ~column.missing).any():
            rest = " that were left" if gone < rows.sum() else ""
            raise refusal("none_left", role=role, column=column.name, count=gone, rest=rest)
        keep = keep & ~column.missing
    if missing == "raise":
        for column in x:
            gone = int(rows[keep & column.missing].sum())
            if gone:
                raise InputError(f"covariate '{column.name}' is missing in {gone} rows, and missing='raise' was asked.")
    return keep
