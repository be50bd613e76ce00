"""Columns of a user's table by role, from any frame that narwhals reads, with checks of their names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from ivicl.data.asking import ask
from ivicl.data.binning import binned_columns
from ivicl.data.columns import Column, show_values
from ivicl.data.compression import ReadTable, read_compressed
from ivicl.data.labels import column_in_role
from ivicl.data.moments import holds_numbers
from ivicl.data.roles import Roles, called
from ivicl.data.scanning import TextScan
from ivicl.errors import InputError

WORTH_MERGING = 100_000
"""A polars frame in memory with more rows than this is merged before its texts become Python's: five times as fast."""


def read_frame(
    df: Any,
    roles: Mapping[str, str],
    weights: str | None = None,
    seed: int = 0,
    most: int | None = None,
    asked: Roles | None = None,
) -> ReadTable:
    """The columns of `roles`. A frame that is lazy, or that an engine holds, is merged there.

    `weights` names the column whose entries are added up when rows are merged; `seed` is for the sample that is drawn
    if there are more than `most` different rows. If `most` is given, a frame in memory keeps its order. If `asked` is
    given, amounts with too many different values are merged into moments before anything is sampled.
    """
    import narwhals as nw

    retype = None
    if isinstance(df, TextScan):
        check_names(df.frame.collect_schema().names(), roles)
        numbers = [] if asked is None else [name for name in asked.binned if holds_numbers(df.frame, name)]
        df, retype = df.with_numbers(*numbers, *([] if weights is None else [weights])), df.typed
    frame = None if isinstance(df, Mapping) else _frame(df)
    if isinstance(frame, nw.LazyFrame):
        check_names(ask(frame.collect_schema).names(), roles)
        return read_compressed(frame, roles, weights, seed, retype, most, asked)
    if frame is not None and most is None and frame.implementation.is_polars() and len(frame) > WORTH_MERGING:
        check_names(frame.columns, roles)
        return _binned(read_compressed(frame.lazy(), roles, weights, seed, most=len(frame)), weights, asked)
    columns = _columns(df if frame is None else frame, roles)
    return _binned(ReadTable(columns, np.ones(len(next(iter(columns.values()))))), weights, asked)


def _binned(read: ReadTable, weights: str | None, asked: Roles | None) -> ReadTable:
    """A table in memory with its covariates cut into groups, if that was asked for."""
    if asked is None or asked.bins is None:
        return read
    column = None if weights is None else read.columns[weights]
    people = read.rows if column is None or column.kind == "text" else np.maximum(column.values, 0.0)
    columns, binned = binned_columns(read.columns, asked.binned, people, asked.bins)
    return replace(read, columns=columns, binned=binned)


def _columns(df: Any, roles: Mapping[str, str]) -> dict[str, Column]:
    if isinstance(df, Mapping):
        names = list(df)
        check_names(names, roles)
        columns = {name: column_in_role(role, name, df[name]) for role, name in roles.items()}
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError("columns differ in length: " + ", ".join(f"{k} has {v}" for k, v in lengths.items()) + ".")
        return columns
    check_names(df.columns, roles)
    return {name: column_in_role(role, name, df[name]) for role, name in roles.items()}


def _remedy(df: Any) -> str:
    """What to do with data that is not a table."""
    if isinstance(df, (str, PathLike)):
        return f"; read the file first (polars.read_csv({str(df)!r})), or use the command ivicl fit"
    if type(df).__name__ == "ndarray":
        return "; give arrays to IVData.from_arrays(z, t, y, x), and its answer to fit_data"
    if isinstance(df, list):
        return "; make a frame of it first, for example polars.DataFrame(rows)"
    return "; pandas, polars, pyarrow and duckdb tables are, and dictionaries of columns"


def _frame(df: Any) -> Any:
    """The data as a narwhals frame, eager or lazy."""
    import narwhals as nw

    # pandas allows two columns of one name and could return either: check before narwhals does.
    native_names = getattr(df, "columns", None) if type(df).__module__.startswith("pandas") else None
    if native_names is not None:
        _refuse_duplicate_names([str(name) for name in native_names])
    try:
        frame = nw.from_native(df)
    except Exception as error:
        raise InputError(
            f"the data is a {type(df).__name__}, which is not a table that can be read{_remedy(df)}."
        ) from error
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        raise InputError(f"the data is a {type(df).__name__}, which is not a table that can be read{_remedy(df)}.")
    return frame


def _refuse_duplicate_names(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"the table has more than one column named '{name}'; rename one of them.")
        seen.add(name)


def _all_names(names: list[str]) -> str:
    return f"the columns are {show_values(list(names), 8)}" if len(names) else "the table has no columns"


def check_names(names: list[str], roles: Mapping[str, str]) -> None:
    """Raise an InputError for a column that does not exist, with the nearest name that does."""
    for role, name in roles.items():
        if name in names:
            continue
        folded = {str(other).lower(): str(other) for other in names}
        near = difflib.get_close_matches(name.lower(), list(folded), n=1, cutoff=0.5)
        hint = f"the nearest name is {folded[near[0]]!r}" if near else _all_names(names)
        if any(not isinstance(other, str) for other in names):
            hint = f"{_all_names(names)}, which are not all text: df.columns = df.columns.map(str) makes them so"
        raise InputError(f"there is no column {name!r} for {called(role)}; {hint}.")
