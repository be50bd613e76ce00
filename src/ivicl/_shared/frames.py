"""Answering with the same kind of frame that the caller passed in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

POLARS = "polars"
"""The kind of everything that is not one of the following."""
EAGER = ("pandas", "modin", "cudf", "pyarrow")
"""Kinds that can be returned; a lazy frame, a dict or a file is answered with a polars frame."""


def kind_of(df: Any) -> str:
    """The library of a frame, as narwhals names it."""
    if isinstance(df, Mapping):
        return POLARS
    import narwhals as nw

    frame = nw.from_native(df, pass_through=True)
    kind = frame.implementation.value if isinstance(frame, nw.DataFrame) else POLARS
    return kind if kind in EAGER else POLARS


def as_kind(frame: Any, kind: str) -> Any:
    """A polars frame as a frame of another library, with the same columns and rows."""
    if kind == POLARS:
        return frame
    if kind == "pyarrow":
        return frame.to_arrow()
    import narwhals as nw

    # Go through numpy, where a missing number is nan: polars' own conversion to pandas needs pyarrow.
    columns = {column.name: column.to_numpy() for column in frame}
    return nw.from_dict(columns, backend=kind).to_native()  # type: ignore[arg-type]  # one of EAGER
