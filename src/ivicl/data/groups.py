"""People grouped by the values or quantiles of a covariate, which are read back from the encoded columns."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from ivicl.data.encoding import weighted_quantile
from ivicl.data.ivdata import IVData
from ivicl.data.rules import rules
from ivicl.errors import InputError

MOST_VALUES = 10
"""A covariate of numbers with more different values than this is cut at quantiles."""
USUAL_QUANTILES = 4


@dataclass(frozen=True)
class Group:
    """Some of the people."""

    label: str
    rows: np.ndarray
    """(N,) true for those who belong to it."""


def groups_by(data: IVData, column: str, quantiles: int | None = None) -> list[Group]:
    """The groups that a covariate makes, in rising order of its values; those without a value come last.

    Args:
        data: the people.
        column: a covariate, by the name that it had in the table.
        quantiles: for numbers, how many groups of about equal size; by default one group per value, or four groups if
            there are more than ten values.
    """
    if quantiles is not None and (not isinstance(quantiles, int) or isinstance(quantiles, bool) or quantiles < 2):
        raise InputError(f"quantiles must be a whole number of at least 2, but is {quantiles!r}.")
    if not isinstance(column, str):
        raise InputError(f"by takes the name of one covariate, but was given a {type(column).__name__}: {column!r}.")
    place = {name: j for j, name in enumerate(data.covariates)}
    words = rules()["covariates"]
    absent = words["missing_name"].format(column=column)
    missing = data.x[:, place[absent]] > 0 if absent in place else np.zeros(len(data.w), dtype=bool)
    if column in data.report.references:
        if quantiles is not None:
            raise InputError(f"covariate '{column}' is text: it has values, but no quantiles.")
        found = _levels(data, column, words["level_name"], missing)
    elif column in place:
        found = _numbers(data, column, data.x[:, place[column]], missing, quantiles)
    else:
        known = sorted(data.report.variables or place)
        raise InputError(
            f"'{column}' is not a covariate of this fit; its covariates are: {', '.join(known) or 'none'}. Add it to "
            "covariates, or fit each of its values with fit_many(by=...)."
        )
    found += [Group(f"{column} missing", missing)] if missing.any() else []
    found = [group for group in found if group.rows.any()]
    if len(found) < 2:
        raise InputError(f"covariate '{column}' is the same for everybody, so it makes no groups.")
    return found


def _levels(data: IVData, column: str, name: str, missing: np.ndarray) -> list[Group]:
    start, end = name.format(column=column, level="\0").split("\0")
    found = []
    taken = missing.copy()
    for j, encoded in enumerate(data.covariates):
        if encoded.startswith(start) and encoded.endswith(end) and encoded != start + "missing" + end:
            level = encoded[len(start) : len(encoded) - len(end)]
            found.append(Group(level, data.x[:, j] > 0))
            taken |= found[-1].rows
    return [Group(data.report.references[column], ~taken), *found]


def _numbers(data: IVData, column: str, values: np.ndarray, missing: np.ndarray, quantiles: int | None) -> list[Group]:
    present = ~missing
    different = np.unique(values[present])
    if quantiles is None and len(different) <= MOST_VALUES:
        return [Group(f"{column} = {value:g}", present & (values == value)) for value in different]
    parts = quantiles or USUAL_QUANTILES
    levels = np.arange(1, parts) / parts
    cuts = np.unique(weighted_quantile(values[present], data.w[present], levels))
    cuts = cuts[cuts < different[-1]]
    place = np.searchsorted(cuts, values, side="left")  # a value at a cut belongs below it
    labels = [f"{column} <= {cuts[0]:g}"] if len(cuts) else []
    labels += [f"{low:g} < {column} <= {high:g}" for low, high in itertools.pairwise(cuts)]
    labels += [f"{column} > {cuts[-1]:g}"] if len(cuts) else []
    return [Group(label, present & (place == k)) for k, label in enumerate(labels)]
