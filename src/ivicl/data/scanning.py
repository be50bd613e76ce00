"""Files by name or by pattern: a small file is read; large or several files are scanned and merged as they stream by.

polars' streaming engine does this: it is installed anyway, and records/2026-11-16-engine has its time and memory.
"""

from __future__ import annotations

import glob
import gzip
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ivicl._shared.quoting import first_sentence
from ivicl.data.columns import show_values
from ivicl.data.delimited import UTF16_MARKS, csv_header, csv_options, refuse_duplicates
from ivicl.data.files import GZIP_MAGIC, PARQUET_MAGIC, read_table
from ivicl.data.formats import CONTROL, reader_of
from ivicl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

LARGE_TEXT = 64_000_000
"""A text file of more bytes than this is scanned, and a compressed one of more than an eighth of it."""
LARGE_PARQUET = 1_000_000
"""A Parquet file of more rows than this is scanned; a smaller one is read, which keeps the order of its studies."""


@dataclass(frozen=True)
class TextScan:
    """Text files that are scanned with every field as text.

    The type of a column is only known when its last row has been seen. Reading twice would take four times as long, so
    rows are merged as text, and the few rows that remain get their types from the reader of small files.
    """

    frame: pl.LazyFrame

    def with_numbers(self, *columns: str) -> pl.LazyFrame:
        """The frame with some columns as numbers: weights, which are added up while scanning, and what is binned."""
        import polars as pl

        return self.frame.with_columns(pl.col(column).str.strip_chars().cast(pl.Float64) for column in columns)

    @staticmethod
    def typed(merged: pl.DataFrame) -> pl.DataFrame:
        """The merged rows with the types that the reader of small files finds."""
        import polars as pl

        text = io.BytesIO(merged.write_csv().encode())
        return pl.read_csv(text, **csv_options(","))


def open_table(source: str | Sequence[str]) -> pl.DataFrame | pl.LazyFrame | TextScan:
    """The table in a file, in several files, in all files of a pattern (`data/*.parquet`), or, for '-', on stdin."""
    sources = [source] if isinstance(source, str) else list(source)
    paths = [path for each in sources for path in _paths(each, alone=len(sources) == 1)]
    if not paths or (len(paths) == 1 and not _large(paths[0])):
        return read_table(sources[0] if not paths else str(paths[0]))
    _refuse_repeated(paths)
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1:
        raise InputError(
            f"'{' '.join(sources)}' are files of several kinds ({', '.join(sorted(kinds))}); name files of one kind."
        )
    if kinds == {"other"}:
        return _together([read_table(str(path)) for path in paths], paths)
    import polars as pl

    if kinds == {"Parquet"}:
        return pl.scan_parquet(paths, glob=False)
    if not any(_large(path) for path in paths) and sum(path.stat().st_size for path in paths) < LARGE_TEXT:
        return TextScan.typed(_together([read_table(str(path), typed=False) for path in paths], paths))
    headers = {path: _header(path) for path in paths}
    first = headers[paths[0]]
    for path, header in headers.items():
        _refuse_other_columns(path, header[1], paths[0], first[1])
        if header != first:
            raise InputError(
                f"'{path}' has another separator, or its columns in another order, than '{paths[0]}'; write both alike."
            )
    refuse_duplicates(first[1], f"'{paths[0]}'")
    return TextScan(pl.scan_csv(paths, **csv_options(first[0]) | {"infer_schema": False}))


def _together(frames: list[pl.DataFrame], paths: list[Path]) -> pl.DataFrame:
    """Several tables as one; their columns may be in different orders."""
    import polars as pl

    for frame, path in zip(frames, paths, strict=True):
        _refuse_other_columns(path, frame.columns, paths[0], frames[0].columns)
    try:
        return pl.concat([frame.select(frames[0].columns) for frame in frames], how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"the files from '{paths[0]}' on do not fit together ({first_sentence(error).rstrip('.')}); write their "
            "columns with the same types."
        ) from error


def _refuse_other_columns(path: Path, columns: list[str], first: Path, expected: list[str]) -> None:
    if set(columns) == set(expected):
        return
    lacking, more = [[c for c in a if c not in b] for a, b in ((expected, columns), (columns, expected))]
    parts = [f"no {show_values(lacking, 3)}"] * bool(lacking) + [f"{show_values(more, 3)} besides"] * bool(more)
    raise InputError(
        f"'{path}' has other columns than '{first}' ({', '.join(parts)}); files of one table have the same."
    )


def _paths(source: str, alone: bool) -> list[Path]:
    """The files that are meant; none for anything that is not a file on disk (standard input, a pipe, a wrong name)."""
    if source == "-":
        if not alone:
            raise InputError("standard input (-) cannot be read together with files; name the files alone.")
        return []
    path = Path(source).absolute()
    if path.is_file():  # take the name literally, even if it has a star in it
        return [path]
    if path.exists() or not glob.has_magic(source):
        if not alone:
            read_table(source)  # raises the error that says why it is no file
        return []
    found = sorted(Path(match).absolute() for match in glob.glob(source, recursive=True))
    files = [match for match in found if match.is_file()]
    if not files:
        raise InputError(
            f"no file matches '{source}' (looked for from '{Path.cwd()}'); check the folder and the pattern."
        )
    return files


def _refuse_repeated(paths: list[Path]) -> None:
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise InputError(f"'{path}' is named twice, so that its people would count twice; name each file once.")
        seen.add(path.resolve())


def _large(path: Path) -> bool:
    try:
        kind = _kind(path)
    except OSError:
        return False  # the reader will say why
    if kind == "Parquet":
        return _parquet_rows(path) > LARGE_PARQUET
    return kind != "other" and path.stat().st_size > (LARGE_TEXT // 8 if kind == "gzip" else LARGE_TEXT)


def _parquet_rows(path: Path) -> int:
    import polars as pl

    try:
        return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
    except Exception:  # damaged: the reader will say so
        return 0


def _kind(path: Path) -> str:
    """Parquet, text in UTF-8, or gzip, which can be scanned; all other formats are read whole."""
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
            raise InputError(
                f"'{path}' is too large to be read whole, and its text is not in UTF-8; save it as UTF-8 or Parquet."
            ) from None
