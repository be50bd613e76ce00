"""`IVData`: columns, arrays or counts go in; validated, encoded numbers come out, with a report of what was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from ivicl.data.compression import ReadTable
from ivicl.data.design import Design
from ivicl.data.lost import share_out
from ivicl.data.merging import merge_equal, merge_moments, whole
from ivicl.data.reading import read_frame
from ivicl.data.report import DataReport
from ivicl.data.roles import RoleArguments, Roles
from ivicl.errors import InputError
from ivicl.identification.laws import count_arms, count_cells


@dataclass(frozen=True)
class IVData:
    """An instrumental-variable data set: instrument z, treatment t, outcome y, covariates x, frequency weights w.

    Examples:
        >>> data = IVData.from_counts([[[158, 14], [0, 0]], [[52, 12], [23, 78]]])
        >>> data.n, len(data.z), data.counts()[1].tolist()
        (337, 6, [[52.0, 12.0], [23.0, 78.0]])
        >>> people = {"arm": [0, 0, 1, 1], "took": [0, 0, 0, 1], "days": [2, 9, 4, 4], "age": [30, 40, 50, 50]}
        >>> roles = {"outcome": "days", "treatment": "took", "instrument": "arm", "covariates": ["age"]}
        >>> data = IVData.from_frame(people, **roles)
        >>> data.outcome_range, data.y01.tolist() == [0, 1, 2 / 7, 2 / 7]
        ((2.0, 9.0), True)
        >>> data.threshold(4).y.tolist(), data.take(np.array([0, 3])).t.tolist(), data.without_covariates().covariates
        ([0.0, 1.0, 1.0, 1.0], [0.0, 1.0], ())
        >>> twice = IVData.from_arrays(z=[0, 1, 1], t=[0, 1, 1], y=[1, 0, 0])
        >>> twice.merged().w.tolist()
        [1.0, 2.0]
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
    """With `missing_outcome="bounds"`, the people whose outcome is missing and may have been anything; their `y` means
    nothing. They are not among the rows above."""
    v: np.ndarray | None = None
    """(N,) variance of `y01` among the people of each row, if rows stand for people with different outcomes and `y` is
    their mean (`by_moments`); None if everybody in a row has the row's outcome."""

    @property
    def n(self) -> int:
        """People, not rows: the sum of the weights."""
        return round(float(self.w.sum()))

    @property
    def mass(self) -> np.ndarray:
        """(N,) how much of the population each row stands for, scaled so that the sum is the number of people."""
        if self.design is None or self.design.sampling is None:
            return self.w
        total = self.w * self.design.sampling
        mass: np.ndarray = total * (self.w.sum() / total.sum())
        return mass

    def take(self, rows: np.ndarray, w: np.ndarray | None = None) -> IVData:
        """Some of the rows, with other weights if `w` is given."""
        chosen = whole(rows, len(self.w))
        return replace(
            self,
            x=self.x[chosen],
            z=self.z[chosen],
            t=self.t[chosen],
            y=self.y[chosen],
            w=self.w[chosen] if w is None else w,
            design=None if self.design is None else self.design.take(rows),
            v=None if self.v is None else self.v[chosen],
        )

    def without_covariates(self) -> IVData:
        """The same people, including the lost, with all covariates left out."""
        lost = None if self.lost is None else self.lost.without_covariates()
        return replace(self, x=np.empty((len(self.w), 0)), covariates=(), lost=lost)

    def population(self) -> IVData:
        """The population that the people stand for, as if it were the data: its weights need not be whole numbers."""
        if self.lost is None:
            return replace(self, w=self.mass, design=None)
        mass, seen = self.filled().mass, len(self.w)
        return replace(self, w=mass[:seen], design=None, lost=replace(self.lost, w=mass[seen:], design=None))

    def filled(self, up: bool = False, ones: np.ndarray | None = None) -> IVData:
        """Everybody; the lost get the outcome that pulls the effect down (low if treated, high if not), or `up`.

        With `ones` (2, 2), that share of the lost in each [z][t] gets the highest outcome, and the others the lowest.
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
        v = None if self.v is None else np.concatenate([self.v, np.zeros(len(w) - len(self.v))])
        return replace(self, x=x, z=z, t=t, y=y, w=w, design=design, lost=None, v=v)

    def lost_counts(self) -> np.ndarray:
        """(2, 2) people by [z][t] whose outcome may have been anything; zeros if there are none."""
        return np.zeros((2, 2)) if self.lost is None else count_arms(self.lost.z, self.lost.t, self.lost.w)

    @property
    def y01(self) -> np.ndarray:
        """The outcome scaled to [0, 1] by its range."""
        low, high = self.outcome_range
        return (self.y - low) / (high - low)

    def of_each_person(self, what: str) -> IVData:
        """The same data, or an InputError if only means are known, because `what` needs the outcome of each person.

        Examples:
            >>> data = IVData.from_arrays(z=[0, 1, 1], t=[0, 1, 1], y=[1, 2, 4])
            >>> data.of_each_person("a median") is data
            True
        """
        if self.v is not None:
            raise InputError(
                f"{what} needs the outcome of each person, but the outcomes were merged into means and variances where "
                "the table lies, because too many of its rows differ; use what needs means alone (method 'ivicl' with "
                "combine='means', 'manski', 'no-defiers', 'late'), or round the outcome."
            )
        return self

    def counts(self) -> np.ndarray:
        """The (2, 2, 2) table of people by `[z][t][y]`; for a binary outcome only."""
        if not self.binary:
            raise InputError("a table of counts needs a binary outcome; use threshold(c) to make one.")
        return count_cells(self.z, self.t, self.y, self.w)

    def cells(self) -> np.ndarray:
        """The (2, 2, 3) table of people by `[z][t][0, 1, lost]`, for a binary outcome, without those dropped."""
        return np.concatenate([self.counts(), self.lost_counts()[..., None]], axis=-1)

    def threshold(self, c: float) -> IVData:
        """The same people with the binary outcome 1{y >= c}."""
        self.of_each_person("a threshold")
        return replace(self, y=(self.y >= c).astype(np.float64), outcome_range=(0.0, 1.0), binary=True)

    def merged(self) -> IVData:
        """The same people, with equal rows merged into weights and sorted: exact, and often far smaller.

        The rows are sorted so that whatever follows (rounding of sums, a seeded sample) depends neither on their order
        nor on the engine that merged them.
        """
        if self.v is not None:
            return self.by_moments()
        return self.take(*merge_equal(self._keys | {"y": self.y}, self.w))

    def by_moments(self) -> IVData:
        """The same people, with those who differ only in an amount as one row, which keeps its mean and its variance.

        Whatever is computed from means and variances is the same up to rounding; a binary outcome stays as it is.

        Examples:
            >>> IVData.from_arrays(z=[0, 1, 1], t=[0, 1, 1], y=[1, 2, 4]).by_moments().y.tolist()
            [1.0, 3.0]
        """
        if self.binary:
            return self.merged()
        low, high = self.outcome_range
        first, people, mean, v = merge_moments(self._keys, self.y01, self.w, self.v)
        return replace(self.take(first, people), y=low + (high - low) * mean, v=v)

    @property
    def _keys(self) -> dict[str, np.ndarray]:
        """What people must have in common to be merged into one row, outcomes aside."""
        keys = {f"x{j}": self.x[:, j] for j in range(self.x.shape[1])} | {"z": self.z, "t": self.t}
        return keys | ({} if self.design is None else self.design.columns)

    @classmethod
    def from_frame(cls, df: Any, **roles: Unpack[RoleArguments]) -> IVData:
        """Read the roles from any frame that narwhals knows (pandas, polars, pyarrow, a duckdb relation), or a dict.

        The keywords are those of `IVBounds.fit`: outcome, treatment, instrument, covariates, weights, cluster, strata,
        sampling_weights, outcome_range, missing, missing_outcome, ones, cap, bins.
        """
        return cls.from_roles(df, Roles.named("from_frame", roles))

    @classmethod
    def from_roles(cls, df: Any, roles: Roles, seed: int = 0) -> IVData:
        """Like `from_frame`, with the keywords as one object.

        A lazy frame, or one that an engine holds, is merged there; `seed` is for the sample that is drawn there if too
        many of its rows differ.
        """
        return cls.from_columns(read_frame(df, roles.columns, roles.weights, seed, asked=roles), roles)

    @classmethod
    def from_columns(cls, read: ReadTable, roles: Roles) -> IVData:
        """Like `from_roles`, from columns that have already been read."""
        from ivicl.data.building import build

        columns = read.columns
        return build(
            rows=read.rows,
            sampled_from=read.sampled_from,
            within=read.within,
            binned=() if roles.bins is None else read.binned,
            bins=roles.bins,
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

        cluster, strata and sampling_weights are arrays of length N too, and mean the same as in `IVBounds.fit`.
        """
        from ivicl.data.sources import from_arrays

        return from_arrays(
            z, t, y, x, w, outcome_range, covariates, missing, missing_outcome, cluster, strata, sampling_weights
        )

    @classmethod
    def from_counts(cls, table: Any, missing_outcome: str = "drop") -> IVData:
        """Read a table of people by `[z][t][y]`, nested or as eight numbers in that order.

        Lost outcomes are a third value of y: `[z][t][0, 1, lost]`, or twelve numbers.
        """
        from ivicl.data.sources import from_counts

        return from_counts(table, missing_outcome)
