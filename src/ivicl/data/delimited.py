"""Tables written as text, one line per row: their separator, their column names, and what is wrong with a broken line.

Whatever a spreadsheet or a statistics package calls CSV is read: commas, tabs, semicolons or vertical bars; the line
ends of Windows, Unix or old Macs; blank lines in between; UTF-8 with or without a byte order mark.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ivicl._shared.quoting import first_sentence
from ivicl.data.rules import refusal, rules
from ivicl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Content = Path | io.BytesIO
SEPARATORS: list[str] = rules()["file"]["separators"]
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
NAMES_NEEDED = (
    "the first line must name the columns (at least an instrument, a treatment and an outcome), separated by commas, "
    "tabs, semicolons or vertical bars."
)


@contextmanager
def opened(content: Content) -> Iterator[BinaryIO]:
    """A stream of the content from its beginning; bytes in memory stay open."""
    if isinstance(content, io.BytesIO):
        content.seek(0)
        yield content
        content.seek(0)
        return
    with content.open("rb") as stream:
        yield stream


def raw_bytes(content: Content) -> bytes:
    """The whole content."""
    return content.getvalue() if isinstance(content, io.BytesIO) else content.read_bytes()


def as_utf8(content: Content, encoding: str) -> io.BytesIO:
    """The text of older programs as UTF-8: from UTF-16, or from the Western encoding of Windows (like Latin-1)."""
    return io.BytesIO(raw_bytes(content).decode(encoding, errors="replace").encode())


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


def read_text(content: Content, name: str, typed: bool = True) -> pl.DataFrame:
    """The table in a text file, whatever its encoding; unless `typed`, every column is text."""
    with opened(content) as stream:
        start = stream.read(65_536)
    if start.startswith(UTF16_MARKS):
        return _read_utf8(as_utf8(content, "utf-16"), name, typed)
    if b"\r" in start and b"\n" not in start:  # from old Macs, or a spreadsheet's "CSV (Macintosh)"
        content = io.BytesIO(raw_bytes(content).replace(b"\r", b"\n"))
    try:
        return _read_utf8(content, name, typed)
    except UnicodeDecodeError:
        return _read_utf8(as_utf8(content, "cp1252"), name, typed)


def _read_utf8(content: Content, name: str, typed: bool) -> pl.DataFrame:
    """The table in a UTF-8 file; a UnicodeDecodeError if the text is not UTF-8."""
    import polars as pl

    # polars reads a file by its path, so that the bytes of a large table are not in memory as well.
    with opened(content) as stream:
        separator, header = csv_header(stream, name)
    try:
        frame = pl.read_csv(content, **csv_options(separator) | ({} if typed else {"infer_schema": False}))
    except Exception as error:
        if "invalid utf-8" in str(error):
            raise UnicodeDecodeError("utf-8", b"", 0, 0, str(error)) from None
        raise InputError(f"{name} is not a table: {_broken_line(content, separator, len(header), error)}") from error
    refuse_duplicates(header, name)
    frame = _without_blank_lines(frame)
    if not len(frame):
        raise refusal("header_only", name=name)
    return frame


def _without_blank_lines(frame: pl.DataFrame) -> pl.DataFrame:
    """Drop blank lines: polars turns them into empty rows, which would be counted as people who were dropped."""
    import polars as pl

    if not frame.to_series(0).null_count():  # nearly always: avoid a copy of the table
        return frame
    return frame.filter(~pl.all_horizontal(pl.all().is_null()))


def _broken_line(content: Content, separator: str, columns: int, error: Exception) -> str:
    """Which line does not fit the first, or else what polars says; only called when polars has refused the file."""
    with opened(content) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
        lines = csv.reader(text, delimiter=separator, strict=True)
        start = 1
        try:
            for row in lines:
                if len(row) > columns:
                    return (
                        f"line {start} has {len(row)} fields, but the first line names {columns} columns; put a field "
                        f"that holds {_called(separator)} in quotation marks, or take out what is too much."
                    )
                start = lines.line_num + 1
        except csv.Error:
            return (
                f"in line {start} a quotation mark does not end with the field; close it, or write it twice where it "
                "belongs to the text."
            )
        finally:
            text.detach()
    return f"{first_sentence(error).rstrip('.')}; export the table again, as CSV or Parquet."


def _called(separator: str) -> str:
    return {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a vertical bar"}.get(separator, repr(separator))


def csv_header(stream: BinaryIO, name: str) -> tuple[str, list[str]]:
    """The separator and the column names, read from the first line only.

    A name in quotes may hold a line break, so the csv module finds the end of the line; the separator is the one that
    gives the most columns.
    """
    columns: dict[str, list[str]] = {}
    for separator in SEPARATORS:
        stream.seek(0)
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            columns[separator] = next((row for row in csv.reader(text, delimiter=separator) if row), [])
        except csv.Error as error:
            raise InputError(
                f"{name} is not a table: its first line cannot be read ({error}); {NAMES_NEEDED}"
            ) from None
        finally:
            text.detach()  # otherwise closing it would close the stream
    separator = max(SEPARATORS, key=lambda each: len(columns[each]))
    header = columns[separator]
    if sum(bool(column.strip()) for column in header) < rules()["file"]["least_columns"]:
        line = separator.join(header)
        if not line.strip():
            raise refusal("empty_file", name=name)
        raise InputError(
            f"{name} is not a table: its first line has fewer than three columns, {line[:60]!r}; {NAMES_NEEDED}"
        )
    return separator, header


def refuse_duplicates(header: list[str], name: str) -> None:
    """Raise an InputError for two columns of one name. Several may be nameless, as these cannot be asked for."""
    seen: set[str] = set()
    for column in header:
        if column.strip() and column in seen:
            if _is_number(column):
                raise InputError(
                    f"{name} has {column!r} twice in its first line, which looks like a row of data; {NAMES_NEEDED}"
                )
            raise InputError(f"{name} has more than one column named {column!r}; rename one of them.")
        seen.add(column)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
