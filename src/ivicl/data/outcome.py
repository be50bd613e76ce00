"""Outcomes: from a column to numbers in a known range. Each kind has a reader; the first that knows a column reads it.

To add a kind, add a reader to READERS, before those that would take its columns for something else. Methods, results
and the fitting of many studies need no change: what they see is numbers in a range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ivicl.data.columns import Column, numbers_from_text, show_values, tidy_number
from ivicl.data.encoding import Coding, encode_binary
from ivicl.data.rules import refusal
from ivicl.data.suspects import with_hint
from ivicl.errors import InputError

Range = tuple[float, float]
FEW = 1_000
"""Up to this many different values are listed in full."""


@dataclass(frozen=True)
class Outcome:
    """The outcome's column as numbers."""

    values: np.ndarray
    range: Range
    """Smallest and largest possible value."""
    binary: bool
    """Values are 0 and 1, and effects are differences of probabilities."""
    coding: Coding


def two_values(column: Column, levels: list[Any], asked: Range | None, one: Any) -> Outcome | None:
    """A binary outcome, unless the user gave another range: then two values are amounts like any other."""
    if asked is not None:
        known = asked == (0.0, 1.0) and set(levels) <= {0, 1}
    else:
        known = len(levels) == 2 or (
            len(levels) == 1 and (one is not None or column.kind == "text" or levels[0] in (0, 1))
        )
    if not known:
        return None
    coded, coding = encode_binary(column, "outcome", one)
    return Outcome(coded, (0.0, 1.0), True, coding)


def amounts(column: Column, levels: list[Any], asked: Range | None, one: Any) -> Outcome | None:
    """Numbers, in the range that the user gave, or else in the range observed."""
    if column.kind == "text":
        if asked is not None:
            raise refusal("text_with_range", column=column.name, values=show_values(levels, 3))
        return None
    if one is not None and len(levels) > 2:  # a code for missing values, say, has made an amount of a yes or no
        raise with_hint(
            InputError(
                f"ones says which of two values of outcome '{column.name}' means 1, but it has more: "
                f"{show_values(levels)}; leave '{column.name}' out of ones, or keep the rows of two of them."
            ),
            levels,
        )
    if asked is None and len(levels) == 1:
        raise refusal("constant_outcome", column=column.name, value=levels[0])
    low, high = asked or (float(levels[0]), float(levels[-1]))
    outside = column.values[(column.values < low) | (column.values > high)]
    if len(outside):
        ends, such = {"low": tidy_number(low), "high": tidy_number(high)}, tidy_number(outside[0])
        raise refusal("outside", column=column.name, count=len(outside), value=such, **ends)
    return Outcome(column.values, (low, high), False, Coding(column.name))


Reader = Callable[[Column, list[Any], Range | None, Any], Outcome | None]
"""Takes a column without missing values, its levels, and the range and the value that means 1 if the user gave them;
returns None if the column is of another kind."""
READERS: tuple[Reader, ...] = (two_values, amounts)


def read_outcome(column: Column, outcome_range: Range | None, one: Any) -> Outcome:
    """The outcome, read by the first reader that knows such a column."""
    asked = None if outcome_range is None else _checked_range(outcome_range)
    if one is None:
        column = numbers_from_text(column)
    levels = _levels(column)
    for reader in READERS:
        found = reader(column, levels, asked, one)
        if found is not None:
            return found
    refused = refusal("outcome_kind", column=column.name, count=len(levels), values=show_values(levels))
    raise with_hint(refused, levels)


def _levels(column: Column) -> list[Any]:
    """The different values; of very many numbers only some from each end, because no reader needs more."""
    if column.kind != "number" or len(column) < FEW:
        return column.levels()
    ordered = np.unique(column.values[~column.missing])
    kept = ordered if len(ordered) < FEW else np.concatenate([ordered[:FEW], ordered[-FEW:]])
    return [tidy_number(value) for value in kept]


def _checked_range(outcome_range: Range) -> Range:
    try:
        low, high = (float(v) for v in outcome_range)
    except (TypeError, ValueError):
        raise InputError(f"outcome_range must be two numbers, but is {outcome_range!r}.") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise refusal("bad_range", low=f"{low:g}", high=f"{high:g}")
    return low, high
