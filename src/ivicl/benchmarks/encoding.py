"""Columns of a trial as numbers. Nobody is dropped: that would change the population, and with it the label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from ivicl.data.columns import column_from_array
from ivicl.data.encoding import encode_covariate
from ivicl.errors import InputError


def encode(frame: nw.DataFrame[Any], columns: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """(N, D) float matrix and its D names, coded as IVData codes covariates with missing="indicator"."""
    notes: list[str] = []
    pairs = [
        pair
        for name in columns
        for pair in encode_covariate(column_from_array(name, frame[name]), np.ones(len(frame)), notes)
    ]
    matrix = np.column_stack([values for _, values in pairs]) if pairs else np.empty((len(frame), 0))
    return matrix, tuple(name for name, _ in pairs)


def numbers(frame: nw.DataFrame[Any], name: str) -> np.ndarray:
    """A column as numbers, NaN where the value is missing."""
    column = column_from_array(name, frame[name])
    if column.kind == "text":
        raise InputError(f"Column '{name}' must hold numbers, but holds text such as '{column.levels()[0]}'.")
    return np.where(column.missing, np.nan, column.values)


def require_columns(frame: nw.DataFrame[Any], columns: Sequence[str]) -> None:
    absent = [c for c in columns if c not in frame.columns]
    if absent:
        raise InputError(f"Column '{absent[0]}' is not in the data; the columns are {', '.join(frame.columns)}.")
