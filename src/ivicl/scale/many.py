"""Many studies at once: one row a study, few passes of the network, and a bad study is a row with its error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ivicl._shared.progress import progress_bar
from ivicl.data import IVData
from ivicl.data.encoding import Column, numbers_from_text
from ivicl.data.reading import read_frame, refuse_shared_columns
from ivicl.errors import InputError, IVICLError
from ivicl.methods.base import MethodBounds, MethodOptions
from ivicl.methods.registry import resolve
from ivicl.posterior import width_parts

if TYPE_CHECKING:
    from ivicl.estimator import IVBounds

STUDIES_PER_CHUNK = 256
"""Studies that are read, passed and written together."""

SCHEMA: dict[str, type] = {
    "lower": float,
    "upper": float,
    "width": float,
    "alpha": float,
    "method": str,
    "estimand": str,
    "posterior_median": float,
    "prob_positive": float,
    "set_lower": float,
    "set_upper": float,
    "not_identified": float,
    "not_enough_data": float,
    "n": int,
    "n_dropped": int,
    "treated_if_z0": float,
    "treated_if_z1": float,
    "first_stage_f": float,
    "grade": str,
    "warnings": str,
    "error": str,
}
"""The columns of the answer, after those that name the study."""


@dataclass(frozen=True)
class Studies:
    """A table cut into studies: columns as arrays, and the rows of each study."""

    by: tuple[str, ...]
    keys: list[tuple[Any, ...]]
    """The values of `by`, one tuple a study, in order of first appearance."""
    rows: list[np.ndarray]
    columns: dict[str, np.ndarray]
    arguments: dict[str, Any]
    """What `IVData.from_frame` is told about every study."""

    def __len__(self) -> int:
        return len(self.keys)

    def data(self, study: int) -> IVData:
        rows = self.rows[study]
        return IVData.from_frame({name: values[rows] for name, values in self.columns.items()}, **self.arguments)


def split(
    df: Any,
    *,
    by: str | Sequence[str],
    outcome: str,
    treatment: str,
    instrument: str,
    covariates: Sequence[str] = (),
    weights: str | None = None,
    outcome_range: tuple[float, float] | None = None,
    missing: str = "drop",
    ones: Mapping[str, Any] | None = None,
) -> Studies:
    """Read the columns once, and decide codings and the outcome's range for all studies together.

    A study in which nobody was treated, or with two distinct amounts of a continuous outcome, must mean what it means
    in the whole table.
    """
    by = (by,) if isinstance(by, str) else tuple(by)
    covariates = (covariates,) if isinstance(covariates, str) else tuple(covariates)
    if not by:
        raise InputError("by must name the column that tells the studies apart.")
    roles = {"outcome": outcome, "treatment": treatment, "instrument": instrument}
    roles |= {f"covariate {i + 1}": name for i, name in enumerate(covariates)}
    if weights is not None:
        roles["weights"] = weights
    refuse_shared_columns(roles | {f"study (by) {i + 1}": name for i, name in enumerate(by)})
    columns = read_frame(df, roles | {f"study (by) {i + 1}": name for i, name in enumerate(by)})
    keys, rows = _groups([columns.pop(name) for name in by])
    if not keys:
        raise InputError("the table has no rows.")
    ones = dict(ones or {})
    for name in (outcome, treatment, instrument):
        column = numbers_from_text(columns[name]) if name not in ones else columns[name]
        levels = column.levels()
        if len(levels) == 2 and not (name == outcome and outcome_range is not None):
            ones.setdefault(name, levels[1])
        elif name == outcome and outcome_range is None and column.kind != "text" and len(levels) > 2:
            outcome_range = (float(levels[0]), float(levels[-1]))
    arguments = {
        "outcome": outcome,
        "treatment": treatment,
        "instrument": instrument,
        "covariates": covariates,
        "weights": weights,
        "outcome_range": outcome_range,
        "missing": missing,
        "ones": ones,
    }
    return Studies(by, keys, rows, {name: _array(column) for name, column in columns.items()}, arguments)


def _array(column: Column) -> np.ndarray:
    """Back to an array that `IVData.from_frame` reads at once, with what is missing marked."""
    if column.kind == "number":
        return np.where(column.missing, np.nan, column.values)
    if column.kind == "boolean" and not column.missing.any():
        return column.values.astype(bool)
    values = np.empty(len(column), dtype=object)
    values[:] = [bool(v) for v in column.values] if column.kind == "boolean" else column.values
    values[column.missing] = None
    return values


def _groups(columns: list[Column]) -> tuple[list[tuple[Any, ...]], list[np.ndarray]]:
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


def fit_many(estimator: IVBounds, df: Any, **arguments: Any) -> Any:
    """See `IVBounds.fit_many`."""
    studies = split(df, **arguments)
    rows: list[dict[str, Any]] = []
    with progress_bar("studies", len(studies), on=estimator.progress) as advance:
        for chunk in fit_studies(estimator, studies, range(len(studies))):
            rows += chunk
            advance(len(chunk))
    return to_frame(rows, studies.by)


def fit_studies(estimator: IVBounds, studies: Studies, chosen: Sequence[int]) -> Iterator[list[dict[str, Any]]]:
    """The rows of the chosen studies, a chunk at a time."""
    options = estimator.checked_options()
    fit = _fit_network if estimator.method == "ivicl" else _fit_one_by_one(estimator.method)
    chosen = list(chosen)
    for start in range(0, len(chosen), STUDIES_PER_CHUNK):
        part = chosen[start : start + STUDIES_PER_CHUNK]
        data: dict[int, IVData] = {}
        errors: dict[int, str] = {}
        for study in part:
            try:
                data[study] = studies.data(study)
            except IVICLError as error:
                errors[study] = str(error)
        found = fit(data, options, errors)
        yield [
            dict(zip(studies.by, studies.keys[study], strict=True))
            | _row(study, estimator.method, data, found, errors, options)
            for study in part
        ]


Found = dict[int, MethodBounds]


def _fit_network(data: dict[int, IVData], options: MethodOptions, errors: dict[int, str]) -> Found:
    """All binary tables of the chunk's studies in as few passes as their sizes allow."""
    from ivicl.methods.pretrained.batching import predict_tables
    from ivicl.methods.pretrained.method import model_of, pose, settle
    from ivicl.methods.pretrained.runtime import Posteriors

    model = model_of(options)
    questions = {study: pose(each, options, model) for study, each in data.items()}
    tables = [table for question in questions.values() for table in question.tables]
    if not tables:
        return {}
    posteriors = predict_tables(model, tables)
    found: Found = {}
    start = 0
    for study, question in questions.items():
        here = slice(start, start + len(question.tables))
        start = here.stop
        own = Posteriors(posteriors.effect[here], posteriors.lower[here], posteriors.upper[here])
        found[study] = settle(data[study], options, question, own)
    return found


