"""The same table from every format that the package reads."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from ivicl import IVBounds
from ivicl.cli import app
from ivicl.data.files import read_table
from ivicl.errors import InputError, MissingDependencyError

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}
TABLE = pl.DataFrame(
    {
        "z": [0, 0, 1, 1, 1, 0],
        "t": [0, 1, 1, 0, 1, 0],
        "y": [0, 1, 1, 0, 1, None],
        "größe": ["s", "m", "s", "l", "l", "m"],
    }
)


def csv(separator: str = ",") -> str:
    return TABLE.write_csv(separator=separator)


def written(folder: Path, ending: str) -> Path:
    path = folder / f"trial{ending}"
    if ending == ".jsonl":
        TABLE.write_ndjson(path)
    elif ending == ".feather":
        TABLE.write_ipc(path)
    elif ending == ".tsv":
        path.write_text(csv("\t"), encoding="utf-8")
    elif ending == ".parquet":
        TABLE.write_parquet(path)
    elif ending == ".xlsx":
        pytest.importorskip("fastexcel")
        pytest.importorskip("xlsxwriter")
        TABLE.write_excel(path)
    elif ending == ".dta":
        pd.DataFrame({name: TABLE[name].to_numpy() for name in TABLE.columns}).to_stata(
            path, write_index=False, version=118
        )
    return path


@pytest.mark.parametrize("ending", [".jsonl", ".feather", ".tsv", ".parquet", ".xlsx", ".dta"])
def test_every_format_is_the_same_table(tmp_path: Path, ending: str) -> None:
    frame = read_table(str(written(tmp_path, ending)))
    assert frame.columns == TABLE.columns
    assert [tuple(row) for row in frame.rows()] == TABLE.rows()


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig"])
def test_every_encoding_is_the_same_table(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "trial.csv"
    path.write_bytes(csv().encode(encoding))
    assert read_table(str(path)).equals(TABLE)


def test_a_letter_that_is_not_utf8_far_down(tmp_path: Path) -> None:
    path = tmp_path / "trial.csv"
    path.write_bytes(b"z,t,y,size\n" + 5000 * b"0,1,1,a\n" + b"1,1,0,gr\xf6\xdfe\n")
    assert read_table(str(path))["size"][-1] == "größe"


@pytest.mark.parametrize("ending", [".jsonl", ".feather"])
def test_standard_input_is_told_by_its_first_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    content = written(tmp_path, ending).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read_table("-").equals(TABLE)


def test_value_labels_become_categories_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "trial.dta"
    frame = pd.DataFrame({"z": [0, 1, 1, 0], "t": [0, 1, 0, 0], "y": [1, 0, 1, 0]})
    labels = {"t": {0: "took", 1: "left"}}
    frame.to_stata(path, write_index=False, value_labels=labels)
    column = read_table(str(path))["t"]
    assert column.to_list() == ["took", "left", "took", "took"]
    assert column.dtype.categories.to_list() == ["took", "left"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("trial.sav", b"$FL2@(#) SPSS", "save it as Stata"),
        ("trial.json", b'{"z": [0, 1]}', "one object a line"),
        ("trial.zip", b"PK\x03\x04", "unpack it first"),
        ("trial.jsonl", b'{"z": 0, "t": \n', "cannot be read"),
        ("trial.dta", b"\x00not stata at all", "cannot be read"),
        ("trial.xlsx", b"\x00not a workbook", "cannot be read"),
    ],
)
def test_refusals_name_the_remedy(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    if name.endswith(".xlsx"):
        pytest.importorskip("fastexcel")
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_table(str(path))
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_without_the_extra_the_sentence_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, ".dta")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"trial.dta.*pip install 'ivicl\[files\]'"):
        read_table(str(path))


def test_from_a_stata_file_to_bounds(tmp_path: Path) -> None:
    path = tmp_path / "trial.dta"
    frame = pd.DataFrame({"z": [0, 0, 1, 1, 1], "t": [0, 0, 0, 1, 1], "y": [0, 1, 0, 0, 1], "w": [158, 14, 64, 23, 78]})
    frame.to_stata(path, write_index=False, value_labels={"z": {0: "not offered", 1: "offered"}})
    call = [
        "fit",
        str(path),
        "-y",
        "y",
        "-t",
        "t",
        "-z",
        "z",
        "--weights",
        "w",
        "--method",
        "balke-pearl",
        "--format",
        "csv",
    ]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    result = IVBounds(method="balke-pearl").fit(read_table(str(path)), weights="w", **ROLES)
    assert f"{result.lower:.6f}"[:6] in done.stdout


@pytest.mark.parametrize(("first_row", "sheet"), [(2, "data"), (0, "second")])
def test_a_workbook_whose_first_row_is_no_header_says_what_to_move(tmp_path: Path, first_row: int, sheet: str) -> None:
    """A title above the table, or a sheet of remarks before it."""
    pytest.importorskip("fastexcel")
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "trial.xlsx") as book:
        book.add_worksheet("first").write_column(0, 0, ["Trial of 2024", "made by us"])
        place = book.get_worksheet_by_name("first") if sheet == "data" else book.add_worksheet(sheet)
        for row, values in enumerate([("z", "t", "y"), (0, 0, 1), (1, 1, 0)]):
            place.write_row(first_row + row, 0, values)
    with pytest.raises(InputError, match="'Trial of 2024', which are not the columns of a table; move the table to"):
        read_table(str(tmp_path / "trial.xlsx"))
