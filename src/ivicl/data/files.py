"""Reading a user's table from a path or from stdin; whatever is not a table is refused with one sentence."""

from __future__ import annotations

import difflib
import gzip
import io
import re
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from ivicl._shared.quoting import first_sentence
from ivicl.data.delimited import UTF16_MARKS, Content, opened, raw_bytes, read_text
from ivicl.data.formats import CONTROL, Reader, reader_of
from ivicl.data.rules import refusal
from ivicl.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    import polars as pl

PARQUET_MAGIC = b"PAR1"
GZIP_MAGIC = b"\x1f\x8b"
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def read_table(source: str, typed: bool = True) -> pl.DataFrame:
    """A polars frame from a file in any of the known formats, or from stdin when the source is '-'.

    With `typed=False`, all columns of a text file are text.
    """
    import polars as pl

    name = "standard input" if source == "-" else f"'{source}'"
    content = _content(source, name)
    with opened(content) as stream:
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
    if CONTROL.search(start) and not start.startswith(UTF16_MARKS):
        raise InputError(f"{name} is not a table: it is neither CSV nor Parquet; export it as one of them.")
    return read_text(content, name, typed)


def _unpacked(content: Content, name: str) -> io.BytesIO:
    try:
        return io.BytesIO(gzip.decompress(raw_bytes(content)))
    except (OSError, EOFError, zlib.error) as error:
        why = first_sentence(error).rstrip(".")
        raise InputError(
            f"{name} looks like a gzip file but cannot be unpacked ({why}); copy or pack it again, for it may be cut "
            "off."
        ) from error


def _read_other(reader: Reader, content: Content, name: str) -> pl.DataFrame:
    try:
        frame = reader(content)
    except MissingDependencyError as error:
        raise MissingDependencyError(f"{name}: {error}") from None
    except InputError as error:
        raise InputError(f"{name} cannot be read: {error}") from None
    except Exception as error:
        why = first_sentence(error).rstrip(".")
        raise InputError(f"{name} cannot be read ({why}); save it again where it was made, or as CSV.") from error
    if not len(frame):
        raise refusal("header_only", name=name)
    return frame


def _content(source: str, name: str) -> Content:
    """The path of a file, or the bytes of something that can be read only once (standard input, a pipe)."""
    if source == "-":
        return io.BytesIO(sys.stdin.buffer.read())
    if not source.strip():
        raise InputError("the name of the file is empty; write the path of a table, or - for standard input.")
    path = Path(source).absolute()  # take the name literally: polars would treat "~" and "s3://..." specially
    try:
        if not path.is_file():
            return io.BytesIO(path.read_bytes())
        path.open("rb").close()
    except FileNotFoundError:
        if ADDRESS.match(source):
            raise InputError(
                f"{name} is an address, and nothing is fetched from elsewhere; download the table, and name its file."
            ) from None
        raise InputError(f"there is no file {name}; {_where_to_look(path)}.") from None
    except OSError as error:
        remedy = f"; name the files in it, as {name[:-1]}/*.csv'" if isinstance(error, IsADirectoryError) else ""
        raise InputError(f"{name} cannot be read: {error.strerror}{remedy}.") from error
    return path


def _where_to_look(path: Path) -> str:
    """A hint for a path that does not exist: that the folder is wrong, or else which name was perhaps meant."""
    if not path.parent.is_dir():
        return f"there is no folder '{path.parent}' either: check the path"
    # Compare names without endings: equal endings would make different names look alike.
    stems = {each.stem.lower(): each.name for each in path.parent.iterdir()}
    near = difflib.get_close_matches(path.stem.lower(), stems, n=1, cutoff=0.7)
    if near:
        return f"the nearest name in its folder is '{stems[near[0]]}'"
    column = "" if path.suffix else "; if it is a column, commas join those of one flag, as in -x age,sex"
    return f"it was looked for in '{path.parent}': check its name, or write its whole path{column}"
