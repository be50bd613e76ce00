"""Many studies that stay in their engine: what is decided in advance, and what each worker does with its merged rows.

The engine merges equal rows and brings the rows of a study together; a worker reads them like a table in memory, and
fits whole studies, many per pass. A study that cannot be fitted is a row with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ivicl.data import Roles
from ivicl.data.asking import collected
from ivicl.data.binning import Bins, cuts_of, decoded
from ivicl.data.columns import Column, column_from_array, numbers_from_text
from ivicl.data.compression import entries, grouped, weight_facts
from ivicl.data.labels import role_of
from ivicl.data.moments import Amount, amount_of
from ivicl.data.reading import check_names
from ivicl.errors import InputError, MissingDependencyError, ModelFileError
from ivicl.methods.registry import resolve
from ivicl.results.rows import frame_of
from ivicl.scale.many import (
    STUDIES_PER_CHUNK,
    Studies,
    error_row,
    fit_studies,
    groups_of,
    settle,
    shared_cluster,
    study_columns,
)

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    from ivicl.estimator import IVBounds

MOST_WITNESSES = 1_000
"""How many different values of a column are looked at to find its coding."""
ROWS_WORTH_A_FIT = 200_000
"""A worker that holds this many merged rows of complete studies fits them."""


@dataclass(frozen=True)
class MergedStudies:
    """What a worker needs to know."""

    estimator: IVBounds
    by: tuple[str, ...]
    asked: Roles
    """The roles as the caller gave them."""
    roles: Roles
    """The same with codings and range settled for all studies together."""
    amount: Amount | None = None
    """The outcome, if only its moments leave the engine."""
    bins: dict[str, Bins] = field(default_factory=dict)
    """Where covariates are cut, by their columns in merged rows."""

    @staticmethod
    def of(frame: nw.LazyFrame[Any], estimator: IVBounds, by: str | Sequence[str], roles: Roles) -> MergedStudies:
        """Check the call, and find the codings that it does not name.

        This takes a small query to the engine for each, and one for whether a cluster has people in two studies.
        """
        import narwhals as nw

        estimator.request()
        columns = study_columns(by, roles)
        check_names(frame.collect_schema().names(), roles.columns | columns)
        known = set(roles.ones or {}) | ({roles.outcome} if roles.outcome_range is not None else set())
        asked = [name for name in (roles.instrument, roles.treatment, roles.outcome) if name not in known]
        if isinstance(roles.cap, str):
            raise InputError(f"cap={roles.cap!r} is a quantile of all studies: find it there, and give the number.")
        if roles.cluster is not None:
            _refuse_shared_clusters(frame, roles.cluster, list(columns.values()))
        witnesses = {name: _witnesses(frame, name) for name in asked}
        settled = settle(witnesses, replace(roles, weights=None), np.ones(0))
        settled = replace(settled, weights=roles.weights)
        job = MergedStudies(estimator, tuple(columns.values()), roles, settled)
        if roles.bins is not None:
            keyed = frame.select(nw.col(name).alias(f"k{i}") for i, name in enumerate(job.names))
            job = replace(job, bins=cuts_of(keyed, job.names, roles, seed=0))
        few = roles.outcome in witnesses and len(witnesses[roles.outcome]) < MOST_WITNESSES
        if few or settled.outcome_range is None:
            return job
        # As far as is known there are many different amounts, so that the rows of a study would hardly merge.
        amount = amount_of(frame, roles.outcome, settled)
        return job if amount is None else replace(job, amount=replace(amount, key=f"k{job.names.index(roles.outcome)}"))

    @property
    def names(self) -> list[str]:
        """The columns by which rows are merged, with those of the study first; merged rows call them k0, k1, ..."""
        return [*self.by, *(name for name in self.asked.columns.values() if name != self.asked.weights)]

    @property
    def keys(self) -> list[str]:
        """The columns of merged rows that tell the studies apart."""
        return [f"k{i}" for i in range(len(self.by))]

    def merged(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """The lazy query that merges the rows of all studies; nothing is run."""
        return grouped(frame, self.names, self.asked.weights, self.amount, self.bins)

    def fit(self, merged: pl.DataFrame) -> pl.DataFrame:
        """One row per study in `merged`, which must hold all of its rows: `by` as the engine has it, then COLUMNS."""
        import polars as pl

        if self.amount is not None:
            merged = self.amount.settled(merged, self.asked.weights is not None, self.asked.outcome)
        roles = role_of(self.asked.columns | study_columns(self.by, self.asked))
        table = entries(decoded(merged, self.bins).clone(), self.names, self.asked.weights, None, roles)
        table = replace(table, binned=tuple(self.names[int(key[1:])] for key in self.bins))
        columns = dict(table.columns)
        keys, rows = groups_of([columns.pop(name) for name in self.by])
        for name in (self.roles.outcome, self.roles.treatment, self.roles.instrument):
            if name not in (self.asked.ones or {}):
                columns[name] = numbers_from_text(columns[name])
        studies = _Checked(self.by, keys, rows, replace(table, columns=columns), self.roles, merged)
        firsts = pl.Series([int(each[0]) for each in rows], dtype=pl.UInt32)
        by = zip(self.keys, self.by, strict=True)
        named = merged.select(pl.col(key).gather(firsts).alias(name) for key, name in by)
        found: pl.DataFrame = pl.concat([named, frame_of(self._rows(studies))], how="horizontal")
        return found

    def _rows(self, studies: Studies) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for start in range(0, len(studies), STUDIES_PER_CHUNK):
            part = range(start, min(start + STUDIES_PER_CHUNK, len(studies)))
            try:
                found += [row for chunk in fit_studies(self.estimator, studies, part) for row in chunk]
            except (MissingDependencyError, ModelFileError):
                raise  # the installation is at fault, not a study: the job must end
            except Exception as error:
                method, request = resolve(self.estimator.method), self.estimator.request()
                reason = f"the worker failed: {type(error).__name__}: {error}"
                found += [error_row(method, request, reason) for _ in part]
        return found

    def fit_as_they_come(self, parts: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """The same for merged rows that come in parts, sorted by study; a study may continue in the next part."""
        import polars as pl

        held: pl.DataFrame | None = None
        for part in parts:
            if not len(part):
                continue
            held = part if held is None else pl.concat([held, part])
            last = pl.all_horizontal(pl.col(key).eq_missing(held[key][-1]) for key in self.keys)
            whole = held.filter(~last)
            if len(whole) >= ROWS_WORTH_A_FIT or whole.select(self.keys).n_unique() >= STUDIES_PER_CHUNK:
                held = held.filter(last)
                yield self.fit(whole)
        if held is not None:
            yield self.fit(held)


@dataclass(frozen=True)
class _Checked(Studies):
    """Studies whose weights are checked one study at a time: a bad study is a row, and not the end of a long job."""

    merged: pl.DataFrame

    def data(self, study: int) -> Any:
        if self.roles.weights is not None:
            weight_facts(self.merged[self.rows[study]]).check(self.roles.weights)
        return super().data(study)


def _refuse_shared_clusters(frame: nw.LazyFrame[Any], cluster: str, by: list[str]) -> None:
    """A small query to the engine, because a worker sees only its own studies and could not tell."""
    import narwhals as nw

    keys = {f"k{i}": name for i, name in enumerate(by)}
    placed = frame.select(nw.col(cluster).alias("cluster"), *(nw.col(name).alias(key) for key, name in keys.items()))
    placed = placed.filter(~nw.col("cluster").is_null()).unique()
    shared = placed.group_by("cluster").agg(nw.len().alias("studies")).filter(nw.col("studies") > 1)
    found = collected(shared.select("cluster").head(MOST_WITNESSES))
    if len(found):
        value = found["cluster"][0]
        first, second = collected(placed.filter(nw.col("cluster") == value).select(*keys)).head(2).rows()
        raise shared_cluster(cluster, value, first, second)


def _witnesses(frame: nw.LazyFrame[Any], name: str) -> Column:
    """The different values of a column; if they are many numbers, some of them and the smallest and largest."""
    import narwhals as nw
    import polars as pl

    seen = collected(frame.select(nw.col(name).alias("seen")).unique().head(MOST_WITNESSES))
    if len(seen) == MOST_WITNESSES:
        if not frame.collect_schema()[name].is_numeric():
            raise InputError(f"column '{name}' has {MOST_WITNESSES:,} different texts or more: cast it to numbers.")
        value = nw.col(name)
        ends = collected(frame.select(value.min().alias("low"), value.max().alias("high")))
        seen = pl.concat([seen, pl.DataFrame({"seen": [ends["low"][0], ends["high"][0]]})], how="vertical_relaxed")
    return column_from_array(name, nw.from_native(seen["seen"], series_only=True))
