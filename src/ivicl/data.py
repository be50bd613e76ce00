"""`IVData`: columns, arrays or counts in; validated, encoded numbers out, with a report of everything that was done."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ivicl.data_encoding import (
    Column,
    column_from_array,
    encode_binary,
    encode_covariate,
    numbers_from_text,
    show_values,
    tidy_number,
)
from ivicl.errors import InputError

MISSING_POLICIES = ("drop", "indicator", "raise")


@dataclass(frozen=True)
class DataReport:
    """What was done to the user's table on its way in."""

    n: int
    """People used: the sum of the frequency weights of the rows kept."""
    n_rows: int
    """Rows used."""
    n_dropped: int
    """Rows left out (missing values, zero weight)."""
    codings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Role -> column, and which of its values became 0 and 1."""
    notes: list[str] = field(default_factory=list)
    """Sentences on what was dropped, filled, joined or recoded."""


@dataclass(frozen=True)
class IVData:
    """An instrumental-variable data set: instrument z, treatment t, outcome y, covariates x, frequency weights w.

    >>> data = IVData.from_counts([[[158, 14], [0, 0]], [[52, 12], [23, 78]]])
    >>> data.n, len(data.z)
    (337, 6)
    """

    x: np.ndarray
    """(N, D) float64, encoded covariates, nothing missing."""
    z: np.ndarray
    """(N,) instrument, 0.0 or 1.0."""
    t: np.ndarray
    """(N,) treatment, 0.0 or 1.0."""
    y: np.ndarray
    """(N,) outcome in its own units; 0.0 or 1.0 when binary."""
    w: np.ndarray
    """(N,) frequency weights, whole numbers of at least 1: how many people the row stands for."""
    covariates: tuple[str, ...]
    """Names of the D encoded columns."""
    outcome_range: tuple[float, float]
    """Smallest and largest possible outcome; (0, 1) when binary."""
    binary: bool
    """The outcome takes two values."""
    report: DataReport

    @property
    def n(self) -> int:
        """People, not rows: the sum of the weights."""
        return int(self.w.sum())

    @property
    def y01(self) -> np.ndarray:
        """The outcome scaled to [0, 1] by its range."""
        low, high = self.outcome_range
        return (self.y - low) / (high - low)

    def counts(self) -> np.ndarray:
        """The (2, 2, 2) table of people by [z][t][y]; for a binary outcome only."""
        if not self.binary:
            raise InputError("a table of counts needs a binary outcome; use threshold(c) to make one.")
        cell = (4 * self.z + 2 * self.t + self.y).astype(np.int64)
        return np.bincount(cell, weights=self.w, minlength=8).reshape(2, 2, 2)

    def threshold(self, c: float) -> IVData:
        """The same people with the binary outcome 1{y >= c}."""
        return replace(self, y=(self.y >= c).astype(np.float64), outcome_range=(0.0, 1.0), binary=True)

    def merged(self) -> IVData:
        """The same people with equal rows merged into weights: exact, and often far smaller."""
        import polars as pl

        keys = {f"x{j}": self.x[:, j] for j in range(self.x.shape[1])} | {"z": self.z, "t": self.t, "y": self.y}
        frame = pl.DataFrame(keys | {"w": self.w})
        frame = frame.group_by(list(keys), maintain_order=True).agg(pl.col("w").sum())
        if len(frame) == len(self.w):
            return self
        x = frame.select(list(keys)[: self.x.shape[1]]).to_numpy().reshape(len(frame), self.x.shape[1])
        z, t, y, w = (frame[name].to_numpy() for name in "ztyw")
        return replace(self, x=np.ascontiguousarray(x), z=z, t=t, y=y, w=w)

    @classmethod
    def from_frame(
        cls,
        df: Any,
        *,
        outcome: str,
        treatment: str,
        instrument: str,
        covariates: Sequence[str] = (),
        weights: str | None = None,
        outcome_range: tuple[float, float] | None = None,
        missing: str = "drop",
        ones: Mapping[str, Any] | None = None,
    ) -> IVData:
        """Read the roles from any frame that narwhals knows (pandas, polars, pyarrow, a duckdb relation), or a dict.

        `weights` names a column of frequency weights. `ones` says which value of a two-valued column means 1, as in
        `ones={"arm": "encouraged"}`; otherwise the larger, or the later in sort order, does.
        """
        if isinstance(covariates, str):
            covariates = (covariates,)
        roles = {"outcome": outcome, "treatment": treatment, "instrument": instrument}
        roles |= {f"covariate {i + 1}": name for i, name in enumerate(covariates)}
        if weights is not None:
            roles["weights"] = weights
        _refuse_shared_columns(roles)
        columns = _read_frame(df, roles)
        unknown = [name for name in ones or {} if name not in (outcome, treatment, instrument)]
        if unknown:
            raise InputError(f"ones names '{unknown[0]}', which is not the outcome, the treatment or the instrument.")
        return _build(
            z=columns[instrument],
            t=columns[treatment],
            y=columns[outcome],
            x=[columns[name] for name in covariates],
            w=columns[weights] if weights is not None else None,
            outcome_range=outcome_range,
            missing=missing,
            ones=dict(ones or {}),
        )

    @classmethod
    def from_arrays(
        cls,
        z: Any,
        t: Any,
        y: Any,
        x: Any = None,
        w: Any = None,
        outcome_range: tuple[float, float] | None = None,
        covariates: Sequence[str] | None = None,
        missing: str = "drop",
    ) -> IVData:
        """Read arrays: z, t, y of length N, covariates x of shape (N, D) or (N,), frequency weights w of length N."""
        columns = {name: column_from_array(name, value) for name, value in (("z", z), ("t", t), ("y", y))}
        if w is not None:
            columns["w"] = column_from_array("w", w)
        n = len(columns["z"])
        matrix = np.empty((n, 0)) if x is None else np.asarray(x)
        if matrix.ndim == 1:
            matrix = matrix[:, None]
        if matrix.ndim != 2:
            raise InputError(f"x must have two dimensions (rows, covariates), but has shape {matrix.shape}.")
        names = tuple(covariates) if covariates is not None else tuple(f"x{j + 1}" for j in range(matrix.shape[1]))
        if len(names) != matrix.shape[1]:
            raise InputError(f"covariates has {len(names)} names, but x has {matrix.shape[1]} columns.")
        lengths = {name: len(column) for name, column in columns.items()} | {"x": len(matrix)}
        if len(set(lengths.values())) > 1:
            raise InputError("arrays differ in length: " + ", ".join(f"{k} has {v}" for k, v in lengths.items()) + ".")
        return _build(
            z=columns["z"],
            t=columns["t"],
            y=columns["y"],
            x=[column_from_array(name, matrix[:, j]) for j, name in enumerate(names)],
            w=columns.get("w"),
            outcome_range=outcome_range,
            missing=missing,
            ones={},
        )

    @classmethod
    def from_counts(cls, table: Any) -> IVData:
        """Read a table of people by [z][t][y], nested or as eight numbers in that order."""
        try:
            counts = np.asarray(table, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("the table of counts must be numbers in the shape [z][t][y].") from None
        if counts.size != 8 or counts.ndim not in (1, 3) or (counts.ndim == 3 and counts.shape != (2, 2, 2)):
            raise InputError(f"the table of counts must be [z][t][y], eight numbers, but has shape {counts.shape}.")
        counts = counts.reshape(-1)
        if not np.isfinite(counts).all() or (counts < 0).any() or (counts != np.round(counts)).any():
            bad = counts[~np.isfinite(counts) | (counts < 0) | (counts != np.round(counts))][0]
            raise InputError(f"counts must be whole numbers of at least 0, but one is {bad:g}.")
        for arm in (0, 1):
            if counts[4 * arm : 4 * arm + 4].sum() == 0:
                raise InputError(f"the table of counts has nobody with z = {arm}, so there is nothing to compare.")
        cell = np.flatnonzero(counts)
        report = DataReport(n=int(counts.sum()), n_rows=len(cell), n_dropped=0)
        return cls(
            x=np.empty((len(cell), 0)),
            z=(cell // 4).astype(np.float64),
            t=(cell // 2 % 2).astype(np.float64),
            y=(cell % 2).astype(np.float64),
            w=counts[cell],
            covariates=(),
            outcome_range=(0.0, 1.0),
            binary=True,
            report=report,
        )


def _refuse_shared_columns(roles: dict[str, str]) -> None:
    seen: dict[str, str] = {}
    for role, name in roles.items():
        if not isinstance(name, str):
            raise InputError(f"the {role} must be the name of a column, but is {name!r}.")
        if name in seen:
            raise InputError(f"column '{name}' is given twice: as {seen[name]} and as {role}.")
        seen[name] = role


def _read_frame(df: Any, roles: dict[str, str]) -> dict[str, Column]:
    if isinstance(df, Mapping):
        names = [str(name) for name in df]
        _check_names(names, roles)
        columns = {name: column_from_array(name, df[name]) for name in roles.values()}
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError("columns differ in length: " + ", ".join(f"{k} has {v}" for k, v in lengths.items()) + ".")
        return columns
    import narwhals as nw

    native_names = getattr(df, "column_names", None) or getattr(df, "columns", None)
    if native_names is not None and not callable(native_names):
        _refuse_duplicate_names([str(name) for name in native_names], roles)
    try:
        frame = nw.from_native(df)
    except Exception as error:
        raise InputError(f"the data is a {type(df).__name__}, which is not a table that can be read.") from error
    if isinstance(frame, nw.LazyFrame):
        _check_names(frame.collect_schema().names(), roles)
        frame = frame.select(*roles.values()).collect(backend="polars")
    if not isinstance(frame, nw.DataFrame):
        raise InputError(f"the data is a {type(df).__name__}, which is not a table that can be read.")
    _check_names(frame.columns, roles)
    return {name: column_from_array(name, frame[name]) for name in roles.values()}


def _refuse_duplicate_names(names: Iterable[str], roles: dict[str, str]) -> None:
    wanted = set(roles.values())
    seen: set[str] = set()
    for name in names:
        if name in seen and name in wanted:
            raise InputError(f"the table has more than one column named '{name}'.")
        seen.add(name)


def _check_names(names: list[str], roles: dict[str, str]) -> None:
    for role, name in roles.items():
        if name in names:
            continue
        folded = {str(other).lower(): str(other) for other in names}
        near = difflib.get_close_matches(name.lower(), list(folded), n=1, cutoff=0.5)
        hint = f"the nearest name is '{folded[near[0]]}'" if near else f"the columns are {show_values(list(names), 8)}"
        raise InputError(f"there is no column '{name}' for the {role}; {hint}.")


def _build(
    *,
    z: Column,
    t: Column,
    y: Column,
    x: list[Column],
    w: Column | None,
    outcome_range: tuple[float, float] | None,
    missing: str,
    ones: dict[str, Any],
) -> IVData:
    """Validate the weights, drop rows, encode: the one path by which every kind of input becomes an IVData."""
    if missing not in MISSING_POLICIES:
        raise InputError(f"missing must be one of {', '.join(MISSING_POLICIES)}, but is {missing!r}.")
    if not len(z):
        raise InputError("the table has no rows.")
    notes: list[str] = []
    weights = np.ones(len(z)) if w is None else _checked_weights(w)
    keep = _rows_to_keep(z, t, y, x, weights, missing, notes)
    z, t, y, weights = z.take(keep), t.take(keep), y.take(keep), weights[keep]
    codings: dict[str, dict[str, Any]] = {}
    z_coded, codings["instrument"] = encode_binary(z, "instrument", ones.get(z.name))
    t_coded, codings["treatment"] = encode_binary(t, "treatment", ones.get(t.name))
    y_coded, y_range, binary, coding = _encode_outcome(y, outcome_range, ones.get(y.name))
    if coding is not None:
        codings["outcome"] = coding
    notes += [
        f"{role} '{c['column']}': {c['one']!r} is 1, {c['zero']!r} is 0"
        for role, c in codings.items()
        if (c["zero"], c["one"]) != (0, 1)
    ]
    encoded = [pair for column in x for pair in encode_covariate(column.take(keep), weights, notes)]
    matrix = np.column_stack([values for _, values in encoded]) if encoded else np.empty((len(weights), 0))
    report = DataReport(int(weights.sum()), len(weights), int(len(keep) - keep.sum()), codings, notes)
    names = tuple(name for name, _ in encoded)
    return IVData(matrix, z_coded, t_coded, y_coded, weights, names, y_range, binary, report)


def _checked_weights(column: Column) -> np.ndarray:
    name, values = column.name, column.values
    if column.kind == "text":
        raise InputError(
            f"weights '{name}' must be whole numbers, but holds text such as {show_values(column.levels(), 2)}."
        )
    if column.missing.any():
        raise InputError(f"weights '{name}' has {int(column.missing.sum())} missing values.")
    if (values < 0).any():
        raise InputError(f"weights '{name}' must not be negative, but one is {values.min():g}.")
    fractional = values[values != np.round(values)]
    if len(fractional):
        raise InputError(
            f"weights '{name}' must be whole numbers (how many people a row stands for), but one is {fractional[0]:g}; "
            "sampling weights are not supported."
        )
    if values.sum() == 0:
        raise InputError(f"weights '{name}' sum to zero.")
    if values.sum() > 2**53:
        raise InputError(f"weights '{name}' sum to {values.sum():.3g}, more people than can be counted exactly.")
    return values.astype(np.float64)


def _rows_to_keep(
    z: Column, t: Column, y: Column, x: list[Column], weights: np.ndarray, missing: str, notes: list[str]
) -> np.ndarray:
    keep = weights > 0
    if not keep.all():
        notes.append(f"{int((~keep).sum())} rows of weight zero dropped")
    decisive = [(c, role) for c, role in ((z, "instrument"), (t, "treatment"), (y, "outcome"))]
    if missing == "drop":
        decisive += [(c, "covariate") for c in x]
    for column, role in decisive:
        gone = int((keep & column.missing).sum())
        if gone:
            notes.append(f"{gone} rows dropped: {role} '{column.name}' is missing")
        if gone and not (keep & ~column.missing).any():
            raise InputError(
                f"no row is left: {role} '{column.name}' is missing in all {gone} rows"
                + (" that were left." if gone < len(keep) else ".")
            )
        keep = keep & ~column.missing
    if missing == "raise":
        for column in x:
            gone = int((keep & column.missing).sum())
            if gone:
                raise InputError(f"covariate '{column.name}' is missing in {gone} rows, and missing='raise' was asked.")
    return keep


def _encode_outcome(
    column: Column, outcome_range: tuple[float, float] | None, one: Any
) -> tuple[np.ndarray, tuple[float, float], bool, dict[str, Any] | None]:
    """Two values become a binary outcome, unless the user gave another range: then they are amounts like any other."""
    if one is None:
        column = numbers_from_text(column)
    levels = column.levels()
    if outcome_range is None:
        if len(levels) <= 2 and (len(levels) == 2 or one is not None or column.kind == "text" or levels[0] in (0, 1)):
            coded, coding = encode_binary(column, "outcome", one)
            return coded, (0.0, 1.0), True, coding
        if column.kind == "text":
            raise InputError(
                f"outcome '{column.name}' must be numbers or two values, but has {len(levels)}: {show_values(levels)}."
            )
        if len(levels) == 1:
            raise InputError(f"outcome '{column.name}' is always {levels[0]}, so its possible range must be given.")
        return column.values, (float(levels[0]), float(levels[-1])), False, None
    low, high = _checked_range(outcome_range)
    if column.kind == "text":
        raise InputError(f"outcome '{column.name}' is text ({show_values(levels, 3)}), so it cannot have a range.")
    outside = column.values[(column.values < low) | (column.values > high)]
    if len(outside):
        raise InputError(
            f"outcome '{column.name}' must lie between {tidy_number(low)} and {tidy_number(high)}, "
            f"but {len(outside)} values do not, such as {tidy_number(outside[0])}."
        )
    if (low, high) == (0.0, 1.0) and set(levels) <= {0, 1}:
        coded, coding = encode_binary(column, "outcome", one)
        return coded, (low, high), True, coding
    return column.values, (low, high), False, None


def _checked_range(outcome_range: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(v) for v in outcome_range)
    except (TypeError, ValueError):
        raise InputError(f"outcome_range must be two numbers, but is {outcome_range!r}.") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InputError(f"outcome_range must be a smaller and a larger finite number, but is ({low:g}, {high:g}).")
    return low, high
