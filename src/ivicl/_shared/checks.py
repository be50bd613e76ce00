"""Checks of arguments that several rooms take, so that each complaint is worded in one place."""

from __future__ import annotations

from numbers import Real
from typing import Any

from ivicl.errors import InputError


def check_alpha(alpha: Any) -> float:
    """Check alpha, one minus the level of an interval, and return it as a float; numpy's numbers are accepted too.

    Examples:
        >>> check_alpha(0.05)
        0.05
    """
    if isinstance(alpha, bool) or not isinstance(alpha, Real):
        raise InputError(f"alpha must be a number between 0 and 1 (0.05 for a level of 95 %), but is {alpha!r}.")
    share = float(alpha)
    if not 0 < share < 1:
        raise InputError(f"alpha must lie between 0 and 1 (0.05 for a level of 95 %), but is {alpha}.")
    return share
