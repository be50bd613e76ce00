"""How the people of a table came to be in it: clusters, strata and sampling weights.

Frequency weights say how many people a row stands for; sampling weights say how many people of the population each of
them stands for. Both may be given: a row is then k people, each standing for s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ivicl._shared.special import chi_squared_tail
from ivicl.data.columns import Column, show_values, tidy_number
from ivicl.errors import InputError

ALL_EQUAL = 1e-9
"""Sampling weights whose ratios differ from one by less than this are taken as equal."""
DIFFERS_P = 0.01
"""Below this p-value the share with Z = 1 is taken to differ between strata."""


@dataclass(frozen=True)
class Design:
    """Clusters, strata and sampling weights, one entry per row; None if the user named no such column."""

    cluster: np.ndarray | None = None
    """(N,) codes of the groups that were sampled, or assigned, together."""
    strata: np.ndarray | None = None
    """(N,) codes of the blocks within which people or clusters were sampled or assigned."""
    sampling: np.ndarray | None = None
    """(N,) sampling weight of one person, positive; only their ratios matter."""

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The columns that were given, by name."""
        named = {"cluster": self.cluster, "strata": self.strata, "sampling": self.sampling}
        return {name: values for name, values in named.items() if values is not None}

    def take(self, rows: np.ndarray) -> Design:
        """The design of some of the rows."""
        return Design(**{name: values[rows] for name, values in self.columns.items()})

    @staticmethod
    def joined(parts: Sequence[Design]) -> Design:
        """The designs of several data sets joined, row after row; all must have the same columns."""
        return Design(**{name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns})


def checked_sampling(column: Column) -> np.ndarray:
    """Sampling weights as numbers; a row of weight zero stands for nobody."""
    name, values = column.name, column.values
    if column.kind == "text":
        shown = show_values(column.levels(), 2)
        raise InputError(
            f"sampling weights '{name}' must be numbers, but the column holds text such as {shown}; name the column of "
            "weights, or leave sampling_weights out."
        )
    if column.missing.any():
        raise InputError(
            f"sampling weights '{name}' has {int(column.missing.sum())} missing values; find them, or leave these "
            "people out of the table if the others' weights were made without them."
        )
    if (values < 0).any():
        raise InputError(
            f"sampling weights '{name}' must not be negative, but one is {values.min():g}; a survey's weights say how "
            "many people each stands for."
        )
    if not values.any():
        raise InputError(
            f"sampling weights '{name}' are all zero, so that they stand for nobody; name the column that says how "
            "many people each stands for, or leave sampling_weights out."
        )
    return values.astype(np.float64)


def read_design(
    cluster: Column | None, strata: Column | None, sampling: Column | None, people: np.ndarray, notes: list[str]
) -> Design | None:
    """The design of the rows that are used; None if no column was named, or only equal sampling weights.

    `people` says how many people each row stands for.
    """
    codes = {}
    for role, column in (("cluster", cluster), ("strata", strata)):
        if column is not None:
            _refuse_missing(role, column)
            codes[role] = np.unique(column.values.astype(str), return_inverse=True)[1].ravel()
    if strata is not None:
        _refuse_single(strata, codes["strata"], people)
    if cluster is not None and strata is not None:
        _refuse_split(cluster, codes["cluster"], strata, codes["strata"])
    weights = None if sampling is None else checked_sampling(sampling)
    if weights is not None and sampling is not None and weights.max() <= weights.min() * (1 + ALL_EQUAL):
        notes.append(f"sampling weights '{sampling.name}' are all equal, so they change nothing")
        weights = None
    found = Design(codes.get("cluster"), codes.get("strata"), weights)
    return found if found.columns else None


def _refuse_missing(role: str, column: Column) -> None:
    if column.missing.any():
        raise InputError(
            f"{role} '{column.name}' is missing in {int(column.missing.sum())} rows; give people who belong to no "
            f"{'cluster' if role == 'cluster' else 'stratum'} a value of their own."
        )


def _refuse_single(strata: Column, codes: np.ndarray, people: np.ndarray) -> None:
    """Strata of one person allow no comparison within them; most likely an identifier column was named by mistake."""
    if np.bincount(codes, people).max() <= 1:
        raise InputError(
            f"strata '{strata.name}' gives each of the {len(codes):,} people a stratum of their own; name the column "
            "of the blocks within which people were sampled or assigned, or leave strata out."
        )


def _refuse_split(cluster: Column, codes: np.ndarray, strata: Column, blocks: np.ndarray) -> None:
    first = np.zeros(codes.max() + 1, dtype=blocks.dtype)
    first[codes[::-1]] = blocks[::-1]
    split = np.flatnonzero(first[codes] != blocks)
    if len(split):
        value = _shown(cluster, int(split[0]))
        raise InputError(
            f"cluster '{cluster.name}' = {value} lies in more than one stratum of '{strata.name}'; a cluster belongs "
            "to one: if its names start again in each stratum, join the two columns into one."
        )


def _shown(column: Column, row: int) -> str:
    value = column.values[row]
    return repr(value) if column.kind == "text" else str(tidy_number(float(value)))


def assignment_differs(z: np.ndarray, strata: np.ndarray, cluster: np.ndarray | None, people: np.ndarray) -> bool:
    """Whether P(Z=1) differs between strata by more than chance; counts what was assigned, people or whole clusters."""
    if cluster is not None:
        treated, size = np.bincount(cluster, z * people), np.bincount(cluster, people)
        if ((treated == 0) | (treated == size)).all():
            first = np.unique(cluster, return_index=True)[1]
            z, strata, people = z[first], strata[first], np.ones(len(first))
    size, treated = np.bincount(strata, people), np.bincount(strata, people * z)
    used = size > 0
    size, treated = size[used], treated[used]
    share = treated.sum() / size.sum()
    if len(size) < 2 or not 0 < share < 1:
        return False
    statistic = float(((treated - share * size) ** 2 / (size * share * (1 - share))).sum())
    return chi_squared_tail(statistic, len(size) - 1) < DIFFERS_P


def strata_as_covariate(column: Column) -> Column:
    """The strata as text, so that each stratum becomes a column of its own."""
    if column.kind == "text":
        return column
    texts = np.empty(len(column), dtype=object)
    texts[:] = [str(tidy_number(float(value))) for value in column.values]
    return Column(column.name, texts, column.missing, "text")
