"""Makes the estimand that was asked for a method's main answer, or says why these data have none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.methods.base import NO_SAMPLING_ERROR, Estimates, Method, MethodBounds
from ivicl.methods.estimand_bounds import EstimandBounds
from ivicl.methods.estimands import NEVER_NEGATIVE


def headlined(
    method: Method, found: MethodBounds, given: Mapping[str, EstimandBounds], data: IVData, asked: str | None
) -> tuple[Method, MethodBounds]:
    """The answer to what was asked for, in place of the method's usual one.

    Raises:
        InputError: these data have no such average.
    """
    if asked is None or asked == found.estimand:
        return method, found
    entry = given.get(asked)
    if entry is None:
        raise InputError(why_not(asked, data))
    low, high = entry.estimate_lower, entry.estimate_upper
    estimates = None if low is None or high is None else Estimates(low, high)
    answered = MethodBounds(
        entry.lower,
        math.inf if entry.upper is None else entry.upper,
        covers=entry.covers,
        estimand=asked,
        estimates=estimates,
        model=found.model,
        adjusted=entry.adjusted,
        warnings=tuple(warning for warning in found.warnings if warning != NO_SAMPLING_ERROR),
        details=found.details,
    )
    return replace(method, interval=entry.interval, assumptions=entry.assumes), answered


def why_not(asked: str, data: IVData) -> str:
    """Why these data have no answer about an estimand that the method knows."""
    low, high = data.outcome_range
    if asked in NEVER_NEGATIVE and low < 0:
        return (
            f"the {asked} is a ratio and needs an outcome that is never negative, but the outcome's range is {low:g} "
            f"to {high:g}; set outcome_range (--range) if it cannot be negative, or ask for the ATE."
        )
    if data.lost is not None:
        return (
            f"the {asked} is not bounded where lost outcomes may have been anything; take missing_outcome='drop', or "
            "ask for the ATE."
        )
    whom = "untreated" if asked == "ATU" else "treated"
    return f"the {asked} is an average over the {whom}, of whom there are none; ask for the ATE."
