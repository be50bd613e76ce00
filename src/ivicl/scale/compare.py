"""`compare`: several methods on the same data, which are read once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

from ivicl._shared.frames import kind_of
from ivicl.data import IVData
from ivicl.data.roles import RoleArguments, Roles
from ivicl.errors import DesignWarning, InputError, IVICLError, design_warnings_off
from ivicl.estimator import IVBounds
from ivicl.methods.base import Method
from ivicl.methods.registry import resolve
from ivicl.results.comparison import Comparison, Entry

USUAL = ("ivicl", "balke-pearl", "manski-iv", "late")
"""The network, the classical bounds with more and with fewer assumptions, and the effect among compliers."""


def compare(
    df: Any,
    *,
    methods: Sequence[str | Method | IVBounds] = USUAL,
    alpha: float = 0.05,
    random_state: int = 0,
    **roles: Unpack[RoleArguments],
) -> Comparison:
    """Several methods side by side: one table, one picture, one export.

    A method that cannot run on these data, or whose extra is not installed, is a row with the reason.

    Args:
        df: the table, as for `IVBounds.fit`.
        methods: names, `Method` objects, or `IVBounds` with options of their own (and their own alpha and seed).
        alpha: 1 - alpha is the level of the methods given by name or as a `Method`.
        random_state: the seed of these methods.
        **roles: outcome, treatment, instrument, covariates, weights and the others of `IVBounds.fit`.

    Examples:
        >>> from ivicl import compare, datasets
        >>> df = datasets.load("vitamin_a")
        >>> roles = dict(outcome="y", treatment="t", instrument="z", weights="people")
        >>> compare(df, methods=["manski", "balke-pearl"], **roles)
        Comparison(manski, balke-pearl; n = 23,682)
    """
    if isinstance(methods, (str, Method, IVBounds)):
        methods = [methods]
    estimators = [
        each if isinstance(each, IVBounds) else IVBounds(each, alpha=alpha, random_state=random_state)
        for each in methods
    ]
    check(estimators)
    found = replace(
        compare_on(IVData.from_roles(df, Roles.named("compare", roles)), estimators), frame_kind=kind_of(df)
    )
    if found.headline:  # once, not once per method
        warnings.warn(found.headline, DesignWarning, stacklevel=2)
    return found


def check(estimators: Sequence[IVBounds]) -> None:
    """Raise an InputError for a wrong name, level or option, before anything is computed."""
    if not estimators:
        raise InputError("methods is empty; name at least one.")
    for estimator in estimators:
        estimator.request()


def compare_on(data: IVData, estimators: Sequence[IVBounds]) -> Comparison:
    """The comparison on data that have already been read."""
    check(estimators)
    found = Comparison(tuple(_entry(estimator, data) for estimator in estimators))
    if not found.results:
        reasons = " ".join(str(entry.error) for entry in found.entries)
        raise InputError(f"none of the methods has an answer: {reasons}")
    return found


def _entry(estimator: IVBounds, data: IVData) -> Entry:
    method, result, reason = resolve(estimator.method), None, None
    try:
        with design_warnings_off():
            result = estimator.fit_data(data)
    except IVICLError as error:
        reason = str(error)
    except Exception as error:  # a bug in one method must not take the others with it, as in `fit_many`
        reason = f"method '{method.name}' failed: {type(error).__name__}: {error}"
    return Entry(
        method=method.name,
        label=_label(estimator, method),
        alpha=float(estimator.alpha),
        assumptions=method.assumptions,
        sampling_error=method.interval != "estimate",
        result=result,
        error=reason,
    )


def _label(estimator: IVBounds, method: Method) -> str:
    """The method's label with what differs from the defaults, so that a method can be compared with itself."""
    plain = IVBounds(method)
    names = ("estimand", "covers", "combine", "n_thresholds")
    asked = {name: getattr(estimator, name) for name in names if getattr(estimator, name) != getattr(plain, name)}
    listed = ", ".join(f"{name}={value}" for name, value in (asked | estimator.options).items())
    return f"{method.label} ({listed})" if listed else method.label
