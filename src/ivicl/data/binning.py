"""Continuous covariates cut into groups of about equal size, on request, so that a table of many different rows merges.

A group's median stands for the values in it. If an engine holds the table, a first query finds the groups, and the
engine computes each row's group, so that only merged rows leave it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ivicl.data.asking import collected, row_count, series
from ivicl.data.columns import Column
from ivicl.data.encoding import weighted_quantile
from ivicl.data.roles import Roles
from ivicl.data.sampling import sampled

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

ROWS_FOR_CUTS = 1_000_000
"""Where covariates are cut is decided from all rows or, if there are more than this, from a sample of this many."""
NO_VALUE = -1
"""The group of rows without a value."""


@dataclass(frozen=True)
class Bins:
    """Where one covariate is cut."""

    cuts: np.ndarray
    """(K-1,) in rising order; a value at a cut belongs to the group below it."""
    middles: np.ndarray
    """(K,) the value that stands for each group."""

    @staticmethod
    def of(values: np.ndarray, weights: np.ndarray, number: int) -> Bins | None:
        """Cuts at quantiles; None if there are at most `number` different values, which are groups already."""
        if len(np.unique(values)) <= number:
            return None
        cuts = np.unique(weighted_quantile(values, weights, np.arange(1, number) / number))
        cuts = cuts[cuts < values.max()]
        place = np.searchsorted(cuts, values, side="left")
        parts = [place == k for k in range(len(cuts) + 1)]
        return Bins(cuts, np.array([weighted_quantile(values[part], weights[part], 0.5) for part in parts]))

    def of_column(self, column: Column) -> Column:
        return replace(column, values=self.middles[np.searchsorted(self.cuts, column.values, side="left")])

    def code(self, column: str) -> nw.Expr:
        """The number of a row's group, computed in an engine."""
        import narwhals as nw

        value = nw.col(column).cast(nw.Float64)
        place = nw.lit(0)
        for cut in self.cuts.tolist():
            place = place + nw.when(value > cut).then(nw.lit(1)).otherwise(nw.lit(0))
        return nw.when(value.is_null() | value.is_nan().fill_null(False)).then(nw.lit(NO_VALUE)).otherwise(place)

    def decoded(self, codes: pl.Series) -> pl.Series:
        """The groups' values, from their numbers."""
        import polars as pl

        places = codes.to_numpy().astype(np.int64)
        found = [None if k == NO_VALUE else float(self.middles[k]) for k in places]
        return pl.Series(codes.name, found, dtype=pl.Float64)


def coded(frame: nw.LazyFrame[Any], bins: Mapping[str, Bins]) -> nw.LazyFrame[Any]:
    """The frame with the numbers of groups in place of values, in the columns of `bins`."""
    return frame.with_columns(**{column: cut.code(column) for column, cut in bins.items()}) if bins else frame


def decoded(merged: pl.DataFrame, bins: Mapping[str, Bins]) -> pl.DataFrame:
    """The inverse of `coded`, after merging: each group's value in place of its number."""
    return merged.with_columns([cut.decoded(merged[column]) for column, cut in bins.items()]) if bins else merged


def binned_columns(
    columns: Mapping[str, Column], names: list[str], weights: np.ndarray, number: int
) -> tuple[dict[str, Column], tuple[str, ...]]:
    """Columns of a table in memory after cutting, and the names of those that were cut."""
    found = {}
    for name in names:
        column = columns[name]
        seen = ~column.missing
        bins = Bins.of(column.values[seen], weights[seen], number) if column.kind == "number" and seen.any() else None
        if bins is not None:
            found[name] = bins.of_column(column)
    return {**columns, **found}, tuple(found)


def cuts_of(frame: nw.LazyFrame[Any], names: list[str], asked: Roles, seed: int) -> dict[str, Bins]:
    """Where covariates are cut, by column (k0, k1, ... in the order of `names`), from all rows or a sample of them."""
    import narwhals as nw

    schema = frame.collect_schema()
    keys = {f"k{names.index(name)}" for name in asked.binned}
    keys = {key for key in keys if schema[key].is_numeric()}
    if not keys or asked.bins is None:
        return {}
    weighted = "w" in schema
    chosen = frame.select(*sorted(keys), *(["w"] if weighted else []))
    total = row_count(chosen)
    seen = collected(chosen if total <= ROWS_FOR_CUTS else sampled(chosen, ROWS_FOR_CUTS / total, seed))
    found = {}
    for key in sorted(keys):
        values = series(seen[key]).cast(nw.Float64).to_numpy()
        people = seen["w"].to_numpy() if weighted else np.ones(len(values))
        here = np.isfinite(values) & (people > 0)
        cut = Bins.of(values[here], people[here], asked.bins) if here.any() else None
        if cut is not None:
            found[key] = cut
    return found
