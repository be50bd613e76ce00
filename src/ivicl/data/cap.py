"""Cutting off amounts with a heavy upper tail: the effect is then that on min(Y, cap), whose bounds are narrower."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ivicl.data.columns import Column, numbers_from_text, tidy_number
from ivicl.data.encoding import weighted_quantile
from ivicl.errors import InputError

Range = tuple[float, float]


@dataclass(frozen=True)
class Capped:
    """A column after the cap, with its range."""

    column: Column
    range: Range
    cap: float
    above: np.ndarray
    """(N,) the rows that the cap changed."""


def check_cap(cap: Any) -> None:
    """Raise an InputError unless the cap is None, a number, or a quantile such as "99%"."""
    if cap is not None:
        _parsed(cap)


def _parsed(cap: Any) -> tuple[float, bool]:
    """The number, and whether it is a quantile."""
    quantile = isinstance(cap, str) and cap.strip().endswith("%")
    try:
        number = float(cap.strip().rstrip("% ")) if isinstance(cap, str) else float(cap)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(cap, bool) or not np.isfinite(number) or (quantile and not 0 < number < 100):
        raise InputError(f"cap must be a number, or a quantile such as '99%', but is {cap!r}.")
    return (number / 100, True) if quantile else (number, False)


def capped(column: Column, weights: np.ndarray, asked: Range | None, cap: Any) -> Capped:
    """The outcome with everything above the cap set to it; `asked` is the range that the user gave, if any."""
    column = numbers_from_text(column)
    seen = ~column.missing
    levels = column.levels()
    if column.kind == "text" or len(levels) <= 2:
        raise InputError(
            f"cap is for amounts, but outcome '{column.name}' is {'text' if column.kind == 'text' else 'binary'}; "
            "leave it out."
        )
    number, quantile = _parsed(cap)
    limit = float(weighted_quantile(column.values[seen], weights[seen], number)) if quantile else number
    low = float(levels[0]) if asked is None else float(asked[0])
    high = float(levels[-1]) if asked is None else float(asked[1])
    if limit <= low:
        raise InputError(
            f"cap={cap!r} cuts outcome '{column.name}' off at {tidy_number(limit)}, where nothing of its range is left"
            "; name a larger value, or a quantile such as '99%'."
        )
    above = seen & (column.values > limit)
    values = np.where(above, limit, column.values)
    return Capped(replace(column, values=values), (low, min(high, limit)), limit, above)
