"""Reading a user's table from a path or from stdin, and refusing with one sentence what is not a table."""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ivicl.data.formats import Reader, reader_of
from ivicl.data.rules import refusal, rules
from ivicl.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    import polars as pl

PARQUET_MAGIC = b"PAR1"
GZIP_MAGIC = b"\x1f\x8b"
SEPARATORS: list[str] = rules()["file"]["separators"]
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
"""Bytes that no text has."""


def read_table(source: str) -> pl.DataFrame:
    """A polars frame from a file in any of the known formats, or from stdin when the source is '-'."""
    import polars as pl

    name = "standard input" if source == "-" else f"'{source}'"
    content = _content(source, name)
    with _opened(content) as stream:
        start = stream.read(4096)
    if start.startswith(GZIP_MAGIC):
        content, source = _unpacked(content, name), source.removesuffix(".gz")
        start = content.getvalue()[:4096]
    if start.startswith(PARQUET_MAGIC):
        try:
            return pl.read_parquet(content)
        except Exception as error:
            raise InputError(
                f"{name} looks like Parquet but cannot be read; write it again, for it may be cut off."
            ) from error
    other = reader_of(source, start)
    if other is not None:
        return _read_other(other, content, name)
    if start.startswith(UTF16_MARKS):
        return _read_csv(_as_utf8(content, "utf-16"), name)
    if CONTROL.search(start):
        raise InputError(f"{name} is not a table: it is neither CSV nor Parquet; export it as one of them.")
    try:
        return _read_csv(content, name)
    except UnicodeDecodeError:
        return _read_csv(_as_utf8(content, "cp1252"), name)


@contextmanager
def _opened(content: Path | io.BytesIO) -> Iterator[BinaryIO]:
    """The content from its beginning; bytes in memory stay open."""
    if isinstance(content, io.BytesIO):
        content.seek(0)
        yield content
        content.seek(0)
        return
    with content.open("rb") as stream:
        yield stream


def _as_utf8(content: Path | io.BytesIO, encoding: str) -> io.BytesIO:
    """The text of older spreadsheets, decoded: UTF-16, or the Western encoding of Windows, of which Latin-1 is part."""
    raw = content.getvalue() if isinstance(content, io.BytesIO) else content.read_bytes()
    return io.BytesIO(raw.decode(encoding, errors="replace").encode())


def _read_csv(content: Path | io.BytesIO, name: str) -> pl.DataFrame:
    """A UnicodeDecodeError where the text is not UTF-8."""
    import polars as pl

    # polars takes a file by its path, so that the bytes of a large table are never a second copy in memory.
    with _opened(content) as stream:
        separator, header = csv_header(stream, name)
    try:
        frame = pl.read_csv(content, **csv_options(separator))
    except Exception as error:
        if "invalid utf-8" in str(error):
            raise UnicodeDecodeError("utf-8", b"", 0, 0, str(error)) from None
        raise InputError(f"{name} is not a table: {first_sentence(error)}") from error
    refuse_duplicates(header, name)
    if not len(frame):
        raise refusal("header_only", name=name)
    return frame


def csv_options(separator: str) -> dict[str, Any]:
    """How polars reads our text files.

    Types are inferred from all rows: a column that turns to text in row 10,001 must not become an error.
    """
    return {
        "separator": separator,
        "infer_schema_length": None,
        "null_values": rules()["file"]["missing"],
        "glob": False,
    }


def _unpacked(content: Path | io.BytesIO, name: str) -> io.BytesIO:
    raw = content.getvalue() if isinstance(content, io.BytesIO) else content.read_bytes()
    try:
        return io.BytesIO(gzip.decompress(raw))
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} looks like a gzip file but cannot be unpacked: {first_sentence(error)}") from error


def _read_other(reader: Reader, content: Path | io.BytesIO, name: str) -> pl.DataFrame:
    try:
        frame = reader(content)
    except MissingDependencyError as error:
        raise MissingDependencyError(f"{name}: {error}") from None
    except Exception as error:
        why = first_sentence(error).rstrip(".")
        raise InputError(f"{name} cannot be read ({why}); save it again where it was made, or as CSV.") from error
    if not len(frame):
        raise refusal("header_only", name=name)
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
        raise InputError(f"there is no file {name}; {_where_to_look(path)}.") from None
    except OSError as error:
        remedy = f"; name the files in it, as {name[:-1]}/*.csv'" if isinstance(error, IsADirectoryError) else ""
        raise InputError(f"{name} cannot be read: {error.strerror}{remedy}.") from error
    return path


def _where_to_look(path: Path) -> str:
    """The remedy for a path that leads nowhere: the folder if that is wrong, else the name that was perhaps meant."""
    if not path.parent.is_dir():
        return f"there is no folder '{path.parent}' either: check the path"
    stems = {each.stem.lower(): each.name for each in path.parent.iterdir()}  # endings are alike where names are not
    near = difflib.get_close_matches(path.stem.lower(), stems, n=1, cutoff=0.7)
    if near:
        return f"the nearest name in its folder is '{stems[near[0]]}'"
    return f"it was looked for in '{path.parent}': check its name, or write its whole path"


def csv_header(stream: BinaryIO, name: str) -> tuple[str, list[str]]:
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
        except csv.Error as error:
            raise InputError(f"{name} is not a table: its first line cannot be read ({error}).") from None
        finally:
            text.detach()  # else closing it would close the stream
    separator = max(SEPARATORS, key=lambda each: len(columns[each]))
    header = columns[separator]
    if len(header) < rules()["file"]["least_columns"]:
        line = separator.join(header)
        if not line.strip():
            raise refusal("empty_file", name=name)
        raise InputError(
            f"{name} is not a table: its first line has fewer than three columns, {line[:60]!r}; "
            "an instrument, a treatment and an outcome are needed."
        )
    return separator, header


def refuse_duplicates(header: list[str], name: str) -> None:
    seen: set[str] = set()
    for column in header:
        if column in seen:
            raise InputError(f"{name} has more than one column named {column!r}; rename one of them.")
        seen.add(column)


def first_sentence(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return (text[0] if text else type(error).__name__).rstrip(".")[:160] + "."
