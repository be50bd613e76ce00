"""`IVData`: columns, arrays or counts in; validated, encoded numbers out, with a report of everything that was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np

from ivicl.data.cap import capped
from ivicl.data.checks import checked_counts, checked_weights, rows_to_keep
from ivicl.data.compression import ReadTable
from ivicl.data.design import Design, assignment_differs, checked_sampling, read_design, strata_as_covariate
from ivicl.data.encoding import (
    Coding,
    Column,
    column_from_array,
    encode_binary,
    encode_covariate,
    show_values,
    tidy_number,
)
from ivicl.data.lost import NOBODY, LostPeople, count_lost, lost_rows, share_out
from ivicl.data.merging import merge_equal
from ivicl.data.oddities import Oddity, copies, is_clear, oddities
from ivicl.data.outcome import read_outcome
from ivicl.data.reading import read_frame
from ivicl.data.roles import MISSING_POLICIES, RoleArguments, Roles, check_missing_outcome
from ivicl.data.rules import note, refusal
from ivicl.errors import InputError
from ivicl.identification.laws import count_arms, count_cells


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
    variables: tuple[str, ...] = ()
    """Covariates by the caller's names; text becomes several columns of x."""
    lost: LostPeople = NOBODY
    """People by [z][t] whose outcome is missing and nothing else, whether they were dropped or kept."""
    references: dict[str, str] = field(default_factory=dict)
    """Covariate of text -> its first level, which has no column of its own."""
    oddities: list[Oddity] = field(default_factory=list)
    """What looks wrong in the columns although they can be read."""
    cap: float | None = None
    """Where an amount was cut off, if the user asked for it."""


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
    lost: IVData | None = None
    """The people whose outcome is missing, where it may have been anything (`missing_outcome="bounds"`); their `y`
    means nothing. They are not among the rows above."""

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

    def without_covariates(self) -> IVData:
        """The same people, the lost among them, as if nothing else were known of them."""
        lost = None if self.lost is None else self.lost.without_covariates()
        return replace(self, x=np.empty((len(self.w), 0)), covariates=(), lost=lost)

    def population(self) -> IVData:
        """The population that the people stand for, as if its people were the data: weights need not be whole."""
        if self.lost is None:
            return replace(self, w=self.mass, design=None)
        mass, seen = self.filled().mass, len(self.w)
        return replace(self, w=mass[:seen], design=None, lost=replace(self.lost, w=mass[seen:], design=None))

    def filled(self, up: bool = False, ones: np.ndarray | None = None) -> IVData:
        """Everybody, the lost with the outcome that pulls the effect down (low if treated, high if not), or up.

        With `ones` (2, 2), that share of the lost of each [z][t] has the highest outcome, and the others the lowest.
        """
        if self.lost is None:
            return self
        low, high = self.outcome_range
        parts: tuple[IVData, ...] = (self, replace(self.lost, y=np.where(self.lost.t == up, high, low)))
        if ones is not None:
            people = share_out(self.lost.z, self.lost.t, self.lost.x, self.lost.w, ones)
            split = [(people, high), (self.lost.w - people, low)]
            lost = [replace(self.lost.take(w > 0, w[w > 0]), y=np.full(int((w > 0).sum()), y)) for w, y in split]
            parts = (self, *lost)
        x, z, t, y, w = (np.concatenate([getattr(part, name) for part in parts]) for name in ("x", "z", "t", "y", "w"))
        designs = [part.design for part in parts if part.design is not None]
        design = Design.joined(designs) if designs else None
        return replace(self, x=x, z=z, t=t, y=y, w=w, design=design, lost=None)

    def lost_counts(self) -> np.ndarray:
        """(2, 2) people by [z][t] whose outcome may have been anything; zeros where there are none."""
        return np.zeros((2, 2)) if self.lost is None else count_arms(self.lost.z, self.lost.t, self.lost.w)

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

    def cells(self) -> np.ndarray:
        """The (2, 2, 3) table of people by `[z][t][0, 1, lost]`, the lost if they are free; for a binary outcome."""
        return np.concatenate([self.counts(), self.lost_counts()[..., None]], axis=-1)

    def threshold(self, c: float) -> IVData:
        """The same people with the binary outcome 1{y >= c}."""
        return replace(self, y=(self.y >= c).astype(np.float64), outcome_range=(0.0, 1.0), binary=True)

    def merged(self) -> IVData:
        """The same people with equal rows merged into weights and sorted: exact, and often far smaller.

        Sorted, so that whatever follows (rounding of sums, a seeded sample) does not depend on the order of the rows,
        nor on the engine that merged them.
        """
        keys = {f"x{j}": self.x[:, j] for j in range(self.x.shape[1])} | {"z": self.z, "t": self.t, "y": self.y}
        return self.take(*merge_equal(keys | ({} if self.design is None else self.design.columns), self.w))

    @classmethod
    def from_frame(cls, df: Any, **roles: Unpack[RoleArguments]) -> IVData:
        """Read the roles from any frame that narwhals knows (pandas, polars, pyarrow, a duckdb relation), or a dict.

        The keywords are those of `IVBounds.fit`: outcome, treatment, instrument, covariates, weights, cluster, strata,
        sampling_weights, outcome_range, missing, missing_outcome, ones, cap.
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
            missing_outcome=roles.missing_outcome,
            ones=dict(roles.ones or {}),
            settled=roles.settled,
            cap=roles.cap,
            cluster=columns[roles.cluster] if roles.cluster is not None else None,
            strata=columns[roles.strata] if roles.strata is not None else None,
            sampling=columns[roles.sampling_weights] if roles.sampling_weights is not None else None,
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
        missing_outcome: str = "drop",
        cluster: Any = None,
        strata: Any = None,
        sampling_weights: Any = None,
    ) -> IVData:
        """Read arrays: z, t, y of length N, covariates x of shape (N, D) or (N,), frequency weights w of length N.

        So are cluster, strata and sampling_weights, which are those of `IVBounds.fit`.
        """
        columns = {name: column_from_array(name, value) for name, value in (("z", z), ("t", t), ("y", y))}
        given = {"w": w, "cluster": cluster, "strata": strata, "sampling_weights": sampling_weights}
        columns |= {name: column_from_array(name, value) for name, value in given.items() if value is not None}
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
            missing_outcome=missing_outcome,
            ones={},
            cluster=columns.get("cluster"),
            strata=columns.get("strata"),
            sampling=columns.get("sampling_weights"),
        )

    @classmethod
    def from_counts(cls, table: Any, missing_outcome: str = "drop") -> IVData:
        """Read a table of people by `[z][t][y]`, nested or as eight numbers in that order.

        Lost outcomes are a third value of y: `[z][t][0, 1, lost]`, or twelve numbers.
        """
        check_missing_outcome(missing_outcome)
        cells = checked_counts(table)
        seen, lost = cells[..., :2].reshape(-1), cells[..., 2].reshape(-1)
        cell, free = np.flatnonzero(seen), np.flatnonzero(lost) if missing_outcome == "bounds" else np.empty(0, int)
        (n00, n01), (n10, n11) = cells[..., 2].astype(int).tolist()
        report = DataReport(
            n=int(seen.sum() + lost[free].sum()),
            n_rows=len(cell) + len(free),
            n_dropped=0,
            lost=((n00, n01), (n10, n11)),
        )
        data = cls(
            x=np.empty((len(cell), 0)),
            z=(cell // 4).astype(np.float64),
            t=(cell // 2 % 2).astype(np.float64),
            y=(cell % 2).astype(np.float64),
            w=seen[cell],
            covariates=(),
            outcome_range=(0.0, 1.0),
            binary=True,
            report=report,
        )
        if not len(free):
            return data
        z, t = (free // 2).astype(np.float64), (free % 2).astype(np.float64)
        lost_people = replace(data, x=np.empty((len(free), 0)), z=z, t=t, y=np.zeros(len(free)), w=lost[free])
        return replace(data, lost=lost_people)


def _build(
    *,
    z: Column,
    t: Column,
    y: Column,
    x: list[Column],
    w: Column | None,
    outcome_range: tuple[float, float] | None,
    missing: str,
    missing_outcome: str,
    ones: dict[str, Any],
    settled: tuple[str, ...] = (),
    cap: float | str | None = None,
    rows: np.ndarray | None = None,
    sampled_from: int | None = None,
    cluster: Column | None = None,
    strata: Column | None = None,
    sampling: Column | None = None,
) -> IVData:
    """Validate the weights, drop rows, encode: the one path by which every kind of input becomes an IVData."""
    if missing not in MISSING_POLICIES:
        raise InputError(f"missing must be one of {', '.join(MISSING_POLICIES)}, but is {missing!r}.")
    if not len(z):
        raise refusal("no_rows")
    notes: list[str] = []
    check_missing_outcome(missing_outcome)
    free = missing_outcome == "bounds"
    rows = np.ones(len(z)) if rows is None else rows
    weights = rows if w is None else checked_weights(w)
    if sampling is not None:
        weights = np.where(checked_sampling(sampling) > 0, weights, 0.0)  # who stands for nobody is not there
    everybody = z, t, weights, lost_rows(z, t, y, x, weights, missing)
    keep = rows_to_keep(z, t, None if free else y, x, weights, missing, notes, rows)
    dropped, rows = int(rows[~keep].sum()), rows[keep]
    z, t, y, weights = z.take(keep), t.take(keep), y.take(keep), weights[keep]
    seen = ~y.missing
    if not seen.any():
        raise refusal("none_left", role="outcome", column=y.name, count=len(seen), rest=" that were left")
    codings: dict[str, Coding] = {}
    z_coded, codings["instrument"] = encode_binary(z, "instrument", ones.get(z.name))
    t_coded, codings["treatment"] = encode_binary(t, "treatment", ones.get(t.name))
    limit = None
    if cap is not None:
        cut = capped(y, weights, outcome_range, cap)
        y, outcome_range, limit = cut.column, cut.range, cut.cap
        notes.append(note("capped", column=y.name, cap=tidy_number(limit), count=int(weights[cut.above].sum())))
    outcome = read_outcome(y.take(seen), outcome_range, ones.get(y.name))
    codings["outcome"] = outcome.coding
    named = set(ones) - set(settled)
    codings = {
        role: replace(c, guessed=column.name not in named and not column.order and not is_clear(c.zero, c.one))
        for column, (role, c) in zip((z, t, y), codings.items(), strict=True)
    }
    notes += [
        note("coded", role=role, column=c.column, one=repr(c.one), zero=repr(c.zero))
        for role, c in codings.items()
        if c.one is not None and (c.zero, c.one) != (0, 1)
    ]
    x = [column.take(keep) for column in x]
    drawn = [None if column is None else column.take(keep) for column in (cluster, strata, sampling)]
    design = read_design(drawn[0], drawn[1], drawn[2], notes)
    block = drawn[1]
    if design is not None and design.strata is not None and block is not None and block.name not in [c.name for c in x]:
        differs = assignment_differs(z_coded, design.strata, design.cluster, weights)
        x = [*x, strata_as_covariate(block)] if differs else x
        notes += [f"strata '{block.name}': the share with Z = 1 differs, so that they are covariates"] * differs
    references: dict[str, str] = {}
    encoded = [pair for column in x for pair in encode_covariate(column, weights, notes, rows, references)]
    odd = oddities(y.take(seen), x, codings, outcome.binary)
    if w is None and (rows == 1).all():
        odd += copies(x, (z, t, y))
    matrix = np.column_stack([values for _, values in encoded]) if encoded else np.empty((len(weights), 0))
    if sampled_from is not None:
        notes.append(
            f"a random sample of {int(rows.sum()) + dropped:,} of the table's {sampled_from:,} rows was read, because "
            "too many of them differ to be merged"
        )
    z_read, t_read, all_weights, lost = everybody
    people = count_lost(z_read, t_read, codings, all_weights, lost)
    if free and not seen.all():
        notes.append(note("kept_lost", count=int(rows[~seen].sum()), column=y.name))
    report = DataReport(
        n=int(weights.sum()),
        n_rows=int(rows.sum()),
        n_dropped=dropped,
        codings=codings,
        notes=notes,
        sampled_from=sampled_from,
        variables=tuple(column.name for column in x),
        lost=people,
        references=references,
        oddities=odd,
        cap=limit,
    )
    names = tuple(name for name, _ in encoded)
    values = np.full(len(seen), outcome.range[0])
    values[seen] = outcome.values
    data = IVData(matrix, z_coded, t_coded, values, weights, names, outcome.range, outcome.binary, report, design)
    if seen.all():
        return data
    if len(np.unique(z_coded[seen])) < 2:
        coding = codings["instrument"]
        gone = coding.zero if z_coded[seen].any() else coding.one
        raise refusal("arm_lost", outcome=y.name, column=z.name, value=show_values([gone]))
    return replace(data.take(seen), lost=data.take(~seen))
