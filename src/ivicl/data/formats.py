"""Tables in formats other than CSV and Parquet, recognised by their ending or by their first bytes.

JSON lines and Feather need no extra; Excel and Stata need `ivicl[files]`. The first sheet of a workbook is the table.
Stata's value labels become categories, in their order.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ivicl.data.columns import show_values
from ivicl.data.rules import rules
from ivicl.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    import polars as pl

Content = Path | io.BytesIO
Reader = Callable[[Content], "pl.DataFrame"]

CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
"""Bytes that do not occur in text."""
WEB_PAGE = re.compile(rb"\s*<(!doctype html|html)", re.IGNORECASE)
ARROW_MAGIC = b"ARROW1"
ZIP_MAGIC = b"PK\x03\x04"
KNOWN_ELSEWHERE = {
    ".sav": "save it as Stata (.dta) or CSV",
    ".sas7bdat": "save it as CSV",
    ".rds": "write it as CSV or Parquet in R",
    ".rdata": "write it as CSV or Parquet in R",
    ".zip": "unpack it first",
    ".json": "write one object a line (.jsonl), or CSV",
    ".pdf": "export the table as CSV",
    ".docx": "export the table as CSV",
    ".ods": "save it as .xlsx or CSV",
}
"""Endings of formats that are not read but that people try, and what to do instead."""


def reader_of(source: str, start: bytes) -> Reader | None:
    """The reader for the table, if it is in one of these formats; an InputError for a format that is not read.

    Text is read as text even if its name ends in .xls or .dta, as some programs call it.
    """
    ending, text = Path(source).suffix.lower(), not CONTROL.search(start)
    if WEB_PAGE.match(start):
        raise InputError(
            f"'{source}' is a web page, perhaps one that asks to log in, and not a table; download the table itself."
        )
    if ending in KNOWN_ELSEWHERE:
        raise InputError(f"'{source}' is in a format that is not read ({ending}): {KNOWN_ELSEWHERE[ending]}.")
    if start.startswith(ARROW_MAGIC):
        return _feather
    if ending in (".jsonl", ".ndjson") or start.lstrip().startswith(b"{"):
        return _json_lines
    if (ending in (".xlsx", ".xls", ".xlsm") and not text) or start.startswith(ZIP_MAGIC):
        return _excel
    return _stata if (ending == ".dta" and not text) or start.startswith(b"<stata_dta>") else None


def _feather(content: Content) -> pl.DataFrame:
    import polars as pl

    return pl.read_ipc(content)


def _json_lines(content: Content) -> pl.DataFrame:
    import polars as pl

    try:
        # Types are inferred from all rows, as for CSV.
        return pl.read_ndjson(content, infer_schema_length=None)
    except Exception:
        _refuse_broken_line(content)
        raise


def _refuse_broken_line(content: Content) -> None:
    """Name the first line that is not JSON, which polars does not tell."""
    text = content.read_bytes() if isinstance(content, Path) else content.getvalue()
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            json.loads(line or b"{}")
        except ValueError:
            shown = line[:40].decode(errors="replace")
            raise InputError(f"line {number} is not JSON, {shown!r}; write one whole object a line.") from None


def _excel(content: Content) -> pl.DataFrame:
    import polars as pl

    _need("fastexcel", "an Excel file")
    # polars leaves out empty rows and columns around the table; types are inferred from all rows.
    frame = pl.read_excel(content, infer_schema_length=None)
    named = [name for name in frame.columns if not name.startswith("__UNNAMED__")]
    if len(frame) and len(named) < rules()["file"]["least_columns"]:
        raise InputError(
            f"the first row of its first sheet names {show_values(named, 3) or 'nothing'}, which are not the columns "
            "of a table; move the table to the first sheet, with the names of its columns in the first row."
        )
    return frame


def _stata(content: Content) -> pl.DataFrame:
    _need("pandas", "a Stata file")
    import pandas as pd

    try:
        frame = pd.read_stata(content)
    except ValueError as error:
        if "labels" not in str(error):
            raise
        # Two values of one column have the same label, so that as categories they would be one: read the numbers.
        frame = pd.read_stata(content, convert_categoricals=False)
    return _from_pandas(frame)


def _from_pandas(frame: Any) -> pl.DataFrame:
    """A pandas frame as polars, converted column by column because polars' own conversion needs pyarrow."""
    import pandas as pd
    import polars as pl

    columns: dict[str, pl.Series] = {}
    for name in frame.columns:
        series = frame[name]
        if isinstance(series.dtype, pd.CategoricalDtype):
            # In Stata some values may have no label; they keep their numbers.
            levels = [str(level) for level in series.cat.categories]
            values = [None if code < 0 else levels[code] for code in series.cat.codes]
            columns[name] = pl.Series(name, values, dtype=pl.Enum(levels))
        elif series.dtype.kind in "iufb":
            columns[name] = pl.Series(name, series.to_numpy()).fill_nan(None)
        else:
            columns[name] = pl.Series(name, [None if pd.isna(value) else value for value in series])
    return pl.DataFrame(columns)


def _need(package: str, what: str) -> None:
    import importlib.util

    if importlib.util.find_spec(package) is None:
        raise MissingDependencyError(f"{what} needs {package}: install it with pip install 'ivicl[files]'.")
