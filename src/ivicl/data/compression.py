"""Tables held by an engine (lazy polars, DuckDB, ibis, Spark, Dask): merged there by a GROUP BY, then collected.

Rows that are equal in every role become one entry with a count, so nothing is lost. The entries are then read by the
same code that reads a table in memory: which values mean 1, which are missing, which texts are rare. If there are too
many rows and nearly all differ, the engine draws a seeded sample of them, and the report says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ivicl.data.asking import ask, collect, collected, row_count, series
from ivicl.data.binning import Bins, coded, cuts_of, decoded
from ivicl.data.checks import WeightFacts
from ivicl.data.columns import Column, column_from_array, show_values
from ivicl.data.labels import column_in_role, role_of
from ivicl.data.moments import Amount, Within, amount_of
from ivicl.data.roles import Roles
from ivicl.data.rules import refusal
from ivicl.data.sampling import sampled
from ivicl.errors import InputError

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

MOST_ENTRIES = 1_000_000
"""The most merged rows that are taken out of an engine: a few hundred MB, whatever the table."""
MOST_VALUES = 150_000_000
"""The most values taken out of an engine on this machine if nearly all rows differ: 1.2 GB, ten million rows of fifteen
columns. Beyond that, or beyond MOST_ENTRIES rows of other engines, rows are sampled."""


@dataclass(frozen=True)
class ReadTable:
    """The columns of a table; each entry may stand for several equal rows."""

    columns: dict[str, Column]
    rows: np.ndarray
    """(N,) how many rows of the table each entry stands for."""
    sampled_from: int | None = None
    """Rows of the whole table, if only a sample of them was read."""
    within: Within | None = None
    """The spread of the outcome within entries, if the outcome's column holds means of several people."""
    binned: tuple[str, ...] = ()
    """Covariates whose values were replaced by those of groups."""

    def take(self, keep: np.ndarray) -> ReadTable:
        columns = {name: column.take(keep) for name, column in self.columns.items()}
        return replace(self, columns=columns, rows=self.rows[keep], within=self.within and self.within.take(keep))


def read_compressed(
    frame: nw.LazyFrame[Any],
    roles: Mapping[str, str],
    weights: str | None,
    seed: int,
    retype: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
    most: int | None = None,
    asked: Roles | None = None,
) -> ReadTable:
    """The columns of `roles`, merged in the frame's engine; the `weights` of merged rows are added up.

    `retype` gives the merged rows their types, if they are still text. At most `most` different rows are taken out. If
    the roles are given as `asked`, an amount may be merged into moments.
    """
    names = [name for name in dict.fromkeys(roles.values()) if name != weights]
    plain = _weighed(frame, names, weights)
    bins = {} if asked is None or asked.bins is None else ask(lambda: cuts_of(plain, names, asked, seed))
    plain = coded(plain, bins)
    amount = None if asked is None else lambda: ask(lambda: amount_of(plain, f"k{names.index(asked.outcome)}", asked))
    # Studies must come sorted from an engine; the rows of a single table will be sorted by its first covariate later.
    last = [role for role in roles if role.startswith("study")] or [role for role in roles if role == "covariate 1"]
    order = [f"k{names.index(roles[role])}" for role in last] or ["k0"]
    room = _room(plain, len(names)) if retype is None else 0  # text takes several times the memory of numbers
    merged, total = ask(lambda: _merge(plain, len(names), weights, seed, most or MOST_ENTRIES, amount, order, room))
    if not len(merged):
        return ReadTable({name: column_from_array(name, np.zeros(0)) for name in roles.values()}, np.zeros(0))
    if weights is not None:
        weight_facts(merged).check(weights)
    merged = decoded(merged, bins)
    merged = merged if retype is None else retype(merged)
    read = entries(merged, names, weights, total, role_of(roles))
    return replace(read, binned=tuple(names[int(key[1:])] for key in bins))


def grouped(
    frame: nw.LazyFrame[Any],
    names: list[str],
    weights: str | None,
    amount: Amount | None = None,
    bins: Mapping[str, Bins] | None = None,
) -> nw.LazyFrame[Any]:
    """The lazy query that merges: one row per combination of `names` (now k0, k1, ...), with its rows and people.

    With an `amount`, the key holds the outcome's place in its range instead of its value; `Amount.settled` then turns
    the sums into means.
    """
    return _grouped(coded(_weighed(frame, names, weights), bins or {}), len(names), weights, amount)


def entries(
    merged: pl.DataFrame, names: list[str], weights: str | None, total: int | None, roles: Mapping[str, str]
) -> ReadTable:
    """Merged rows as the columns of a table; `roles` are those of the columns.

    Columns leave the frame one by one, so as not to be in memory twice.
    """
    columns = {
        name: column_in_role(roles[name], name, series(merged.drop_in_place(f"k{i}"))) for i, name in enumerate(names)
    }
    if weights is not None:
        people = merged["people"].to_numpy().astype(np.float64)
        columns[weights] = Column(weights, people, np.zeros(len(people), bool), "number")
    within = None
    if "sd" in merged.columns:
        within = Within(*(merged[name].to_numpy().astype(np.float64) for name in ("sd", "least_y", "most_y")))
    return ReadTable(columns, merged["rows"].to_numpy().astype(np.float64), total, within)


