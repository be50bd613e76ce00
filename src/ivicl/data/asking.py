"""Questions to the engine that holds a table: what it answers, in memory, or one sentence on what it cannot do."""

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
    """What the engine answers; what it cannot do is the user's to know, in one sentence."""
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
    """A small answer in memory, sorted, so that it does not matter which engine or worker was first."""
    plain = collect(frame)
    return plain.sort(plain.columns, nulls_last=True)


def collect(frame: nw.LazyFrame[Any]) -> pl.DataFrame:
    """An answer in memory, in no order."""
    import narwhals as nw

    engine: dict[str, Any] = {"engine": "streaming"} if frame.implementation.is_polars() else {}
    found: pl.DataFrame = nw.to_native(frame.collect(backend="polars", **engine))
    return found.select(_orderable(found))


def _orderable(frame: pl.DataFrame) -> list[Any]:
    """Categories without a given order have one of the engine's own: they are read as the texts that they are."""
    import polars as pl

    return [
        pl.col(name).cast(pl.String) if kind == pl.Categorical else pl.col(name) for name, kind in frame.schema.items()
    ]


def series(series: Any) -> Any:
    import narwhals as nw

    return nw.from_native(series, series_only=True)
