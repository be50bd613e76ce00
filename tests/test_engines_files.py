"""Files by pattern, packed or large: scanned, merged as they stream by, and read as a small file is read."""

from __future__ import annotations

import gzip
import io
import json
import sys

import polars as pl
import pytest

from engines import ROLES, untidy
from ivicl import IVData
from ivicl.data import scanning
from ivicl.data.files import read_table
from ivicl.data.scanning import TextScan, open_table
from ivicl.errors import InputError
from test_engines_compression import same_data


@pytest.fixture
def parts(tmp_path):
    """One table in a file, and in three parts, each as text, packed text and Parquet."""
    frame = untidy().with_columns(pl.col("age").cast(pl.Int64))
    frame.write_csv(tmp_path / "whole.csv")
    for k in range(3):
        part = frame[k::3]
        part.write_parquet(tmp_path / f"part-{k}.parquet")
        part.write_csv(tmp_path / f"part-{k}.csv")
        (tmp_path / f"part-{k}.tsv.gz").write_bytes(gzip.compress(part.write_csv(separator="\t").encode()))
    return tmp_path


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv.gz"])
@pytest.mark.parametrize("large", [False, True])
def test_a_pattern_is_one_table(parts, ending, large, monkeypatch):
    """And so are the names that a shell makes of it."""
    expected = IVData.from_frame(read_table(str(parts / "whole.csv")), **ROLES)
    if large:
        monkeypatch.setattr(scanning, "LARGE_TEXT", 1000)
    by_pattern = open_table(str(parts / f"part-*.{ending}"))
    by_names = open_table([str(parts / f"part-{k}.{ending}") for k in range(3)])
    for found in (by_pattern, by_names):
        assert isinstance(found, pl.LazyFrame | TextScan) == (large or ending == "parquet")
        same_data(IVData.from_frame(found, **ROLES), expected)


def test_several_small_text_files_are_read_as_carefully_as_one(tmp_path):
    """Old encodings and line ends, columns in another order, a broken line with its number."""
    (tmp_path / "a.csv").write_bytes("z,t,y,ort\n0,0,1,Köln\n1,1,0,Ulm\n".encode("latin-1"))
    (tmp_path / "b.csv").write_bytes(b"ort;y;t;z\rUlm;1;1;1\r")
    frame = open_table([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
    assert frame.rows() == [(0, 0, 1, "Köln"), (1, 1, 0, "Ulm"), (1, 1, 1, "Ulm")]
    (tmp_path / "b.csv").write_text("z,t,y,ort\n0,0,1,Ulm\n0,0,1,Ulm,Bonn\n")
    with pytest.raises(InputError, match=r"b.csv' is not a table: line 3 has 5 fields, but the first line names 4 col"):
        open_table(str(tmp_path / "?.csv"))


def test_standard_input_and_what_is_not_there_are_no_parts(parts):
    for other, sentence in (("-", r"\(-\) cannot be read together"), ("part-9.csv", "there is no file 'part-9.csv'")):
        with pytest.raises(InputError, match=sentence):
            open_table([str(parts / "part-0.csv"), other])


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "parquet"])
def test_a_large_file_is_scanned_and_means_the_same(parts, ending, monkeypatch):
    path = str(parts / f"part-0.{ending}")
    small = open_table(path)
    assert isinstance(small, pl.DataFrame)
    monkeypatch.setattr(scanning, "LARGE_TEXT", 1000)
    monkeypatch.setattr(scanning, "LARGE_PARQUET", 100)
    large = open_table(path)
    assert isinstance(large, pl.LazyFrame | TextScan)
    same_data(IVData.from_frame(large, **ROLES), IVData.from_frame(small, **ROLES))


def test_a_column_that_turns_to_text_in_its_last_row_is_text(tmp_path, monkeypatch):
    """Types are those of all rows, although rows are merged before any has been typed."""
    monkeypatch.setattr(scanning, "LARGE_TEXT", 100)
    path = tmp_path / "late.csv"
    path.write_text("z,t,y,x\n" + "0,0,1,1\n1,1,0,2.0\n1,0,NA,01\n" * 200 + "1,1,1,late\n")
    roles = {"outcome": "y", "treatment": "t", "instrument": "z", "covariates": ["x"]}
    data = IVData.from_frame(open_table(str(path)), **roles)
    same_data(data, IVData.from_frame(read_table(str(path)), **roles))
    assert data.covariates == ("x=2.0", "x=late")
    assert data.report.n_dropped == 200


def test_packed_standard_input(parts, monkeypatch):
    packed = (parts / "part-0.tsv.gz").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    assert open_table("-").equals(read_table(str(parts / "part-0.csv")))


def test_a_pattern_that_is_no_table(parts, tmp_path):
    for pattern, sentence in (
        ("nothing-*.csv", "no file matches"),
        ("part-0.*", r"files of several kinds \(Parquet, gzip, text\)"),
        (
            "*.csv",
            r"'.*whole\.csv' has other columns than '.*part-0\.csv' \(no 'letter', 'taken', 'well', .* besides\)",
        ),
    ):
        if pattern == "*.csv":
            (tmp_path / "whole.csv").write_text("z,t,y\n0,0,1\n")
        with pytest.raises(InputError, match=sentence):
            open_table(str(tmp_path / pattern))
    (tmp_path / "cut.csv.gz").write_bytes((parts / "part-0.tsv.gz").read_bytes()[:900])
    with pytest.raises(InputError, match="looks like a gzip file but cannot be unpacked"):
        open_table(str(tmp_path / "cut.csv.gz"))


def test_weights_that_are_text_in_a_large_file(tmp_path, monkeypatch):
    monkeypatch.setattr(scanning, "LARGE_TEXT", 10)
    path = tmp_path / "rows.csv"
    path.write_text("z,t,y,w\n0,0,1,2\n1,1,0,many\n")
    with pytest.raises(InputError, match=r"could not merge its rows: .*many"):
        IVData.from_frame(open_table(str(path)), outcome="y", treatment="t", instrument="z", weights="w")


def test_the_commands_take_patterns(parts, run):
    roles = ["-y", "well", "-t", "taken", "-z", "letter", "-x", "age,site", "-w", "people", "-m", "balke-pearl"]
    code, whole, _ = run("fit", str(parts / "whole.csv"), *roles, "--format", "json")
    assert code == 0
    for pattern in ("part-*.parquet", "part-*.tsv.gz"):
        code, found, _ = run("fit", str(parts / pattern), *roles, "--format", "json")
        assert code == 0
        ours, theirs = json.loads(found), json.loads(whole)
        for key in ("lower", "upper"):
            assert ours.pop(key) == pytest.approx(theirs.pop(key), abs=1e-9)
        for key in ("n", "n_rows", "n_dropped", "notes", "codings"):
            assert ours[key] == theirs[key]
    output = parts / "bounds.csv"
    code, _, _ = run("batch", str(parts / "part-*.csv"), "--by", "study", *roles, "-o", str(output))
    assert code == 0
    assert sorted(pl.read_csv(output)["study"].to_list()) == ["a", "b", "c"]
