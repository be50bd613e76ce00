"""Queries to the engine that holds a table: the answers in memory, or one sentence on what the engine cannot do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ivicl._shared.quoting import first_sentence
from ivicl.errors import InputError, IVICLError

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

Answer = TypeVar("Answer")


def ask(question: Callable[[], Answer]) -> Answer:
    """The engine's answer; if the engine fails, an InputError tells the user why in one sentence."""
    try:
        return question()
    except (IVICLError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise InputError(
            f"the engine that holds the table could not merge its rows: {first_sentence(error)}"
        ) from error


def row_count(frame: nw.LazyFrame[Any]) -> int:
    import narwhals as nw

    return int(collected(frame.select(nw.len().alias("rows")))["rows"][0])


def collected(frame: nw.LazyFrame[Any]) -> pl.DataFrame:
    """A small answer in memory, sorted, so that it does not depend on the engine or on which worker was first."""
    plain = collect(frame)
    return plain.sort(plain.columns, nulls_last=True)


def collect(frame: nw.LazyFrame[Any]) -> pl.DataFrame:
    """An answer in memory, in no particular order."""
    import narwhals as nw

    engine: dict[str, Any] = {"engine": "streaming"} if frame.implementation.is_polars() else {}
    found: pl.DataFrame = nw.to_native(frame.collect(backend="polars", **engine))
    return found.select(_orderable(found))


def _orderable(frame: pl.DataFrame) -> list[Any]:
    """Read categories without a given order as text: the engine would sort them in an order of its own."""
    import polars as pl

    return [
        pl.col(name).cast(pl.String) if kind == pl.Categorical else pl.col(name) for name, kind in frame.schema.items()
    ]


def series(series: Any) -> Any:
    import narwhals as nw

    return nw.from_native(series, series_only=True)
