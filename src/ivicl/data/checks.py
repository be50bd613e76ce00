"""Checks of weights and of tables of counts, and which rows are kept despite missing values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ivicl.data.columns import Column, show_values
from ivicl.data.rules import note, refusal
from ivicl.errors import InputError


@dataclass(frozen=True)
class WeightFacts:
    """What must be known about a column of weights, whether it is an array or an engine holds it."""

    missing: int
    least: float
    fractional: float | None
    """A weight that is not a whole number, if there is one."""
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
    y: Column | None,
    x: list[Column],
    weights: np.ndarray,
    missing: str,
    notes: list[str],
    rows: np.ndarray,
) -> np.ndarray:
    """The entries that are kept; `rows` says how many rows of the user's table each stands for.

    y is None if people without an outcome are kept.
    """
    keep = weights > 0
    if not keep.all():
        notes.append(note("zero_weight", count=int(rows[~keep].sum())))
    decisive = [(z, "instrument"), (t, "treatment"), *([] if y is None else [(y, "outcome")])]
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


def checked_counts(table: Any) -> np.ndarray:
    """(2, 2, 3) people by [z][t][0, 1, lost]."""
    try:
        counts = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("the table of counts must be numbers in the shape [z][t][y].") from None
    if counts.size not in (8, 12) or counts.ndim not in (1, 3) or (counts.ndim == 3 and counts.shape[:2] != (2, 2)):
        raise InputError(
            f"the table of counts must be [z][t][y], eight numbers, or twelve where y is 0, 1 or lost, but has shape "
            f"{counts.shape}."
        )
    if not np.isfinite(counts).all() or (counts < 0).any() or (counts != np.round(counts)).any():
        bad = counts[~np.isfinite(counts) | (counts < 0) | (counts != np.round(counts))][0]
        raise InputError(f"counts must be whole numbers of at least 0, but one is {bad:g}.")
    counts = counts.reshape(2, 2, -1)
    for arm in (0, 1):
        if counts[arm, :, :2].sum() == 0:
            whose = " and an outcome" if counts.shape[-1] == 3 else ""
            raise InputError(
                f"the table of counts has nobody with z = {arm}{whose}, so there is nothing to compare; give the "
                "people of both arms."
            )
    return counts if counts.shape[-1] == 3 else np.concatenate([counts, np.zeros((2, 2, 1))], axis=-1)
