"""Reading a user's table from a path or from stdin, and refusing with one sentence what is not a table."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ivicl.data.rules import rules
from ivicl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

PARQUET_MAGIC = b"PAR1"
SEPARATORS: list[str] = rules()["file"]["separators"]
NOT_UTF8 = "is not a table: it is neither Parquet nor text in UTF-8."


def read_table(source: str) -> pl.DataFrame:
    """A polars frame from a CSV or Parquet file, or from stdin when the source is '-'."""
    import polars as pl

    name = "standard input" if source == "-" else f"'{source}'"
    content = _content(source, name)
    # polars takes a file by its path, so that the bytes of a large table are never a second copy in memory.
    with content if isinstance(content, io.BytesIO) else content.open("rb") as stream:
        start = stream.read(4096)
        if start.startswith(PARQUET_MAGIC):
            try:
                return pl.read_parquet(content)
            except Exception as error:
                raise InputError(f"{name} looks like Parquet but cannot be read.") from error
        if b"\x00" in start:
            raise InputError(f"{name} is not a table: it is neither CSV nor Parquet.")
        separator, header = _csv_header(stream, name)
        stream.seek(0)
        try:
            # Types are inferred from all rows: a column that turns to text in row 10,001 must not become an error.
            frame = pl.read_csv(
                content,
                separator=separator,
                infer_schema_length=None,
                null_values=rules()["file"]["missing"],
                glob=False,
            )
        except Exception as error:
            reason = NOT_UTF8 if "invalid utf-8" in str(error) else f"is not a table: {_first_sentence(error)}"
            raise InputError(f"{name} {reason}") from error
    _refuse_duplicates(header, name)
    if not len(frame):
        raise InputError(f"{name} has a header but no rows.")
    return frame


def _content(source: str, name: str) -> Path | io.BytesIO:
    """The path of a file; the bytes of what can be read only once (standard input, a pipe)."""
    if source == "-":
        return io.BytesIO(sys.stdin.buffer.read())
    path = Path(source).absolute()  # as it is written: polars would look elsewhere for "~" and "s3://..."
    try:
        if not path.is_file():
            return io.BytesIO(path.read_bytes())
        path.open("rb").close()
    except FileNotFoundError:
        raise InputError(f"there is no file {name}.") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}.") from error
    return path


def _csv_header(stream: BinaryIO, name: str) -> tuple[str, list[str]]:
    """The separator and the column names, from no more of the content than its first line.

    The line may go on over several where a name in quotes holds a line break, so the csv module finds its end; the
    separator is the one that gives the most columns.
    """
    columns: dict[str, list[str]] = {}
    for separator in SEPARATORS:
        stream.seek(0)
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            columns[separator] = next((row for row in csv.reader(text, delimiter=separator) if row), [])
        except UnicodeDecodeError:
            raise InputError(f"{name} {NOT_UTF8}") from None
        except csv.Error as error:
            raise InputError(f"{name} is not a table: its first line cannot be read ({error}).") from None
        finally:
            text.detach()  # else closing it would close the stream
    separator = max(SEPARATORS, key=lambda each: len(columns[each]))
    header = columns[separator]
    if len(header) < rules()["file"]["least_columns"]:
        line = separator.join(header)
        if not line.strip():
            raise InputError(f"{name} is empty.")
        raise InputError(
            f"{name} is not a table: its first line has fewer than three columns, {line[:60]!r}; "
            "an instrument, a treatment and an outcome are needed."
        )
    return separator, header


def _refuse_duplicates(header: list[str], name: str) -> None:
    seen: set[str] = set()
    for column in header:
        if column in seen:
            raise InputError(f"{name} has more than one column named {column!r}.")
        seen.add(column)


def _first_sentence(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return (text[0] if text else type(error).__name__).rstrip(".")[:160] + "."
