"""Tables that lie in an engine (polars lazily, DuckDB, ibis, Spark, Dask): merged by a GROUP BY there, collected small.

Rows that are equal in every role become one entry and their number, so nothing is lost, and the entries are read by
the very code that reads a table in memory: which values mean 1, which are missing, which texts are rare. Where rows
are too many and nearly all different, a seeded sample of them is drawn in the engine, and said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ivicl.data.checks import WeightFacts
from ivicl.data.encoding import Column, column_from_array, show_values
from ivicl.data.files import first_sentence
from ivicl.data.rules import refusal
from ivicl.data.sampling import sampled
from ivicl.errors import InputError, IVICLError

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

MOST_ENTRIES = 1_000_000
"""Different rows that are taken out of an engine: a few hundred MB, whatever the table. More are sampled there."""

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class ReadTable:
    """The columns of a table, of which an entry may stand for several equal rows."""

    columns: dict[str, Column]
    rows: np.ndarray
    """(N,) how many rows of the table each entry stands for."""
    sampled_from: int | None = None
    """Rows of the whole table, where only a sample of them was read."""

    def take(self, keep: np.ndarray) -> ReadTable:
        columns = {name: column.take(keep) for name, column in self.columns.items()}
        return ReadTable(columns, self.rows[keep], self.sampled_from)


def read_compressed(
    frame: nw.LazyFrame[Any],
    roles: Mapping[str, str],
    weights: str | None,
    seed: int,
    retype: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
    most: int | None = None,
) -> ReadTable:
    """The columns of `roles`, merged in the frame's engine; `weights` are added up where rows are merged.

    `retype` gives the merged rows the types that they have not had so far; `most` different rows are taken out.
    """
    names = [name for name in roles.values() if name != weights]
    plain = _weighed(frame, names, weights)
    merged, total = _ask(lambda: _merge(plain, len(names), weights, seed, most or MOST_ENTRIES))
    if not len(merged):
        return ReadTable({name: column_from_array(name, np.zeros(0)) for name in roles.values()}, np.zeros(0))
    if weights is not None:
        weight_facts(merged).check(weights)
    return entries(merged if retype is None else retype(merged), names, weights, total)


def grouped(frame: nw.LazyFrame[Any], names: list[str], weights: str | None) -> nw.LazyFrame[Any]:
    """The plan that merges: a row for each combination of `names` (now k0, k1, ...), with its rows and people."""
    return _grouped(_weighed(frame, names, weights), len(names), weights)


def entries(merged: pl.DataFrame, names: list[str], weights: str | None, total: int | None = None) -> ReadTable:
    """Merged rows as the columns of a table."""
    columns = {name: column_from_array(name, _series(merged[f"k{i}"])) for i, name in enumerate(names)}
    if weights is not None:
        people = merged["people"].to_numpy().astype(np.float64)
        columns[weights] = Column(weights, people, np.zeros(len(people), bool), "number")
    return ReadTable(columns, merged["rows"].to_numpy().astype(np.float64), total)


def _weighed(frame: nw.LazyFrame[Any], names: list[str], weights: str | None) -> nw.LazyFrame[Any]:
    """The columns under short names of our own, and what must be known of each weight."""
    import narwhals as nw

    chosen = [nw.col(name).alias(f"k{i}") for i, name in enumerate(names)]
    if weights is None:
        return frame.select(*chosen)
    kind = frame.collect_schema()[weights]
    if not (kind.is_numeric() or kind == nw.Boolean):
        seen = _ask(lambda: collected(frame.select(nw.col(weights)).head(1000)))[weights].drop_nulls().unique().sort()
        raise refusal("weights_text", column=weights, values=show_values([str(value) for value in seen], 2))
    weight = nw.col(weights).cast(nw.Float64)
    held = frame.select(*chosen, weight.alias("w"))
    gone = nw.col("w").is_null() | nw.col("w").is_nan().fill_null(False)
    held = held.with_columns(gone=nw.when(gone).then(nw.lit(1.0)).otherwise(nw.lit(0.0)))
    held = held.with_columns(w=nw.when(nw.col("gone") == 0).then(nw.col("w")).otherwise(nw.lit(0.0)))
    broken = nw.when(nw.col("w") != nw.col("w").floor()).then(nw.col("w")).otherwise(nw.lit(0.0))
    return held.with_columns(broken=broken, weightless=nw.col("w") == 0)


def _grouped(plain: nw.LazyFrame[Any], names: int, weights: str | None) -> nw.LazyFrame[Any]:
    import narwhals as nw

    keys = [f"k{i}" for i in range(names)]
    if weights is None:
        return plain.group_by(keys).agg(nw.len().alias("rows"))
    # Rows of weight zero stay apart: they are counted as dropped, and must not be lost in a group that is kept.
    return plain.group_by([*keys, "weightless"]).agg(
        nw.len().alias("rows"),
        nw.col("w").sum().alias("people"),
        nw.col("w").min().alias("least"),
        nw.col("gone").sum().alias("gone"),
        nw.col("broken").max().alias("broken"),
    )


def weight_facts(merged: pl.DataFrame) -> WeightFacts:
    """What the engine found out about the weights of merged rows."""
    broken = [value for value in merged["broken"].to_list() if value]
    return WeightFacts(
        missing=int(merged["gone"].sum()),
        least=float(merged["least"].min()),  # type: ignore[arg-type]
        fractional=broken[0] if broken else None,
        total=float(merged["people"].sum()),
    )


def _merge(
    plain: nw.LazyFrame[Any], names: int, weights: str | None, seed: int, most: int
) -> tuple[pl.DataFrame, int | None]:
    """All different rows if they can be taken out; else those of a sample, and how many rows there were in all.

    The first rows are looked at alone: if these differ too much, so do all, and a GROUP BY over the whole table would
    only fill the engine's memory to say so.
    """
    keys = [f"k{i}" for i in range(names)]
    if _rows(plain.head(2 * most).select(*keys).unique()) <= most:
        merged = collected(_grouped(plain, names, weights).head(most + 1))
        if len(merged) <= most:
            return merged, None
    total = _rows(plain)
    if weights is not None:
        raise InputError(
            f"the table has {total:,} rows with weights and more than {most:,} of them differ, so that they "
            "can be neither merged nor sampled (a sample must be of people): round or leave out covariates that are "
            "nearly all different."
        )
    return collected(_grouped(sampled(plain, most / total, seed), names, weights)), total


def _rows(frame: nw.LazyFrame[Any]) -> int:
    import narwhals as nw

    return int(collected(frame.select(nw.len().alias("rows")))["rows"][0])


def collected(frame: nw.LazyFrame[Any]) -> pl.DataFrame:
    """A small answer in memory, sorted, so that it does not matter which engine or worker was first."""
    import narwhals as nw

    engine: dict[str, Any] = {"engine": "streaming"} if frame.implementation.is_polars() else {}
    found: pl.DataFrame = nw.to_native(frame.collect(backend="polars", **engine))
    plain = found.select(_orderable(found))
    return plain.sort(plain.columns, nulls_last=True)


def _orderable(frame: pl.DataFrame) -> list[Any]:
    """Categories without a given order have one of the engine's own: they are read as the texts that they are."""
    import polars as pl

    return [
        pl.col(name).cast(pl.String) if kind == pl.Categorical else pl.col(name) for name, kind in frame.schema.items()
    ]


def _series(series: Any) -> Any:
    import narwhals as nw

    return nw.from_native(series, series_only=True)


def _ask(question: Callable[[], Answer]) -> Answer:
    """What the engine answers; what it cannot do is the user's to know, in one sentence."""
    try:
        return question()
    except (IVICLError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise InputError(
            f"the engine that holds the table could not merge its rows: {first_sentence(error)}"
        ) from error
