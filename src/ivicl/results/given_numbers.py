"""Numbers that a caller gave: one or a list, a pair or a list of pairs; an InputError for anything else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ivicl.errors import InputError


def numbers(given: Any, name: str) -> list[float]:
    values = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    if not values:
        raise InputError(f"{name} is an empty list.")
    for value in values:
        if isinstance(value, (bool, str)) or not np.isscalar(value) or not np.isfinite(value):
            raise InputError(f"{name} must be a number, or a list of numbers, but has {value!r}.")
    return [float(value) for value in values]


def pair(given: Any, name: str) -> tuple[float, float]:
    values = numbers(given, name)
    if len(values) != 2:
        raise InputError(f"{name} must be a pair of numbers, but has {len(values)}.")
    return values[0], values[1]


def pairs(given: Any, name: str) -> list[tuple[float, float]]:
    nested = isinstance(given, Iterable) and any(isinstance(each, Iterable) for each in given)
    return [pair(each, name) for each in given] if nested else [pair(given, name)]


def whole(value: float) -> int:
    """A whole number as an int; any other number as it is, for `Design` to refuse."""
    return int(value) if value == int(value) else value  # type: ignore[return-value]
