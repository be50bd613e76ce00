"""`IVData`: columns, arrays or counts in; validated, encoded numbers out, with a report of everything that was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np

from ivicl.data.checks import checked_weights, rows_to_keep
from ivicl.data.compression import ReadTable
from ivicl.data.design import Design
from ivicl.data.encoding import Coding, Column, column_from_array, encode_binary, encode_covariate
from ivicl.data.outcome import read_outcome
from ivicl.data.reading import read_frame
from ivicl.data.roles import MISSING_POLICIES, RoleArguments, Roles
from ivicl.data.rules import note, refusal
from ivicl.errors import InputError
from ivicl.identification.laws import count_cells


@dataclass(frozen=True)
class DataReport:
    """What was done to the user's table on its way in."""

    n: int
    """People used: the sum of the frequency weights of the rows kept."""
    n_rows: int
    """Rows used."""
    n_dropped: int
    """Rows left out (missing values, zero weight)."""
    codings: dict[str, Coding] = field(default_factory=dict)
    """Role -> column, and which of its values became 0 and 1."""
    notes: list[str] = field(default_factory=list)
    """Sentences on what was dropped, filled, joined or recoded."""
    sampled_from: int | None = None
    """Rows of the whole table, where an engine held too many different ones and a sample of them was read."""


@dataclass(frozen=True)
class IVData:
    """An instrumental-variable data set: instrument z, treatment t, outcome y, covariates x, frequency weights w.

    Examples:
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
    design: Design | None = None
    """Clusters, strata and sampling weights; None for people who were drawn and assigned independently."""

    @property
    def n(self) -> int:
        """People, not rows: the sum of the weights."""
        return round(float(self.w.sum()))

    @property
    def mass(self) -> np.ndarray:
        """(N,) how much of the population each row stands for; it sums to the people, whatever the sampling weights."""
        if self.design is None or self.design.sampling is None:
            return self.w
        total = self.w * self.design.sampling
        mass: np.ndarray = total * (self.w.sum() / total.sum())
        return mass

    def take(self, rows: np.ndarray, w: np.ndarray | None = None) -> IVData:
        """Some of the rows, with weights of their own if given."""
        return replace(
            self,
            x=self.x[rows],
            z=self.z[rows],
            t=self.t[rows],
            y=self.y[rows],
            w=self.w[rows] if w is None else w,
            design=None if self.design is None else self.design.take(rows),
        )

    def population(self) -> IVData:
        """The population that the people stand for, as if its people were the data: weights need not be whole."""
        return replace(self, w=self.mass, design=None)

    @property
    def y01(self) -> np.ndarray:
        """The outcome scaled to [0, 1] by its range."""
        low, high = self.outcome_range
        return (self.y - low) / (high - low)

    def counts(self) -> np.ndarray:
        """The (2, 2, 2) table of people by `[z][t][y]`; for a binary outcome only."""
        if not self.binary:
            raise InputError("a table of counts needs a binary outcome; use threshold(c) to make one.")
        return count_cells(self.z, self.t, self.y, self.w)

    def threshold(self, c: float) -> IVData:
        """The same people with the binary outcome 1{y >= c}."""
        return replace(self, y=(self.y >= c).astype(np.float64), outcome_range=(0.0, 1.0), binary=True)

    def merged(self) -> IVData:
        """The same people with equal rows merged into weights and sorted: exact, and often far smaller.

        Sorted, so that whatever follows (rounding of sums, a seeded sample) does not depend on the order of the rows,
        nor on the engine that merged them.
        """
        import polars as pl

        keys = {f"x{j}": self.x[:, j] for j in range(self.x.shape[1])} | {"z": self.z, "t": self.t, "y": self.y}
        keys |= {} if self.design is None else self.design.columns
        frame = pl.DataFrame(keys | {"w": self.w}).with_row_index("row")
        frame = frame.group_by(list(keys)).agg(pl.col("row").min(), pl.col("w").sum()).sort(list(keys))
        return self.take(frame["row"].to_numpy(), frame["w"].to_numpy())

    @classmethod
    def from_frame(cls, df: Any, **roles: Unpack[RoleArguments]) -> IVData:
        """Read the roles from any frame that narwhals knows (pandas, polars, pyarrow, a duckdb relation), or a dict.

        The keywords are those of `IVBounds.fit`: outcome, treatment, instrument, covariates, weights, outcome_range,
        missing, ones.
        """
        return cls.from_roles(df, Roles(**roles))

    @classmethod
    def from_roles(cls, df: Any, roles: Roles, seed: int = 0) -> IVData:
        """The same, with the keywords as one object.

        A lazy frame, or one that lies in an engine, is merged there; `seed` is that of the sample which is drawn there
        if too many of its rows differ.
        """
        return cls.from_columns(read_frame(df, roles.columns, roles.weights, seed), roles)

    @classmethod
    def from_columns(cls, read: ReadTable, roles: Roles) -> IVData:
        """The same, from columns that have been read."""
        columns = read.columns
        return _build(
            rows=read.rows,
            sampled_from=read.sampled_from,
            z=columns[roles.instrument],
            t=columns[roles.treatment],
            y=columns[roles.outcome],
            x=[columns[name] for name in roles.covariates or ()],
            w=columns[roles.weights] if roles.weights is not None else None,
            outcome_range=roles.outcome_range,
            missing=roles.missing,
            ones=dict(roles.ones or {}),
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
        """Read a table of people by `[z][t][y]`, nested or as eight numbers in that order."""
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
    rows: np.ndarray | None = None,
    sampled_from: int | None = None,
) -> IVData:
    """Validate the weights, drop rows, encode: the one path by which every kind of input becomes an IVData."""
    if missing not in MISSING_POLICIES:
        raise InputError(f"missing must be one of {', '.join(MISSING_POLICIES)}, but is {missing!r}.")
    if not len(z):
        raise refusal("no_rows")
    notes: list[str] = []
    rows = np.ones(len(z)) if rows is None else rows
    weights = rows if w is None else checked_weights(w)
    keep = rows_to_keep(z, t, y, x, weights, missing, notes, rows)
    dropped, rows = int(rows[~keep].sum()), rows[keep]
    z, t, y, weights = z.take(keep), t.take(keep), y.take(keep), weights[keep]
    codings: dict[str, Coding] = {}
    z_coded, codings["instrument"] = encode_binary(z, "instrument", ones.get(z.name))
    t_coded, codings["treatment"] = encode_binary(t, "treatment", ones.get(t.name))
    outcome = read_outcome(y, outcome_range, ones.get(y.name))
    codings["outcome"] = outcome.coding
    notes += [
        note("coded", role=role, column=c.column, one=repr(c.one), zero=repr(c.zero))
        for role, c in codings.items()
        if c.one is not None and (c.zero, c.one) != (0, 1)
    ]
    encoded = [pair for column in x for pair in encode_covariate(column.take(keep), weights, notes, rows)]
    matrix = np.column_stack([values for _, values in encoded]) if encoded else np.empty((len(weights), 0))
    if sampled_from is not None:
        notes.append(
            f"a random sample of {int(rows.sum()) + dropped:,} of the table's {sampled_from:,} rows was read, because "
            "too many of them differ to be merged"
        )
    report = DataReport(int(weights.sum()), int(rows.sum()), dropped, codings, notes, sampled_from)
    names = tuple(name for name, _ in encoded)
    return IVData(matrix, z_coded, t_coded, outcome.values, weights, names, outcome.range, outcome.binary, report)
