"""The parameters of an estimator, checked once and handed to methods as a `Request`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ivicl._shared.checks import check_alpha
from ivicl.errors import InputError
from ivicl.methods.base import COVERS, Method, Request
from ivicl.methods.outcomes import COMBINATIONS
from ivicl.methods.registry import resolve, shipped


def checked_request(method: str | Method, told: Mapping[str, Any], options: Mapping[str, Any]) -> Request:
    """The request from the parameters of `IVBounds` and the method's own options; an InputError if they are not valid.

    Examples:
        >>> from ivicl import IVBounds
        >>> checked_request("late", IVBounds("late", alpha=0.1).get_params(), {}).alpha
        0.1
    """
    assume = _assumed(told["assume"])
    chosen = resolve(method).granted(assume)
    for name, known, given in (("combine", tuple(COMBINATIONS), True), ("covers", COVERS, told["covers"] is not None)):
        if given and told[name] not in known:
            *others, last = map(repr, known)
            raise InputError(f"{name} must be {', '.join(others)} or {last}, but is {told[name]!r}.")
    for name, offered, what in (
        ("covers", chosen.covers, "interval that covers the"),
        ("estimand", chosen.estimands, "bounds on the"),
    ):
        asked = told[name]
        if asked is not None and asked not in offered:
            if str(asked).upper() in offered:
                raise InputError(f"there is no {name} {asked!r}; its name is in capitals, {asked.upper()!r}.")
            remedy = _who_else(asked, chosen.name)
            raise InputError(f"method '{chosen.name}' has no {what} {asked}; it has: {', '.join(offered)}.{remedy}")
    for name, least in (("n_thresholds", 1), ("random_state", 0)):
        value = told[name]
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
            raise InputError(f"{name} must be a whole number of at least {least}, but is {value!r}.")
    return Request(
        alpha=check_alpha(told["alpha"]),
        estimand=told["estimand"],
        assume=assume,
        combine=told["combine"],
        covers=told["covers"],
        n_thresholds=int(told["n_thresholds"]),
        random_state=int(told["random_state"]),
        progress=told["progress"],
        own=chosen.own_options(dict(options)),
    )


def _assumed(given: Any) -> tuple[str, ...]:
    """One name, or several."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        return (given,)
    return tuple(given)


def _who_else(asked: Any, name: str) -> str:
    """The shipped methods that have the estimand, as a remedy; empty if none has it."""
    others = [method.name for method in shipped().values() if asked in method.estimands and method.name != name]
    return f" Methods that have it: {', '.join(others)}." if others else ""
