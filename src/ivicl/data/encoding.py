"""From whatever a column holds to numbers: reading one column, two-valued roles, covariates.

Every function takes a `Column` or makes one, and says in `notes` what it did to the user's values.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ivicl._shared.records import KeyedRecord
from ivicl.data.rules import note, refusal, rules
from ivicl.data.suspects import with_hint
from ivicl.errors import InputError

MAX_LEVELS: int = rules()["covariates"]["most_levels"]
"""A text covariate keeps this many levels; rarer ones are joined, so that an identifier cannot make 10,000 columns."""
MISSING_TEXTS = frozenset(rules()["file"]["missing"])
"""Texts that mean that there is no value: the same in a file and in a frame."""
WIDER_THAN_NUMPY = ("Int128", "UInt128")
"""Integers that polars makes of values beyond 64 bits and numpy cannot hold; they are read as Python's own."""


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
    """The order of the categories, where the table's column has one; else texts are sorted."""
    dates: bool = False
    """The numbers are days, read from dates."""

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
            if not null.any():  # millions of numbers need not be copied; nobody writes into a column
                return _numeric_column(name, raw.astype(np.float64, copy=False))
            array = raw.astype(np.float64)
            array[null] = np.nan
            return _numeric_column(name, array)
    column = _column_from_objects(name, series.to_list())
    categories = getattr(series.dtype, "categories", None)  # ordered ones; pandas' others have no order
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
    """A number, or a date as days, or a duration as days."""
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
        raise InputError(f"column '{name}' holds a number too large to use.") from None


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
            f"column '{name}' holds values of type {type(odd).__name__}; numbers, true/false, dates or text are needed."
        )
    texts = np.empty(len(values), dtype=object)
    texts[:] = ""
    texts[~missing] = [v.decode(errors="replace") if isinstance(v, bytes) else str(v).strip() for v in present]
    return Column(name, texts, missing, "text")


def numbers_from_text(column: Column) -> Column:
    """The same column as numbers if every value reads as one; else unchanged."""
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


@dataclass(frozen=True)
class Coding(KeyedRecord):
    """What became of a column's values."""

    column: str
    zero: Any = None
    """The value that became 0; None for amounts, and where the column holds ones alone."""
    one: Any = None
    """The value that became 1; None for amounts."""
    guessed: bool = False
    """Nobody named the value that means 1, and it is not plain from the two: the larger, or later text, became it."""


def encode_binary(column: Column, role: str, one: Any = None) -> tuple[np.ndarray, Coding]:
    """A column of two values as 0.0 and 1.0, and which value became which.

    The larger number, or the later text, becomes 1 unless `one` names the value. A constant instrument is refused
    (there is nothing to compare); a constant treatment or outcome is data, as long as its coding is clear.
    """
    levels = column.levels()
    if len(levels) > 2:
        refused = refusal("two_values", role=role, column=column.name, count=len(levels), values=show_values(levels))
        raise with_hint(refused, levels)
    if len(levels) == 1 and role == "instrument":
        raise refusal("constant_instrument", column=column.name, values=show_values(levels))
    if one is not None:
        top = _match_level(column, levels, one, role)
        zero = next((v for v in levels if v != top), None)
    elif len(levels) == 2:
        zero, top = levels
    elif column.kind != "text" and levels[0] in (0, 1):
        zero, top = 0, 1
    else:
        raise refusal("unclear_one", role=role, column=column.name, values=show_values(levels))
    coded = (column.values == top).astype(np.float64)
    return coded, Coding(column.name, zero, top)


def _match_level(column: Column, levels: list[Any], one: Any, role: str) -> Any:
    for level in levels:
        if level == one or str(level) == str(one):
            return level
    if isinstance(one, str) and column.kind != "text":
        try:
            return next(level for level in levels if float(level) == float(one))
        except (ValueError, StopIteration):
            pass
    if len(levels) == 1 and isinstance(one, (str, int, float, bool)):
        return one
    raise refusal("no_such_value", role=role, column=column.name, value=repr(one), values=show_values(levels))


def encode_covariate(
    column: Column,
    weights: np.ndarray,
    notes: list[str],
    rows: np.ndarray | None = None,
    references: dict[str, str] | None = None,
) -> list[tuple[str, np.ndarray]]:
    """Numeric columns for one covariate; missing values, if any are left, get a column of their own.

    Numbers pass as they are. Text becomes one 0/1 column for each level but the first in sort order. `rows` says how
    many rows of the user's table each entry stands for, one unless it is given. `references` is told the level that has
    no column.
    """
    if column.kind == "text":
        return _encode_levels(column, weights, notes, {} if references is None else references)
    if not column.missing.any():
        return [(column.name, column.values)]
    middle = weighted_quantile(column.values[~column.missing], weights[~column.missing], 0.5)
    gone = column.missing.sum() if rows is None else rows[column.missing].sum()
    notes.append(note("filled", column=column.name, count=int(gone)))
    filled = np.where(column.missing, middle, column.values)
    return [(column.name, filled), _missing_column(column)]


def _missing_column(column: Column) -> tuple[str, np.ndarray]:
    name: str = rules()["covariates"]["missing_name"]
    return name.format(column=column.name), column.missing.astype(np.float64)


def _encode_levels(
    column: Column, weights: np.ndarray, notes: list[str], references: dict[str, str]
) -> list[tuple[str, np.ndarray]]:
    values = column.values.copy()
    frequency: Counter[str] = Counter()
    for value, weight in zip(values[~column.missing], weights[~column.missing], strict=True):
        frequency[value] += weight
    levels = [level for level in column.levels() if level in frequency]
    if len(levels) > MAX_LEVELS:
        # Ties are broken by name, so that the order of the rows cannot change the encoding.
        kept = sorted(levels, key=lambda v: (-frequency[v], v))[: MAX_LEVELS - 1]
        notes.append(note("joined", column=column.name, count=len(levels), kept=len(kept)))
        lookup = set(kept)
        joined = rules()["covariates"]["joined"]
        values = np.array([v if v in lookup else joined for v in values], dtype=object)
        levels = [*(level for level in levels if level in lookup), joined]
    name: str = rules()["covariates"]["level_name"]
    columns = [
        (name.format(column=column.name, level=v), ((values == v) & ~column.missing).astype(np.float64))
        for v in levels[1:]
    ]
    if column.missing.any():
        columns.append(_missing_column(column))
    if levels:
        references[column.name] = levels[0]
    if len(levels) > 1:
        notes.append(note("levels", column=column.name, count=len(levels), reference=levels[0]))
    return columns


def weighted_quantile(values: np.ndarray, weights: np.ndarray, q: Any) -> Any:
    """The smallest value with at least q of the weight at or below it: one row of weight k equals k rows."""
    if not len(values):
        return np.zeros_like(np.asarray(q, dtype=np.float64))
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(weights[order])
    place = np.searchsorted(cumulated, np.asarray(q) * cumulated[-1])
    return values[order][np.minimum(place, len(values) - 1)]
