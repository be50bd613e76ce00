"""Files by name or by pattern: a small one is read, large ones and several are scanned and merged as they stream by.

polars' streaming engine does it: it is installed anyway, and records/2026-11-16-engine has what it takes.
"""

from __future__ import annotations

import glob
import gzip
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ivicl.data.files import (
    CONTROL,
    GZIP_MAGIC,
    PARQUET_MAGIC,
    UTF16_MARKS,
    csv_header,
    csv_options,
    first_sentence,
    read_table,
    refuse_duplicates,
)
from ivicl.data.formats import reader_of
from ivicl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

LARGE_TEXT = 64_000_000
"""Bytes from which a text file is scanned; a compressed one from an eighth of it."""
LARGE_PARQUET = 1_000_000
"""Rows from which a Parquet file is scanned: below, a study's place in the file is kept."""


@dataclass(frozen=True)
class TextScan:
    """Text files that stream by with every field as text.

    What kind of column a field belongs to is known when the last row has been seen. Reading twice would take four
    times as long, so rows are merged as text, and the few that are left are typed by the reader of small files.
    """

    frame: pl.LazyFrame

    def with_numbers(self, *columns: str) -> pl.LazyFrame:
        """With some columns as numbers: weights, which are added up on the way, and what is cut into groups."""
        import polars as pl

        return self.frame.with_columns(pl.col(column).str.strip_chars().cast(pl.Float64) for column in columns)

    @staticmethod
    def typed(merged: pl.DataFrame) -> pl.DataFrame:
        """The merged rows with the types that the reader of small files finds."""
        import polars as pl

        text = io.BytesIO(merged.write_csv().encode())
        return pl.read_csv(text, **csv_options(","))


def open_table(source: str) -> pl.DataFrame | pl.LazyFrame | TextScan:
    """The table in a file, in all files of a pattern (`data/*.parquet`), or in standard input for '-'."""
    paths = _paths(source)
    if not paths or (len(paths) == 1 and not _large(paths[0])):
        return read_table(source if not paths else str(paths[0]))
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1:
        raise InputError(f"'{source}' matches files of several kinds ({', '.join(sorted(kinds))}): name one kind.")
    if kinds == {"other"}:
        return _together([read_table(str(path)) for path in paths], source)
    import polars as pl

    if kinds == {"Parquet"}:
        return pl.scan_parquet(paths, glob=False)
    headers = {path: _header(path) for path in paths}
    first = headers[paths[0]]
    other = next((path for path, header in headers.items() if header != first), None)
    if other is not None:
        raise InputError(f"'{other}' has other columns, or another separator, than '{paths[0]}'.")
    refuse_duplicates(first[1], f"'{paths[0]}'")
    return TextScan(pl.scan_csv(paths, **csv_options(first[0]) | {"infer_schema": False}))


def _together(frames: list[pl.DataFrame], source: str) -> pl.DataFrame:
    import polars as pl

    try:
        return pl.concat(frames, how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        raise InputError(f"the files of '{source}' have different columns: {first_sentence(error)}") from error


def _paths(source: str) -> list[Path]:
    """The files that are meant; none for what is not a file on disk (standard input, a pipe, a wrong name)."""
    if source == "-":
        return []
    path = Path(source).absolute()
    if path.is_file():  # as it is written, even if it has a star in it
        return [path]
    if path.exists() or not glob.has_magic(source):
        return []
    found = sorted(Path(match).absolute() for match in glob.glob(source, recursive=True))
    files = [match for match in found if match.is_file()]
    if not files:
        raise InputError(f"no file matches '{source}'.")
    return files


def _large(path: Path) -> bool:
    try:
        kind = _kind(path)
    except OSError:
        return False  # the reader says why
    if kind == "Parquet":
        return _parquet_rows(path) > LARGE_PARQUET
    return kind != "other" and path.stat().st_size > (LARGE_TEXT // 8 if kind == "gzip" else LARGE_TEXT)


def _parquet_rows(path: Path) -> int:
    import polars as pl

    try:
        return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
    except Exception:  # damaged: the reader says so
        return 0


def _kind(path: Path) -> str:
    """What streams: Parquet, text in UTF-8, the same packed by gzip. All other formats are read whole."""
    with path.open("rb") as file:
        start = file.read(4096)
    if start.startswith(PARQUET_MAGIC):
        return "Parquet"
    if start.startswith(GZIP_MAGIC):
        return "gzip"
    text = reader_of(str(path), start) is None and not start.startswith(UTF16_MARKS) and not CONTROL.search(start)
    return "text" if text else "other"


def _header(path: Path) -> tuple[str, list[str]]:
    with path.open("rb") as file:
        stream: Any = gzip.GzipFile(fileobj=file) if _kind(path) == "gzip" else file
        try:
            return csv_header(stream, f"'{path}'")
        except UnicodeDecodeError:
            raise InputError(f"'{path}' is too large to be read whole, and its text is not in UTF-8.") from None
