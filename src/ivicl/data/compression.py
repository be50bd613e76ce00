"""Tables that lie in an engine (polars lazily, DuckDB, ibis, Spark, Dask): merged by a GROUP BY there, collected small.

Rows that are equal in every role become one entry and their number, so nothing is lost, and the entries are read by
the very code that reads a table in memory: which values mean 1, which are missing, which texts are rare. Where rows
are too many and nearly all different, a seeded sample of them is drawn in the engine, and said.
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
from ivicl.data.moments import Amount, Within, amount_of
from ivicl.data.roles import Roles
from ivicl.data.rules import refusal
from ivicl.data.sampling import sampled
from ivicl.errors import InputError

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

MOST_ENTRIES = 1_000_000
"""Merged rows that are taken out of an engine: a few hundred MB, whatever the table."""
MOST_VALUES = 150_000_000
"""Values of rows that nearly all differ, taken out of an engine on this machine: 1.2 GB, ten million rows of fifteen
columns. Beyond that, and beyond MOST_ENTRIES rows of other engines, rows are sampled."""


@dataclass(frozen=True)
class ReadTable:
    """The columns of a table, of which an entry may stand for several equal rows."""

    columns: dict[str, Column]
    rows: np.ndarray
    """(N,) how many rows of the table each entry stands for."""
    sampled_from: int | None = None
    """Rows of the whole table, where only a sample of them was read."""
    within: Within | None = None
    """Where the outcome's column has means of several people."""
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
    """The columns of `roles`, merged in the frame's engine; `weights` are added up where rows are merged.

    `retype` gives the merged rows the types that they have not had so far; `most` different rows are taken out. With
    the roles as they were `asked` for, an amount may be merged into moments.
    """
    names = [name for name in dict.fromkeys(roles.values()) if name != weights]
    plain = _weighed(frame, names, weights)
    bins = {} if asked is None or asked.bins is None else ask(lambda: cuts_of(plain, names, asked, seed))
    plain = coded(plain, bins)
    amount = None if asked is None else lambda: ask(lambda: amount_of(plain, f"k{names.index(asked.outcome)}", asked))
    # Studies come sorted from an engine; of one table the first covariate is what its rows are sorted by later.
    last = [role for role in roles if role.startswith("study")] or [role for role in roles if role == "covariate 1"]
    order = [f"k{names.index(roles[role])}" for role in last] or ["k0"]
    room = _room(plain, len(names)) if retype is None else 0  # what is still text takes several times its memory
    merged, total = ask(lambda: _merge(plain, len(names), weights, seed, most or MOST_ENTRIES, amount, order, room))
    if not len(merged):
        return ReadTable({name: column_from_array(name, np.zeros(0)) for name in roles.values()}, np.zeros(0))
    if weights is not None:
        weight_facts(merged).check(weights)
    merged = decoded(merged, bins)
    merged = merged if retype is None else retype(merged)
    read = entries(merged, names, weights, total)
    return replace(read, binned=tuple(names[int(key[1:])] for key in bins))


def grouped(
    frame: nw.LazyFrame[Any],
    names: list[str],
    weights: str | None,
    amount: Amount | None = None,
    bins: Mapping[str, Bins] | None = None,
) -> nw.LazyFrame[Any]:
    """The plan that merges: a row for each combination of `names` (now k0, k1, ...), with its rows and people.

    With an `amount` the outcome's place in its range is in the key and not its value; `Amount.settled` then makes means
    of the sums.
    """
    return _grouped(coded(_weighed(frame, names, weights), bins or {}), len(names), weights, amount)


def entries(merged: pl.DataFrame, names: list[str], weights: str | None, total: int | None = None) -> ReadTable:
    """Merged rows as the columns of a table. Columns leave the frame one by one: many rows are not in memory twice."""
    columns = {name: column_from_array(name, series(merged.drop_in_place(f"k{i}"))) for i, name in enumerate(names)}
    if weights is not None:
        people = merged["people"].to_numpy().astype(np.float64)
        columns[weights] = Column(weights, people, np.zeros(len(people), bool), "number")
    within = None
    if "sd" in merged.columns:
        within = Within(*(merged[name].to_numpy().astype(np.float64) for name in ("sd", "least_y", "most_y")))
    return ReadTable(columns, merged["rows"].to_numpy().astype(np.float64), total, within)


def _weighed(frame: nw.LazyFrame[Any], names: list[str], weights: str | None) -> nw.LazyFrame[Any]:
    """The columns under short names of our own, and what must be known of each weight."""
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
    # Rows of weight zero stay apart: they are counted as dropped, and must not be lost in a group that is kept.
    return plain.group_by([*keys, "weightless"]).agg(
        nw.len().alias("rows"),
        nw.col("w").sum().alias("people"),
        nw.col("w").min().alias("least"),
        nw.col("gone").sum().alias("gone"),
        nw.col("broken").max().alias("broken"),
        *sums,
    )


def weight_facts(merged: pl.DataFrame) -> WeightFacts:
    """What the engine found out about the weights of merged rows."""
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
    """All different rows if they can be taken out, else with an amount by its moments; else those of a sample, and how
    many rows there were in all. Rows that are not merged, as long as there is `room` for so many, come in the `order`
    of these keys.

    The first rows are looked at alone: if these differ too much, so do all, and a GROUP BY over the whole table would
    only fill the engine's memory to say so.
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
    """Different rows that may leave an engine that runs on this machine and hands over arrays; none of others."""
    here = plain.implementation.is_polars() or plain.implementation.is_duckdb()
    return MOST_VALUES // names if here else 0


def _as_they_are(plain: nw.LazyFrame[Any], order: list[str], weights: str | None) -> pl.DataFrame:
    """Rows that are not worth merging, one by one; in an order that what follows would bring them into anyway.

    A column at a time is sorted: a frame that is sorted as a whole is in memory three times.
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
    """More than `most` of the first rows differ in these keys.

    An engine that is `here` is asked about each key alone before all of them: one that is continuous says it in a
    tenth of the memory.
    """
    first = plain.head(2 * most)
    alone = [[key] for key in keys] if here else []
    return any(row_count(first.select(*some).unique()) > most for some in (*alone, keys))


def _all_merged(most: int, plan: Callable[[], nw.LazyFrame[Any]]) -> pl.DataFrame | None:
    """What the plan finds; None where it is more than `most` rows."""
    merged = collected(plan().head(most + 1))
    return merged if len(merged) <= most else None
