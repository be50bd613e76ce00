"""What a newcomer does by mistake, to their files and in their calls: nothing is lost, and one sentence leads on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ivicl import IVBounds
from ivicl.data.files import read_table
from ivicl.errors import InputError
from test_bad_inputs import ROLES, TEXT, people

FLAGS = ["-y", "y", "-t", "t", "-z", "z"]


@pytest.fixture
def refused(run: Callable[..., tuple[int, str, str]]) -> Callable[..., str]:
    """What a command says when it refuses: one line."""

    def said(*words: object) -> str:
        code, _, err = run(*map(str, words))
        assert code == 2 and err.count("\n") == 1
        return err

    return said


@pytest.fixture
def table(tmp_path: Path) -> Path:
    pl.DataFrame(people(age=np.arange(80) % 7)).write_csv(tmp_path / "mine.csv")
    return tmp_path / "mine.csv"


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "{}", *FLAGS, "-m", "manski", "-o", "{}"],
        ["fit", "{folder}/*.csv", *FLAGS, "-m", "manski", "-o", "{}"],
        ["compare", "{}", *FLAGS, "-m", "manski", "-o", "{}"],
        ["sensitivity", "{}", *FLAGS, "-o", "{}"],
        ["check", "{}", *FLAGS, "-f", "table", "-o", "{}"],
        ["batch", "{}", "--by", "age", *FLAGS, "-m", "manski", "--overwrite", "-o", "{}"],
        ["convert-rct", "{}", "-y", "y", "-t", "z", "-x", "age", "-o", "{}"],
    ],
    ids=lambda command: f"{command[0]} {command[1]}",
)
def test_the_table_that_is_read_is_never_replaced(table, refused, command):
    before = table.read_bytes()
    said = refused(*(word.format(table, folder=table.parent) for word in command))
    assert "is the table that is read, and would be replaced; name another file" in said
    assert table.read_bytes() == before


def test_a_file_named_twice_does_not_count_its_people_twice(table, refused):
    said = refused("fit", table, table.parent / "m*.csv", *FLAGS, "-m", "manski")
    assert "mine.csv' is named twice, so that its people would count twice" in said


def test_columns_after_a_blank_are_not_taken_for_files_without_a_hint(table, refused):
    said = refused("fit", table, *FLAGS, "-x", "age", "sex")
    assert "there is no file 'sex'" in said and "if it is a column, commas join those of one flag, as in -x" in said


@pytest.mark.parametrize("name", ["export.xls", "export.xlsx", "export.dta"])
def test_text_is_read_whatever_its_name(tmp_path, name):
    (tmp_path / name).write_text(TEXT.replace(",", "\t"))
    assert read_table(str(tmp_path / name)).columns == ["z", "t", "y", "age"]


def test_a_web_page_is_called_one(tmp_path):
    (tmp_path / "a.csv").write_text("<!DOCTYPE html>\n<html><body>Please log in, then, try, again</body></html>\n")
    with pytest.raises(InputError, match="is a web page, perhaps one that asks to log in"):
        read_table(str(tmp_path / "a.csv"))


def test_every_word_for_no_answer_is_named():
    with pytest.raises(InputError, match=r"'no answer' and 'refused' look like a missing answer"):
        IVBounds("manski").fit(people(y=["0", "1", "refused", "no answer"] * 20), **ROLES)


@pytest.mark.parametrize(
    ("columns", "outcome", "sentence"),
    [
        ([0, 1, 2], 2, r"but is 2; names must be text, which df.columns = df.columns.map\(str\) makes of others"),
        ([0, 1, 2], "2", r"the columns are 0, 1, 2, which are not all text: df.columns = df.columns.map\(str\)"),
        (pd.MultiIndex.from_tuples([("a", "z"), ("a", "t"), ("b", "y")]), "y", r"\('a', 'z'\), .* not all text"),
        (pd.MultiIndex.from_tuples([("a", "z"), ("a", "t"), ("b", "y")]), ("b", "y"), r"\('b', 'y'\); names must be"),
        (["z", "t", "at\n6 months"], "at 6 months", r"the nearest name is 'at\\n6 months'\.$"),
    ],
)
def test_names_of_columns_that_are_no_plain_text(columns, outcome, sentence):
    frame = pd.DataFrame(people())
    frame.columns = columns
    with pytest.raises(InputError, match=sentence):
        IVBounds("manski").fit(frame, outcome=outcome, treatment="t", instrument="z")


def test_two_columns_of_one_name_are_named_even_if_neither_is_used():
    frame = pd.DataFrame(people(age=1))
    with pytest.raises(InputError, match="more than one column named 'age'; rename one of them"):
        IVBounds("manski").fit(pd.concat([frame, frame[["age"]]], axis=1), **ROLES)


def test_a_masked_array_is_missing_where_it_is_masked():
    data = people()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = IVBounds("manski").fit(data | {"y": np.ma.array(data["y"], mask=np.arange(80) % 8 == 0)}, **ROLES)
    assert (result.n, result.n_dropped) == (70, 10)


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (pd.cut(np.arange(80), 4), r"type Interval; .* such as the text that df\['x'\].astype\(str\) makes of them"),
        (pd.period_range("2020-01", periods=80, freq="M"), r"type Period; .* df\['x'\].astype\(str\)"),
        ([10**400, 1] * 40, r"too large to use \(beyond 1e308\); write it in a larger unit"),
    ],
)
def test_cells_that_cannot_be_read_have_a_remedy(column, sentence):
    with pytest.raises(InputError, match=sentence):
        IVBounds("manski").fit(pd.DataFrame(people(x=column)), **ROLES, covariates=["x"])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: IVBounds(estimand="late").request(), "no estimand 'late'; its name is in capitals, 'LATE'"),
        (lambda: IVBounds("manski").fit_many(people(), by=None, **ROLES), "by must name the column"),
        (
            lambda: IVBounds("manski").fit_many(people(), by=None, **(ROLES | {"outcome": ["y", "z2"]})),
            "by must name the column",
        ),
        (lambda: IVBounds("manski").fit(people(), **ROLES, cap="99%"), "'y' is binary; leave it out"),
        (
            lambda: IVBounds("manski").fit(pl.DataFrame(people()).lazy().select("nothing"), **ROLES),
            "the engine that holds the table could not .*nothing",
        ),
        (lambda: IVBounds("manski").fit(people(), **ROLES).report("."), r"but '\.' does not end in \.html"),
    ],
)
def test_other_calls_that_cannot_be_meant(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
