"""From columns by role to numbers: weights checked, rows with missing values dropped, the outcome and its range."""

from __future__ import annotations

from typing import Any

import numpy as np

from ivicl.data.encoding import Coding, Column, encode_binary, numbers_from_text, show_values, tidy_number
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


def encode_outcome(
    column: Column, outcome_range: tuple[float, float] | None, one: Any
) -> tuple[np.ndarray, tuple[float, float], bool, Coding]:
    """Two values become a binary outcome, unless the user gave another range: then they are amounts like any other."""
    if one is None:
        column = numbers_from_text(column)
    levels = column.levels()
    if outcome_range is None:
        if len(levels) <= 2 and (len(levels) == 2 or one is not None or column.kind == "text" or levels[0] in (0, 1)):
            coded, coding = encode_binary(column, "outcome", one)
            return coded, (0.0, 1.0), True, coding
        if column.kind == "text":
            raise InputError(
                f"outcome '{column.name}' must be numbers or two values, but has {len(levels)}: {show_values(levels)}."
            )
        if len(levels) == 1:
            raise InputError(f"outcome '{column.name}' is always {levels[0]}, so its possible range must be given.")
        return column.values, (float(levels[0]), float(levels[-1])), False, Coding(column.name)
    low, high = _checked_range(outcome_range)
    if column.kind == "text":
        raise InputError(f"outcome '{column.name}' is text ({show_values(levels, 3)}), so it cannot have a range.")
    outside = column.values[(column.values < low) | (column.values > high)]
    if len(outside):
        raise InputError(
            f"outcome '{column.name}' must lie between {tidy_number(low)} and {tidy_number(high)}, "
            f"but {len(outside)} values do not, such as {tidy_number(outside[0])}."
        )
    if (low, high) == (0.0, 1.0) and set(levels) <= {0, 1}:
        coded, coding = encode_binary(column, "outcome", one)
        return coded, (low, high), True, coding
    return column.values, (low, high), False, Coding(column.name)


def _checked_range(outcome_range: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(v) for v in outcome_range)
    except (TypeError, ValueError):
        raise InputError(f"outcome_range must be two numbers, but is {outcome_range!r}.") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InputError(f"outcome_range must be a smaller and a larger finite number, but is ({low:g}, {high:g}).")
    return low, high
