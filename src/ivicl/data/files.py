"""Reading a user's table from a path or from stdin, and refusing with one sentence what is not a table."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

from ivicl.errors import InputError

PARQUET_MAGIC = b"PAR1"


def read_table(source: str) -> Any:
    """A polars frame from a CSV or Parquet file, or from stdin when the source is '-'."""
    import polars as pl

    name = "standard input" if source == "-" else f"'{source}'"
    content = _read_bytes(source, name)
    if not content.strip():
        raise InputError(f"{name} is empty.")
    if content[:4] == PARQUET_MAGIC:
        try:
            return pl.read_parquet(io.BytesIO(content))
        except Exception as error:
            raise InputError(f"{name} looks like Parquet but cannot be read.") from error
    header = _csv_header(content, name)
    try:
        # Types are inferred from all rows: a column that turns to text in row 10,001 must not become an error.
        frame = pl.read_csv(
            io.BytesIO(content),
            separator=_separator(header),
            infer_schema_length=None,
            null_values=["", "NA", "NaN", "nan", "null", "NULL", "."],
        )
    except Exception as error:
        raise InputError(f"{name} is not a table: {_first_sentence(error)}") from error
    _refuse_duplicate_header(header, name)
    if not len(frame):
        raise InputError(f"{name} has a header but no rows.")
    return frame


def _read_bytes(source: str, name: str) -> bytes:
    if source == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(source).read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {name}.") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}.") from error


def _csv_header(content: bytes, name: str) -> str:
    head = content[:4096]
    if b"\x00" in head:
        raise InputError(f"{name} is not a table: it is neither CSV nor Parquet.")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{name} is not a table: it is neither Parquet nor text in UTF-8.") from None
    header = content.decode("utf-8-sig").lstrip("\r\n").splitlines()[0]
    if len(header.split(_separator(header))) < 3:
        raise InputError(
            f"{name} is not a table: its first line has fewer than three columns, {header[:60]!r}; "
            "an instrument, a treatment and an outcome are needed."
        )
    return header


def _separator(header: str) -> str:
    return max(",\t;", key=header.count)


def _refuse_duplicate_header(header: str, name: str) -> None:
    seen: set[str] = set()
    for column in next(csv.reader([header], delimiter=_separator(header))):
        if column in seen:
            raise InputError(f"{name} has more than one column named '{column}'.")
        seen.add(column)


def _first_sentence(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return (text[0] if text else type(error).__name__).rstrip(".")[:160] + "."