def _weighed(frame: nw.LazyFrame[Any], names: list[str], weights: str | None) -> nw.LazyFrame[Any]:
    """The columns under short names of our own, and what must be known about each weight."""
    import narwhals as nw

    chosen = [nw.col(name).alias(f"k{i}") for i, name in enumerate(names)]
    if weights is None:
        return frame.select(*chosen)
    kind = frame.collect_schema()[weights]
    if not (kind.is_numeric() or kind == nw.Boolean):
        seen = ask(lambda: collected(frame.select(nw.col(weights)).head(1000)))[weights].drop_nulls().unique().sort()
        raise refusal("weights_text", column=weights, values=show_values([str(value) for value in seen], 2))
    weight = nw.col(weights).cast(nw.Float64)
    held = frame.select(*chosen, weight.alias("w"))
    gone = nw.col("w").is_null() | nw.col("w").is_nan().fill_null(False)
    held = held.with_columns(gone=nw.when(gone).then(nw.lit(1.0)).otherwise(nw.lit(0.0)))
    held = held.with_columns(w=nw.when(nw.col("gone") == 0).then(nw.col("w")).otherwise(nw.lit(0.0)))
    broken = nw.when(nw.col("w") != nw.col("w").floor()).then(nw.col("w")).otherwise(nw.lit(0.0))
    return held.with_columns(broken=broken, weightless=nw.col("w") == 0)


def _grouped(
    plain: nw.LazyFrame[Any], names: int, weights: str | None, amount: Amount | None = None
) -> nw.LazyFrame[Any]:
    import narwhals as nw

    keys, sums = [f"k{i}" for i in range(names)], []
    if amount is not None:
        plain = amount.placed(plain, None if weights is None else "w")
        keys, sums = [*(key for key in keys if key != amount.key), "place"], amount.sums()
    if weights is None:
        return plain.group_by(keys).agg(nw.len().alias("rows"), *sums)
    # Rows of weight zero form groups of their own: they count as dropped, and must not vanish in a group that is kept.
    return plain.group_by([*keys, "weightless"]).agg(
        nw.len().alias("rows"),
        nw.col("w").sum().alias("people"),
        nw.col("w").min().alias("least"),
        nw.col("gone").sum().alias("gone"),
        nw.col("broken").max().alias("broken"),
        *sums,
    )


def weight_facts(merged: pl.DataFrame) -> WeightFacts:
    """What the engine found out about the weights while merging."""
    broken = merged["broken"].filter(merged["broken"] != 0)
    return WeightFacts(
        missing=int(merged["gone"].sum()),
        least=float(merged["least"].min()),  # type: ignore[arg-type]
        fractional=broken[0] if len(broken) else None,
        total=float(merged["people"].sum()),
    )


def _merge(
    plain: nw.LazyFrame[Any],
    names: int,
    weights: str | None,
    seed: int,
    most: int,
    amount: Callable[[], Amount | None] | None,
    order: list[str],
    room: int,
) -> tuple[pl.DataFrame, int | None]:
    """The rows to take out of the engine; for a sample, also how many rows there were in all.

    These are, in order of preference: all different rows, if there are few enough; the same with an amount merged into
    its moments; all rows unmerged, sorted by the keys in `order`, if there is `room` for them; the rows of a sample.

    The first rows are examined first: if too many of them differ, a GROUP BY over the whole table would only fill the
    engine's memory to find the same.
    """
    keys = [f"k{i}" for i in range(names)]
    found = None
    if not _differ(plain, keys, most, room > 0):
        found = _all_merged(most, lambda: _grouped(plain, names, weights))
    if found is not None:
        return found, None
    one = None if amount is None else amount()
    if one is not None:
        others = [key for key in keys if key != one.key]
        if not _differ(plain, others, most, room > 0):
            found = _all_merged(most, lambda: _grouped(plain, names, weights, one))
        if found is not None:
            return one.settled(found, weights is not None, one.key), None
    total = row_count(plain)
    if total <= max(most, room):
        return _as_they_are(plain, order, weights), None
    if weights is not None:
        raise InputError(
            f"the table has {total:,} rows with weights and more than {most:,} of them differ, so that they "
            "can be neither merged nor sampled (a sample must be of people): round or leave out covariates that are "
            "nearly all different."
        )
    return collected(_grouped(sampled(plain, most / total, seed), names, weights)), total


def _room(plain: nw.LazyFrame[Any], names: int) -> int:
    """How many unmerged rows may be taken out: none unless the engine runs on this machine and hands over arrays."""
    here = plain.implementation.is_polars() or plain.implementation.is_duckdb()
    return MOST_VALUES // names if here else 0


def _as_they_are(plain: nw.LazyFrame[Any], order: list[str], weights: str | None) -> pl.DataFrame:
    """All rows unmerged, sorted by the keys in `order`, as later steps would sort them anyway.

    One column is sorted at a time: a frame sorted as a whole would be in memory three times.
    """
    import polars as pl

    came = collect(plain)
    place = came.select(pl.arg_sort_by(order, maintain_order=True)).to_series()
    found = pl.DataFrame([came.drop_in_place(name).gather(place) for name in came.columns])
    rows = pl.lit(1.0).alias("rows")
    if weights is None:
        return found.with_columns(rows)
    return found.drop("weightless").rename({"w": "people"}).with_columns(rows, least=pl.col("people"))


def _differ(plain: nw.LazyFrame[Any], keys: list[str], most: int, here: bool) -> bool:
    """Whether the first rows have more than `most` different combinations of these keys.

    An engine that is `here`, on this machine, is asked about each key alone before all of them: a single continuous key
    settles the question with a tenth of the memory.
    """
    first = plain.head(2 * most)
    alone = [[key] for key in keys] if here else []
    return any(row_count(first.select(*some).unique()) > most for some in (*alone, keys))


def _all_merged(most: int, plan: Callable[[], nw.LazyFrame[Any]]) -> pl.DataFrame | None:
    """The result of the query; None if it has more than `most` rows."""
    merged = collected(plan().head(most + 1))
    return merged if len(merged) <= most else None