def _fit_one_by_one(method: str) -> Callable[[dict[int, IVData], MethodOptions, dict[int, str]], Found]:
    function = resolve(method)

    def fit(data: dict[int, IVData], options: MethodOptions, errors: dict[int, str]) -> Found:
        found: Found = {}
        for study, each in data.items():
            try:
                found[study] = function(each, options)
            except IVICLError as error:
                errors[study] = str(error)
        return found

    return fit


def _row(
    study: int, method: str, data: dict[int, IVData], found: Found, errors: dict[int, str], options: MethodOptions
) -> dict[str, Any]:
    from ivicl.results.diagnostics.findings import diagnose

    row: dict[str, Any] = dict.fromkeys(SCHEMA)
    row |= {"method": method, "alpha": options.alpha}
    if study in errors:
        return row | {"error": errors[study]}
    each, answer = data[study], found[study]
    span = each.outcome_range[1] - each.outcome_range[0]
    lower, upper = float(np.clip(answer.lower, -span, span)), float(np.clip(answer.upper, -span, span))
    design = diagnose(each)
    stage = design["first_stage"]
    warnings = [*answer.warnings, *(f["sentence"] for f in design["findings"] if f["grade"] != "ok")]
    row |= {
        "lower": lower,
        "upper": max(lower, upper),
        "width": max(lower, upper) - lower,
        "estimand": answer.estimand,
        "n": each.n,
        "n_dropped": each.report.n_dropped,
        "treated_if_z0": stage["treated_if_z0"],
        "treated_if_z1": stage["treated_if_z1"],
        "first_stage_f": stage["f"],
        "grade": design["grade"],
        "warnings": " | ".join(warnings),
    }
    if answer.posterior is not None:
        row |= {
            "posterior_median": float(answer.posterior.quantile(0.5)),
            "prob_positive": answer.posterior.prob_positive,
        }
    if answer.identified_set is not None:
        parts = width_parts(answer.identified_set, options.alpha)
        row |= {
            "set_lower": parts.lower,
            "set_upper": parts.upper,
            "not_identified": parts.not_identified,
            "not_enough_data": parts.not_enough_data,
        }
    return row


def to_frame(rows: list[dict[str, Any]], by: Sequence[str]) -> Any:
    """A polars frame with the columns of `by` and of SCHEMA."""
    import polars as pl

    types = {float: pl.Float64, int: pl.Int64, str: pl.String}
    frame = pl.DataFrame(rows, infer_schema_length=None, schema_overrides={k: types[v] for k, v in SCHEMA.items()})
    return frame.select([*by, *SCHEMA])
