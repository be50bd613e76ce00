"""Many studies at once: one row per study, with few passes of the network; a bad study is a row with its error."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ivicl._shared.cores import in_order, threads
from ivicl._shared.frames import as_kind, kind_of
from ivicl._shared.progress import progress_bar
from ivicl.data import IVData, Roles
from ivicl.data.cap import capped
from ivicl.data.columns import Column, numbers_from_text, show_values, tidy_number
from ivicl.data.compression import ReadTable
from ivicl.data.labels import STUDY
from ivicl.data.outcome import read_outcome
from ivicl.data.reading import read_frame
from ivicl.data.roles import ManyRoleArguments
from ivicl.errors import DesignWarning, InputError, IVICLError
from ivicl.methods.answers import answers_of_many
from ivicl.methods.base import Method, MethodBounds, Request
from ivicl.methods.estimand_bounds import EstimandBounds
from ivicl.methods.registry import resolve
from ivicl.results.making import make_result
from ivicl.results.rows import COLUMNS, blank_row, frame_of
from ivicl.version import __version__

if TYPE_CHECKING:
    from ivicl.estimator import IVBounds

_log = logging.getLogger(__name__)

STUDIES_PER_CHUNK = 256
"""How many studies are read, fitted and written together."""
MOST_OF_STUDIES = 10_000_000
"""The most different rows, of all studies together, that are taken out of an engine: under 2 GB."""


class ManyStudies(Protocol):
    """What can be fitted study by study: a table split into studies, or the same with several outcomes."""

    @property
    def by(self) -> tuple[str, ...]: ...
    @property
    def keys(self) -> list[tuple[Any, ...]]: ...
    def __len__(self) -> int: ...
    def data(self, study: int) -> IVData: ...


@dataclass(frozen=True)
class Studies:
    """A table split into studies: columns as arrays, and the rows of each study."""

    by: tuple[str, ...]
    keys: list[tuple[Any, ...]]
    """The values of `by`, one tuple per study, in order of first appearance."""
    rows: list[np.ndarray]
    table: ReadTable
    roles: Roles
    """How every study is read, with codings and range decided for all of them together."""

    def __len__(self) -> int:
        return len(self.keys)

    def data(self, study: int) -> IVData:
        return IVData.from_columns(self.table.take(self.rows[study]), self.roles)


def split(df: Any, by: str | Sequence[str], roles: Roles) -> Studies:
    """Read the columns once, and decide codings and the outcome's range for all studies together.

    So that the values of a study in which nobody was treated, or in which a continuous outcome takes only two values,
    mean the same as in the whole table.
    """
    named = study_columns(by, roles)
    read = read_frame(df, roles.columns | named, roles.weights, most=MOST_OF_STUDIES, asked=roles)
    columns = dict(read.columns)
    keys, rows = groups_of([columns.pop(name) for name in named.values()])
    if not keys:
        raise InputError("the table has no rows.")
    if roles.cluster is not None:
        _refuse_shared_clusters(columns[roles.cluster], keys, rows)
    settled = settle(columns, roles, read.rows)
    return Studies(tuple(named.values()), keys, rows, replace(read, columns=columns), settled)


def study_columns(by: str | Sequence[str], roles: Roles) -> dict[str, str]:
    """Role -> column, for the columns that tell the studies apart; an InputError if they are not valid."""
    by = (by,) if isinstance(by, str) or not isinstance(by, Iterable) else tuple(by)
    if not by or by[0] is None:
        raise InputError("by must name the column that tells the studies apart.")
    for name in by:
        if name in COLUMNS:
            raise InputError(f"by names '{name}', which is a column of the result too: rename it in the table.")
    named = {f"{STUDY} (by) {i + 1}": name for i, name in enumerate(by)}
    roles.refuse_shared_columns(named)
    return named


def settle(columns: dict[str, Column], roles: Roles, rows: np.ndarray) -> Roles:
    """The roles with codings and range from these columns; columns that hold numbers as text become numbers.

    `rows` says how many rows of the table each entry stands for.
    """
    ones = dict(roles.ones or {})
    for name in (roles.outcome, roles.treatment, roles.instrument):
        if name in columns and name not in ones:
            columns[name] = numbers_from_text(columns[name])
    for name in (roles.treatment, roles.instrument):
        levels = columns[name].levels() if name in columns else []
        if len(levels) == 2:
            ones.setdefault(name, levels[1])
    given = set(roles.ones or {})
    if roles.outcome in columns and roles.cap is None:
        roles = replace(roles, outcome_range=_settle_outcome(columns, roles, ones))
    elif roles.outcome in columns:
        weights = rows if roles.weights is None else columns[roles.weights].values
        cut = capped(columns[roles.outcome], weights, roles.outcome_range, roles.cap)
        roles = replace(roles, outcome_range=cut.range, cap=cut.cap)
    return replace(roles, ones=ones, settled=tuple(sorted(set(ones) - given)))


def _refuse_shared_clusters(column: Column, keys: list[tuple[Any, ...]], rows: list[np.ndarray]) -> None:
    """If two studies share a cluster, they are not independent, or its name means two things: raise an InputError."""
    owner: dict[Any, int] = {}
    for study, own in enumerate(rows):
        for value in np.unique(column.values[own][~column.missing[own]]).tolist():
            if owner.setdefault(value, study) != study:
                raise shared_cluster(column.name, value, keys[owner[value]], keys[study])


def shared_cluster(name: str, value: Any, first: Sequence[Any], second: Sequence[Any]) -> InputError:
    """The error for a cluster with people in two studies."""
    studies = " and ".join(show_values(list(key)) for key in (first, second))
    return InputError(
        f"cluster '{name}' = {show_values([_tidy(value)])} has people in two studies ({studies}); if its names start "
        "again in each study, join study and cluster into one column."
    )


def _tidy(value: Any) -> Any:
    return tidy_number(value) if isinstance(value, float) else value


def _settle_outcome(columns: dict[str, Column], roles: Roles, ones: dict[str, Any]) -> tuple[float, float] | None:
    """Read the outcome once for all studies: find which value is 1, or turn the column into numbers with a range."""
    column = columns[roles.outcome]
    present = ~column.missing
    if not present.any():
        return roles.outcome_range
    whole = read_outcome(column.take(present), roles.outcome_range, ones.get(roles.outcome))
    if not whole.binary:
        values = np.zeros(len(column))
        values[present] = whole.values
        columns[roles.outcome] = replace(column, values=values, kind="number")
        return whole.range
    if roles.outcome_range is None:
        ones.setdefault(roles.outcome, whole.coding.one)
    return roles.outcome_range


def groups_of(columns: list[Column]) -> tuple[list[tuple[Any, ...]], list[np.ndarray]]:
    """The studies in order of first appearance, and the rows of each."""
    lists = []
    for column in columns:
        levels = {value: value for value in column.levels()}
        plain = column.values.tolist()
        lists.append([None if gone else levels.get(v, v) for v, gone in zip(plain, column.missing, strict=True)])
    place: dict[tuple[Any, ...], int] = {}
    code = np.array([place.setdefault(key, len(place)) for key in zip(*lists, strict=True)], dtype=np.int64)
    order = np.argsort(code, kind="stable")
    rows = np.split(order, np.flatnonzero(np.diff(code[order])) + 1) if len(order) else []
    return list(place), rows


def fit_many(estimator: IVBounds, df: Any, by: str | Sequence[str], given: ManyRoleArguments) -> Any:
    """See `IVBounds.fit_many`."""
    from ivicl.scale.outcomes import roles_of, split_outcomes  # imported here because it imports this module

    studies = split_outcomes(df, by, roles_of(given))
    rows: list[dict[str, Any]] = []
    with progress_bar("studies", len(studies), on=estimator.progress) as advance:
        for chunk in fit_studies(estimator, studies, range(len(studies))):
            rows += chunk
            advance(len(chunk))
    stopped = sum(row["grade"] == "stop" for row in rows)
    if stopped:
        # The warning points at the line that called IVBounds.fit_many.
        warnings.warn(stop_sentence(stopped, len(studies)), DesignWarning, stacklevel=3)
    return as_kind(frame_of(rows, studies.by), kind_of(df))


def stop_sentence(stopped: int, studies: int) -> str:
    """What is said once about all studies of grade stop."""
    verb = "is" if stopped == 1 else "are"
    return (
        f"{stopped:,} of {studies:,} studies {verb} graded stop: the data contradict an assumption that the bounds "
        "rest on; see the columns grade and findings."
    )


def fit_studies(estimator: IVBounds, studies: ManyStudies, chosen: Sequence[int]) -> Iterator[list[dict[str, Any]]]:
    """The rows of the chosen studies, a chunk at a time and in order; chunks run side by side if that is safe."""
    request = estimator.request()
    method = resolve(estimator.method).granted(request.assume)
    chosen, keys = list(chosen), studies.keys

    def rows_of(part: list[int]) -> list[dict[str, Any]]:
        data: dict[int, IVData] = {}
        found: dict[int, MethodBounds | IVICLError] = {}
        for study in part:
            try:
                data[study] = studies.data(study)
            except IVICLError as error:
                found[study] = error
        found |= dict(zip(data, method.bounds_of_many(list(data.values()), request), strict=True))
        known = _estimands(method, found, data, request)
        return [
            dict(zip(studies.by, keys[study], strict=True))
            | _row(method, found[study], data.get(study), known.get(study), request)
            for study in part
        ]

    parts = [chosen[start : start + STUDIES_PER_CHUNK] for start in range(0, len(chosen), STUDIES_PER_CHUNK)]
    # Large array operations let other Python threads run. But methods that were written for one data set at a time,
    # some of them by users, may not be thread-safe.
    side_by_side = threads() if method.batched is not None else 1
    return in_order(rows_of, parts, side_by_side) if min(len(parts), side_by_side) > 1 else map(rows_of, parts)


def _estimands(
    method: Method, found: dict[int, MethodBounds | IVICLError], data: dict[int, IVData], request: Request
) -> dict[int, dict[str, EstimandBounds]]:
    """The estimands by study, computed together; if that fails, each row computes its own and reports its error."""
    answered = {study: one for study, one in found.items() if isinstance(one, MethodBounds)}
    try:
        many = answers_of_many(method, list(answered.values()), [data[study] for study in answered], request)
    except Exception:
        _log.debug("the estimands of %d studies failed together", len(answered), exc_info=True)
        return {}
    return dict(zip(answered, many, strict=True))


def _row(
    method: Method,
    found: MethodBounds | IVICLError,
    data: IVData | None,
    estimands: dict[str, EstimandBounds] | None,
    request: Request,
) -> dict[str, Any]:
    """The study's row; if something went wrong, it is in the column `error`, and the other studies go on."""
    if not isinstance(found, MethodBounds) or data is None:
        return error_row(method, request, str(found))
    try:
        return make_result(method, found, data, request, ladder=False, estimands=estimands).row()
    except IVICLError as error:  # these data have no such estimand
        reason = str(error)
    except Exception as error:
        reason = f"the diagnostics failed: {type(error).__name__}: {error}"
    return error_row(method, request, reason)


def error_row(method: Method, request: Request, reason: str) -> dict[str, Any]:
    """The row of a study that has no answer."""
    return blank_row() | {"method": method.name, "alpha": request.alpha, "error": reason, "version": __version__}
