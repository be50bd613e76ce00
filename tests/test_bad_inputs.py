"""Files that spreadsheets really write, and calls that people really make: read, or answered by one sentence.

The record 2026-11-18-bad-inputs has the whole list with its answers.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from ivicl import BoundsResult, IVBounds, IVData, compare
from ivicl.data.files import read_table
from ivicl.errors import InputError

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}
TEXT = "z,t,y,age\n0,0,1,30\n1,1,0,40\n1,0,1,50\n"


def people(n: int = 80, **more: object) -> dict[str, object]:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, n)
    return {"z": z, "t": z * rng.integers(0, 2, n), "y": rng.integers(0, 2, n)} | more


@pytest.mark.parametrize(
    "content",
    [
        TEXT.replace("\n", "\r").encode(),
        TEXT.replace(",", "|").encode(),
        TEXT.replace("\n", "\n\n").encode() + b"\n\n",
        TEXT.replace("\n", ",,\n").encode(),
        (TEXT + ",,,\n").encode(),
    ],
    ids=["old Macs", "bars", "blank lines", "columns without a name", "a row of nothing"],
)
def test_odd_but_ordinary_files_are_read(tmp_path, content):
    (tmp_path / "odd.csv").write_bytes(content)
    frame = read_table(str(tmp_path / "odd.csv"))
    assert frame.select("z", "t", "y", "age").rows() == [(0, 0, 1, 30), (1, 1, 0, 40), (1, 0, 1, 50)]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", TEXT + "1,0,1,33,44\n", "line 5 has 5 fields, but the first line names 4 columns; put a field that"),
        ("a.csv", TEXT.replace("1,1,0", '"1,1,0'), "in line 3 a quotation mark does not end with the field; close it"),
        (
            "a.csv",
            "1,0,1,33\n" + TEXT,
            "has '1' twice in its first line, which looks like a row of data; the first line",
        ),
        ("a.csv", "Trial,,,\n" + TEXT, "fewer than three columns, 'Trial,,,'; the first line must name the columns"),
        ("a.jsonl", '{"z": 1}\n{"z":\n', "line 2 is not JSON, '{\"z\":'; write one whole object a line"),
    ],
)
def test_a_broken_line_is_named_with_the_remedy(tmp_path, name, content, sentence):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError) as refused:
        read_table(str(tmp_path / name))
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("https://example.org/trial.csv", "is an address, and nothing is fetched from elsewhere; download"),
        (" ", "the name of the file is empty; write the path"),
    ],
)
def test_what_is_no_file_at_all(source, sentence):
    with pytest.raises(InputError, match=sentence):
        read_table(source)


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        (["2024-01-11", "2024-02-11", "2024-03-11"], "They look like dates: make a column of days"),
        (["$1,200", "$900", "35 %"], "write the digits alone"),
        (["Yes", "no", "yes", "No"], "'No' and 'no' differ in capitals alone: write them alike"),
        (["1", "2", "3", "high"], "All but 'high' are numbers"),
        (["a", "b", "c"], "write it as numbers, or keep the rows of two of them."),
    ],
)
def test_an_outcome_of_texts_is_refused_with_what_may_be_meant(values, hint):
    with pytest.raises(InputError) as refused:
        IVBounds("manski").fit(people(y=(values * 80)[:80]), **ROLES)
    assert "outcome 'y' must be numbers or two values, but has " in str(refused.value) and hint in str(refused.value)


def test_a_covariate_that_is_the_instrument_stops():
    """Its arms have no counterparts; with few people no estimate of P(Z=1 | X) says so."""
    data = people()
    for role in ({"covariates": ["copy"]}, {"strata": "copy"}):
        with pytest.warns(UserWarning, match=r"'copy.*' has one value in each arm, so nobody .* Leave it out"):
            result = IVBounds("manski").fit(data | {"copy": np.asarray(data["z"]) * 3}, **ROLES, **role)
        assert result.grade == "stop" and result.diagnostics.balance.largest == 99.0


def test_strata_of_one_person_each_are_refused():
    with pytest.raises(InputError, match="strata 'id' gives each of the 80 people a stratum of their own; name"):
        IVBounds("manski").fit(people(id=np.arange(80)), **ROLES, strata="id")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: IVBounds(assume=3).request(), "cannot assume 3 in addition"),
        (lambda: IVBounds(combine=["means"]).request(), r"combine must be 'means', .* but is \['means'\]"),
        (lambda: IVBounds().fit(people(), **ROLES, ones="y"), "ones must be a dictionary from column to the value"),
        (lambda: IVBounds().fit(np.zeros((4, 3)), **ROLES), "give arrays to IVData.from_arrays"),
        (
            lambda: IVBounds().fit([{"z": 1}], **ROLES),
            r"make a frame of it first, for example polars.DataFrame\(rows\)",
        ),
        (lambda: IVBounds().fit({}, **ROLES), "the table has no columns"),
        (lambda: IVBounds().fit_data(pl.DataFrame(people())), "fit_data takes an IVData, but was given a DataFrame"),
        (lambda: BoundsResult.load("nowhere.json"), r"cannot be read \(No such file .*\); name a file that res.save"),
    ],
)
def test_calls_that_cannot_be_meant(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


def test_keywords_of_functions_that_pass_them_on_are_checked_as_those_of_fit_are():
    with pytest.raises(TypeError, match=r"fit_many\(\) got an unexpected keyword argument 'wieghts'; .* 'weights'"):
        IVBounds("manski").fit_many(people(), by="z", wieghts="w", **ROLES)
    with pytest.raises(TypeError, match=r"fit_many\(\) needs the keyword arguments treatment and instrument"):
        IVBounds("manski").fit_many(people(), by="z", outcome="y")
    for name, function in (("compare", compare), ("from_frame", IVData.from_frame)):
        with pytest.raises(TypeError, match=rf"{name}\(\) got an unexpected keyword argument 'wieghts'; .* 'weights'"):
            function(people(), wieghts="w", **ROLES)
        with pytest.raises(TypeError, match=rf"{name}\(\) needs the keyword arguments treatment and instrument"):
            function(people(), outcome="y")


def test_numbers_of_numpy_are_levels_too():
    assert IVBounds(alpha=np.float32(0.25)).request().alpha == 0.25


def test_a_result_that_cannot_be_written_says_what_to_do(tmp_path):
    result = IVBounds("manski").fit(people(), **ROLES)
    with pytest.raises(InputError, match=r"cannot be written \(.*\); make its folder first, or name another place"):
        result.save(tmp_path / "nowhere" / "bounds.json")
    with pytest.raises(InputError, match="has no posterior of the ATE, so it cannot give an interval at another level"):
        result.interval(0.1)
