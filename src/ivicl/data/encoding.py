"""From columns to the numbers that methods read: two-valued roles, and covariates.

Every function takes a `Column`, and says in `notes` what it did to the user's values.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from ivicl._shared.records import KeyedRecord
from ivicl.data.columns import Column, show_values
from ivicl.data.rules import note, refusal, rules
from ivicl.data.suspects import with_hint

MAX_LEVELS: int = rules()["covariates"]["most_levels"]
"""A text covariate keeps this many levels; rarer ones are joined, so that an identifier cannot make 10,000 columns."""


@dataclass(frozen=True)
class Coding(KeyedRecord):
    """Which of a column's values became 0 and 1."""

    column: str
    zero: Any = None
    """The value that became 0; None for amounts, and if the column holds nothing but ones."""
    one: Any = None
    """The value that became 1; None for amounts."""
    guessed: bool = False
    """Nobody named the value that means 1, and the values do not make it clear: the larger, or later text, became 1."""


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
    # A file says true where Python says True, and --one repeats what the file says.
    told = str(one).capitalize() if column.kind == "boolean" else str(one)
    for level in levels:
        if level == one or str(level) == told:
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

    Numbers stay as they are. Text becomes one 0/1 column for each level but the first in sort order. `rows` says how
    many rows of the user's table each entry stands for, by default one. The level that gets no column is recorded in
    `references`.
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
