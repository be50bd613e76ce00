"""Several outcomes of the same studies: one row for each study and outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ivicl.data import IVData, Roles
from ivicl.data.roles import ManyRoleArguments, check_keywords
from ivicl.errors import InputError
from ivicl.scale.many import Studies, split, study_columns

COLUMN = "outcome"
"""The column that names the outcome of a row, after the columns that name the study."""


@dataclass(frozen=True)
class OutcomeStudies:
    """The studies once for each outcome; like `Studies`, with the outcome as part of each study's name."""

    parts: tuple[Studies, ...]
    """One per outcome, over the same studies."""

    @property
    def by(self) -> tuple[str, ...]:
        return (*self.parts[0].by, COLUMN)

    @property
    def keys(self) -> list[tuple[Any, ...]]:
        return [(*key, part.roles.outcome) for key in self.parts[0].keys for part in self.parts]

    def __len__(self) -> int:
        return len(self.parts) * len(self.parts[0])

    def data(self, study: int) -> IVData:
        place, outcome = divmod(study, len(self.parts))
        return self.parts[outcome].data(place)


def roles_of(given: ManyRoleArguments) -> Roles | list[Roles]:
    """The roles, or a list with the roles of each outcome if `outcome` is a list."""
    check_keywords("fit_many", given)
    outcome = given.get("outcome")
    if isinstance(outcome, str) and isinstance(given.get("outcome_range"), Mapping):
        return _roles(outcome, [outcome], given)
    if isinstance(outcome, str) or not isinstance(outcome, Sequence):
        return Roles(**given)  # type: ignore[arg-type]  # one outcome, or a refusal
    if not outcome:
        raise InputError("outcome is an empty list; name at least one column.")
    return [_roles(name, outcome, given) for name in outcome]


def split_outcomes(df: Any, by: str | Sequence[str], roles: Roles | list[Roles]) -> Studies | OutcomeStudies:
    """The studies, once for each outcome if there is a list of them."""
    if isinstance(roles, Roles):
        return split(df, by, roles)
    if len({each.outcome for each in roles}) < len(roles):
        raise InputError("outcome names the same column twice.")
    if COLUMN in study_columns(by, roles[0]).values():
        raise InputError(f"by names '{COLUMN}', which is a column of the result too: rename it in the table.")
    return OutcomeStudies(tuple(split(df, by, each) for each in roles))


def _roles(name: str, outcomes: Sequence[str], given: ManyRoleArguments) -> Roles:
    """The roles of one outcome, without the codings and ranges of the other outcomes."""
    others = [other for other in outcomes if other != name]
    ones = {column: value for column, value in (given.get("ones") or {}).items() if column not in others}
    limits = given.get("outcome_range")
    if isinstance(limits, Mapping):
        unknown = [column for column in limits if column not in outcomes]
        if unknown:
            raise InputError(f"outcome_range names '{unknown[0]}', which is not one of the outcomes.")
        limits = limits.get(name)
    arguments: dict[str, Any] = {**given, COLUMN: name, "ones": ones, "outcome_range": limits}
    return Roles(**arguments)
