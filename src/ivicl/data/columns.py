"""Columns as floats or as text, whatever they hold: numbers, true/false, dates, categories, missing values."""

from __future__ import annotations

import datetime
import decimal
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ivicl.data.rules import refusal, rules
from ivicl.errors import InputError

MISSING_TEXTS = frozenset(rules()["file"]["missing"])
"""Texts that mean that there is no value, the same in files as in frames."""
WIDER_THAN_NUMPY = ("Int128", "UInt128")
"""Types that polars uses for integers beyond 64 bits, which numpy cannot hold; they are read as Python's integers."""


@dataclass(frozen=True)
class Column:
    """One column as read: floats, or strings, with a mask of what is missing."""

    name: str
    values: np.ndarray
    """float64, or an object array of str; arbitrary where missing."""
    missing: np.ndarray
    kind: str
    """'number', 'boolean' or 'text'."""
    order: tuple[str, ...] = ()
    """The order of the categories, if the table's column has one; otherwise texts are sorted."""
    dates: bool = False
    """The numbers are days, made from dates."""

    def __len__(self) -> int:
        return len(self.values)

    def take(self, keep: np.ndarray) -> Column:
        if keep.dtype == bool and keep.all():
            return self  # millions of rows need not be in memory twice
        return replace(self, values=self.values[keep], missing=self.missing[keep])

    def levels(self) -> list[Any]:
        """The distinct values that are not missing, sorted; whole numbers as int, booleans as bool."""
        present = self.values[~self.missing]
        if self.kind == "text":
            distinct = set(present.tolist())
            return [v for v in self.order if v in distinct] if self.order else sorted(distinct)
        if self.kind == "boolean":
            return [bool(v) for v in np.unique(present)]
        return [tidy_number(v) for v in np.unique(present)]


def tidy_number(value: float) -> int | float:
    return int(value) if float(value).is_integer() and abs(value) < 1e15 else float(value)


def show_values(values: list[Any], most: int = 5) -> str:
    """A short list of values for a message."""
    text = ", ".join(repr(v) if isinstance(v, str) else str(v) for v in values[:most])
    return text + (", ..." if len(values) > most else "")


def column_from_array(name: str, values: Any) -> Column:
    """A column from a numpy array, a list, or a narwhals series."""
    if hasattr(values, "to_native") and hasattr(values, "dtype"):
        return _column_from_series(name, values)
    if isinstance(values, np.ma.MaskedArray):
        values = values.tolist()  # None where masked
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise InputError(f"column '{name}' must be one value a row, but has shape {array.shape}.")
    if isinstance(values, np.ndarray) and array.dtype.kind in "iuf":
        return _numeric_column(name, array.astype(np.float64))
    if isinstance(values, np.ndarray) and array.dtype.kind == "b":
        return Column(name, array.astype(np.float64), np.zeros(len(array), bool), "boolean")
    return _column_from_objects(name, array.tolist())


def _column_from_series(name: str, series: Any) -> Column:
    if series.dtype.is_numeric() and not series.dtype.is_decimal() and str(series.dtype) not in WIDER_THAN_NUMPY:
        null = np.asarray(series.is_null().to_numpy(), dtype=bool)
        raw = series.to_numpy()
        if raw.dtype.kind in "iufb":
            if not null.any():  # avoid copying millions of numbers, as nobody writes into a column
                return _numeric_column(name, raw.astype(np.float64, copy=False))
            array = raw.astype(np.float64)
            array[null] = np.nan
            return _numeric_column(name, array)
    column = _column_from_objects(name, series.to_list())
    categories = getattr(series.dtype, "categories", None)  # only ordered categories have them
    if column.kind != "text" or not categories:
        return column
    return replace(column, order=tuple(str(category).strip() for category in categories))


def _numeric_column(name: str, array: np.ndarray) -> Column:
    missing = np.isnan(array)
    _refuse_infinite(name, array)
    return Column(name, np.where(missing, 0.0, array) if missing.any() else array, missing, "number")


def _refuse_infinite(name: str, array: np.ndarray) -> None:
    bad = int(np.isinf(array).sum())
    if bad:
        raise refusal("infinite", column=name, count=bad, s="s" if bad > 1 else "")


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return value.strip() in MISSING_TEXTS
    if isinstance(value, decimal.Decimal):
        return value.is_nan()
    if isinstance(value, (float, np.floating)):
        return value != value
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return False


def _as_number(name: str, value: Any) -> float:
    """A number; dates and durations become days."""
    if isinstance(value, datetime.datetime):
        naive = (
            value.replace(tzinfo=None) if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)
        )
        return (naive - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
    if isinstance(value, datetime.date):
        return float(value.toordinal() - datetime.date(1970, 1, 1).toordinal())
    if isinstance(value, datetime.timedelta):
        return value / datetime.timedelta(days=1)
    try:
        return float(value)
    except OverflowError:
        raise InputError(
            f"column '{name}' holds a number too large to use (beyond 1e308); write it in a larger unit, or make it "
            "missing if it stands for something else."
        ) from None


def _column_from_objects(name: str, values: list[Any]) -> Column:
    missing = np.fromiter((_is_missing(v) for v in values), bool, len(values))
    present = [v for v, gone in zip(values, missing, strict=True) if not gone]
    if all(isinstance(v, (bool, np.bool_)) for v in present):
        array = np.zeros(len(values))
        array[~missing] = [float(v) for v in present]
        return Column(name, array, missing, "boolean" if present else "number")
    as_days = (datetime.date, datetime.timedelta)
    if all(isinstance(v, (numbers.Real, decimal.Decimal, np.bool_, *as_days)) for v in present):
        array = np.zeros(len(values))
        array[~missing] = [_as_number(name, v) for v in present]
        _refuse_infinite(name, array)
        return Column(name, array, missing, "number", dates=any(isinstance(v, datetime.date) for v in present))
    odd = next(
        (v for v in present if not isinstance(v, (str, bytes, numbers.Real, datetime.date, decimal.Decimal))), None
    )
    if odd is not None:
        raise InputError(
            f"column '{name}' holds values of type {type(odd).__name__}; numbers, true/false, dates or text are needed"
            f", such as the text that df['{name}'].astype(str) makes of them."
        )
    texts = np.empty(len(values), dtype=object)
    texts[:] = ""
    texts[~missing] = [v.decode(errors="replace") if isinstance(v, bytes) else str(v).strip() for v in present]
    return Column(name, texts, missing, "text")


def numbers_from_text(column: Column) -> Column:
    """The same column as numbers if every value can be read as one; otherwise unchanged."""
    if column.kind != "text":
        return column
    array = np.zeros(len(column))
    try:
        array[~column.missing] = [float(v) for v in column.values[~column.missing]]
    except ValueError:
        return column
    missing = column.missing | np.isnan(array)
    _refuse_infinite(column.name, array)
    return Column(column.name, np.where(missing, 0.0, array), missing, "number")
