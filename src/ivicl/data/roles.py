"""Which column plays which role, and how it is to be read: defined once, for every entry point of the package."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

from ivicl.data.cap import check_cap
from ivicl.data.rules import refusal
from ivicl.errors import InputError

MISSING_POLICIES = ("drop", "indicator", "raise")
MISSING_OUTCOME_POLICIES = ("drop", "bounds")
BLOCKS = ("cluster", "strata")
"""Roles of the design whose column may be a covariate as well."""


class _SharedArguments(TypedDict, total=False):
    """The keywords that mean the same for one outcome and for several."""

    treatment: str
    instrument: str
    covariates: Sequence[str] | None
    weights: str | None
    missing: str
    missing_outcome: str
    ones: Mapping[str, Any] | None
    cap: float | str | None
    bins: int | None
    cluster: str | None
    strata: str | None
    sampling_weights: str | None


class RoleArguments(_SharedArguments, total=False):
    """The keywords of `Roles`, for functions that pass them on."""

    outcome: str
    outcome_range: tuple[float, float] | None


class ManyRoleArguments(_SharedArguments, total=False):
    """The same for many studies: there may be several outcomes, and a range for each."""

    outcome: str | Sequence[str]
    outcome_range: tuple[float, float] | Mapping[str, tuple[float, float]] | None


def check_keywords(function: str, given: Mapping[str, object]) -> None:
    """Check the names of keywords as Python would if they were written out; but they are passed on to `Roles`."""
    known = RoleArguments.__annotations__
    unknown = [name for name in given if name not in known]
    if unknown:
        near = difflib.get_close_matches(unknown[0], known, n=1)
        raise TypeError(
            f"{function}() got an unexpected keyword argument '{unknown[0]}'"
            + (f"; the nearest name is '{near[0]}'" if near else "")
        )
    lacking = [name for name in ("outcome", "treatment", "instrument") if name not in given]
    if lacking:
        raise TypeError(f"{function}() needs the keyword argument{'s' * (len(lacking) > 1)} {' and '.join(lacking)}")


@dataclass(frozen=True)
class Roles:
    """The columns by role. Names are checked against the table when it is read."""

    outcome: str
    treatment: str
    instrument: str
    covariates: Sequence[str] | None = ()
    weights: str | None = None
    """Column of frequency weights: how many people a row stands for."""
    outcome_range: tuple[float, float] | None = None
    """Smallest and largest possible outcome; with None, the smallest and largest observed."""
    missing: str = "drop"
    """What happens to rows whose covariates are missing."""
    ones: Mapping[str, Any] | None = None
    """Which value of a two-valued column means 1; otherwise the larger, or the later in sort order, does."""
    missing_outcome: str = "drop"
    """What happens to people whose outcome is missing: they are left out, or with "bounds" it may be anything."""
    cap: float | str | None = None
    """Where amounts are cut off: a number, or a quantile of those seen, such as "99%"."""
    settled: tuple[str, ...] = ()
    """Columns in `ones` whose value was decided for many studies together, and not named by the user."""
    cluster: str | None = None
    """Column of the groups that were sampled or assigned together: people in the same group are not independent."""
    strata: str | None = None
    """Column of the blocks within which people or clusters were sampled or assigned."""
    sampling_weights: str | None = None
    """Column of sampling weights: how many people of the population each person stands for."""
    bins: int | None = None
    """Into how many groups of about equal size covariates with more different numbers are cut; None cuts nothing."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "covariates", _names(self.covariates))
        if self.ones is not None and not isinstance(self.ones, Mapping):
            raise InputError(
                f"ones must be a dictionary from column to the value that means 1, as {{'arm': 'drug'}}, but is "
                f"{self.ones!r}."
            )
        object.__setattr__(self, "ones", dict(self.ones or {}))
        if self.missing not in MISSING_POLICIES:
            raise InputError(f"missing must be one of {', '.join(MISSING_POLICIES)}, but is {self.missing!r}.")
        check_missing_outcome(self.missing_outcome)
        check_cap(self.cap)
        if self.bins is not None and (not isinstance(self.bins, int) or isinstance(self.bins, bool) or self.bins < 2):
            raise InputError(f"bins must be a whole number of at least 2, but is {self.bins!r}.")
        self.refuse_shared_columns()
        unknown = [name for name in self.ones or {} if name not in (self.outcome, self.treatment, self.instrument)]
        if unknown:
            raise InputError(
                f"ones names '{unknown[0]}', which is not the outcome, the treatment or the instrument; leave it out, "
                "since covariates may have any values."
            )

    @classmethod
    def named(cls, function: str, given: RoleArguments) -> Roles:
        """The roles from the keywords of a public function, whose name is for the error about a wrong one."""
        check_keywords(function, given)
        return cls(**given)

    @property
    def columns(self) -> dict[str, str]:
        """Role -> column, for every column that is read."""
        found = {"outcome": self.outcome, "treatment": self.treatment, "instrument": self.instrument}
        found |= {f"covariate {i + 1}": name for i, name in enumerate(self.covariates or ())}
        others = {"weights": self.weights, "cluster": self.cluster, "strata": self.strata}
        others |= {"sampling weights": self.sampling_weights}
        return found | {role: name for role, name in others.items() if name is not None}

    @property
    def binned(self) -> list[str]:
        """Covariates that may be cut into groups: those that are also clusters or strata of the design may not."""
        return [name for name in self.covariates or () if self.bins and name not in (self.cluster, self.strata)]

    def refuse_shared_columns(self, others: Mapping[str, str] | None = None) -> None:
        """No column may have two roles; `others` are further roles, such as the columns that tell studies apart."""
        seen: dict[str, str] = {}
        for role, name in (self.columns | dict(others or {})).items():
            if not isinstance(name, str):
                raise InputError(f"{called(role)} must be the name of a column of the table, but is {_show(name)}.")
            if name in seen and role in BLOCKS and seen[name].startswith("covariate"):
                continue  # the cluster or stratum may explain the outcome too
            if name in seen:
                raise refusal("column_twice", column=name, first=seen[name], second=role)
            seen[name] = role

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def called(role: str) -> str:
    """The role as it is called in a sentence: "covariate 2", but "the outcome"."""
    return role if role[-1].isdigit() else f"the {role}"


def check_missing_outcome(policy: str) -> None:
    if policy not in MISSING_OUTCOME_POLICIES:
        known = " or ".join(repr(each) for each in MISSING_OUTCOME_POLICIES)
        raise InputError(f"missing_outcome must be {known}, but is {policy!r}.")


def _names(given: Any) -> tuple[Any, ...]:
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        return (given,)
    return tuple(given)


def _show(value: Any) -> str:
    """A number, a tuple or None as it is; anything else, such as a whole column, only by its type; and what to do."""
    if isinstance(value, (int, tuple)) and not isinstance(value, bool):
        return f"{value!r}; names must be text, which df.columns = df.columns.map(str) makes of others"
    shown = repr(value) if value is None or isinstance(value, (bool, float)) else f"a {type(value).__name__}"
    return f"{shown}; arrays go through IVData.from_arrays(z, t, y, x) and fit_data"
