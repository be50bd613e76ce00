"""No silent guess: what looks wrong in a column is a finding, and ordinary data have none."""

from __future__ import annotations

import datetime
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from every_method import ROLES, small_table
from ivicl import IVBounds, IVData, datasets
from ivicl.data.files import read_table
from ivicl.errors import InputError

ODD = ("coding", "missing codes", "dates", "numbers as text", "identifiers", "copies", "repeats")


def odd(table: object, **roles: object) -> dict[str, str]:
    """Findings by name, with their remedies."""
    found = IVBounds(method="manski").fit(table, **(ROLES | roles)).findings
    return {f.name: f.text for f in found if f.name in ODD and f.grade == "look"}


def ordinary_tables() -> list[tuple[object, dict[str, object]]]:
    rng = np.random.default_rng(0)
    n = 400
    table = small_table(n)
    age, weight = rng.integers(18, 90, n), np.round(rng.normal(70, 12, n), 1)
    yes_no = {"z": np.where(table["z"] == 1, "treatment", "control"), "t": np.where(table["t"] == 1, "yes", "no")}
    covariates = {"age": age, "weight": weight, "score": rng.normal(size=n), "region": rng.choice(list("nesw"), n)}
    likert = {"y": rng.integers(1, 8, n)}  # a seven-point scale has a 7
    money = {"y": np.round(rng.lognormal(6, 1, n))}
    counts = {"y": rng.poisson(3.0, n) + 0.0}
    grades = {"y": rng.integers(0, 100, n)}  # 99 and 98 are ordinary there
    few = {"y": rng.choice([0, 1, 2], n)}
    years = {"born": rng.integers(1940, 2005, n), "visits": rng.integers(0, 9, n)}
    names = [*covariates, *years]
    return [
        (table | covariates | years | extra, {"covariates": names})
        for extra in ({}, yes_no, likert, money, counts, grades, few, {"y": table["y"] == 1})
    ]


@pytest.mark.parametrize("case", range(8))
def test_ordinary_data_raise_no_alarm(case: int) -> None:
    table, roles = ordinary_tables()[case]
    assert odd(table, **roles) == {}


def test_the_shipped_trials_raise_no_alarm() -> None:
    assert odd(datasets.load("vitamin_a"), weights="people") == {}


def test_a_coding_guessed_from_the_alphabet_is_in_the_title_the_scale_and_the_findings(tmp_path) -> None:
    table = small_table()
    table = table | {"work": np.where(table["y"] == 1, "employed", "unemployed"), "arm": np.where(table["t"], "a", "b")}
    roles = {"outcome": "work", "treatment": "arm", "instrument": "z"}
    res = IVBounds(method="balke-pearl").fit(table, **roles)
    assert "effect of arm = 'b' on P(work = 'unemployed')" in " ".join(res.summary().split())
    assert res.codings["outcome"].guessed and not res.codings["instrument"].guessed
    text = next(f.text for f in res.findings if f.name == "coding" and "work" in f.text)
    assert "'unemployed' counts as 1 because it is later in the alphabet" in text
    assert "ones={'work': 'employed'} (--one work=employed)" in text
    page = res.report(tmp_path / "page.html").read_text()
    assert "P(work = &#x27;unemployed&#x27;)" in page
    row = res.row()
    assert (row["instrument_one"], row["treatment_one"], row["outcome_one"]) == ("1", "b", "unemployed")
    named = IVBounds(method="balke-pearl").fit(table, **roles, ones={"work": "employed", "arm": "a"})
    assert not any(f.name == "coding" for f in named.findings)
    assert "on P(work = 'employed')" in " ".join(named.summary().split())  # still said, no longer a guess
    many = IVBounds(method="balke-pearl").fit_many(table | {"s": table["old"]}, by="s", **roles)
    assert list(many["outcome_one"]) == ["unemployed"] * 2
    assert all("--one work=employed" in text for text in list(many["findings"]))


def test_one_and_two_are_a_guess_but_zero_and_anything_is_not() -> None:
    table = small_table()
    assert "coding" in odd(table | {"y": table["y"] + 1})
    assert odd(table | {"y": table["y"] * 100}) == {}
    assert odd(table | {"t": np.where(table["t"] == 1, 1, -1)}) == {}


def test_ordered_categories_keep_their_order() -> None:
    table = small_table()
    for frame in (
        pd.DataFrame(table).assign(
            y=pd.Categorical(np.where(table["y"] == 1, "high", "low"), categories=["low", "high"], ordered=True)
        ),
        pl.DataFrame(table).with_columns(
            y=pl.Series(np.where(table["y"] == 1, "high", "low"), dtype=pl.Enum(["low", "high"]))
        ),
    ):
        data = IVData.from_frame(frame, **ROLES)
        assert (data.report.codings["outcome"].one, data.report.codings["outcome"].guessed) == ("high", False)
        np.testing.assert_array_equal(data.y, table["y"])
    sizes = pd.Categorical(np.resize(["m", "s", "l"], 240), categories=["s", "m", "l"], ordered=True)
    data = IVData.from_frame(pd.DataFrame(table).assign(size=sizes), **ROLES, covariates=["size"])
    assert data.covariates == ("size=m", "size=l")


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (lambda y, gone: np.where(gone, 9, y), "9"),
        (lambda y, gone: np.where(gone, -9, y), "-9"),
        (lambda y, gone: np.where(gone, 99, 2 * y + np.arange(240) % 9), "99"),
        (lambda y, gone: np.where(gone, -1, y + np.arange(240) % 5), "-1"),
        (lambda y, gone: np.where(gone, 9, 1 + np.arange(240) % 5), "9"),
        (lambda y, gone: np.where(gone, "missing", "yes"), "missing"),
    ],
)
def test_likely_missing_codes_of_the_outcome(outcome, code: str) -> None:
    table = small_table()
    found = odd(table | {"y": outcome(table["y"], np.arange(240) % 12 == 0)})
    assert code in found["missing codes"] and "leave those cells empty" in found["missing codes"]


def test_refusals_say_what_the_values_look_like() -> None:
    table = small_table()
    text = np.where(np.arange(240) % 12 == 0, "#N/A", np.where(table["y"] == 1, "yes", "no"))
    with pytest.raises(InputError, match="'#N/A' looks like a missing answer: leave those cells empty"):
        IVData.from_frame(table | {"y": text}, **ROLES)
    with pytest.raises(InputError, match="look like numbers with a decimal comma: write a decimal point"):
        IVData.from_frame(table | {"y": np.array([f"{i % 7},5" for i in range(240)])}, **ROLES)
    with pytest.raises(InputError, match="-9 looks like a code for a missing answer"):
        IVData.from_frame(table | {"t": np.where(np.arange(240) % 12 == 0, -9, table["t"])}, **ROLES)


def test_covariates_that_are_not_what_they_seem() -> None:
    table = small_table()
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(i % 90)) for i in range(240)]
    cases = {
        "numbers as text": np.array([f"{i % 50},{i % 7}" for i in range(240)]),
        "dates": np.array([str(day) for day in days]),
        "identifiers": np.array([f"person {i}" for i in range(240)]),
    }
    for name, values in cases.items():
        assert list(odd(table | {"x": values}, covariates=["x"])) == [name]
    assert list(odd(pl.DataFrame(table | {"x": days}), covariates=["x"])) == ["dates"]
    assert list(odd(table | {"x": np.arange(240) + 1}, covariates=["x"])) == ["identifiers"]
    shuffled = np.random.default_rng(0).permutation(100_000)[:240]
    assert odd(table | {"x": shuffled}, covariates=["x"]) == {}
    assert list(odd(table | {"person_id": shuffled}, covariates=["person_id"])) == ["identifiers"]
    assert "days since 1970" in odd(pl.DataFrame(table | {"y": days}))["dates"]


def test_a_word_among_numbers_does_not_turn_them_into_categories_silently(tmp_path) -> None:
    table = small_table()
    age = np.where(np.arange(240) % 30 == 0, "refused", (18 + np.arange(240) % 47).astype(str))
    found = odd(table | {"age": age}, covariates=["age"])
    assert "'age' is text because of 'refused', though its other values are numbers" in found["numbers as text"]
    # Stata labels single values of an amount in the same way.
    frame = pd.DataFrame(table | {"age": np.where(np.arange(240) % 30 == 0, -9, 18 + np.arange(240) % 47)})
    frame.to_stata(tmp_path / "trial.dta", write_index=False, value_labels={"age": {-9: "refused"}})
    assert list(odd(read_table(str(tmp_path / "trial.dta")), covariates=["age"])) == ["numbers as text"]
    grade = np.array(["K", "1", "2", "3", "4+", "none"])[np.arange(240) % 6]
    assert odd(table | {"grade": grade}, covariates=["grade"]) == {}


@pytest.mark.parametrize("missing_outcome", ["drop", "bounds"])
def test_a_covariate_that_repeats_the_treatment_or_the_outcome(missing_outcome) -> None:
    table = small_table()
    table = table | {"y": np.where(np.arange(240) % 40 == 7, np.nan, table["y"])}
    x = {"got it": np.where(table["t"] == 1, "no", "yes"), "score": 40 - 8.5 * np.nan_to_num(table["y"], nan=1.0)}
    sentences = {"got it": "'got it=yes' says in every row what the treatment 't'", "score": "the outcome 'y' says"}
    for name, sentence in sentences.items():
        found = odd(table | x, covariates=[name, "old"], missing_outcome=missing_outcome)
        assert list(found) == ["repeats"] and sentence in found["repeats"] and "Leave it out" in found["repeats"]
    almost = np.where(np.arange(240) == 200, 1 - table["t"], table["t"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "repeats" in odd(table | {"x": 1e300 * table["t"]}, covariates=["x"])
    assert odd(table | {"x": almost, "same": np.full(240, 0.1)}, covariates=["x", "same"]) == {}


def test_copies_of_people_with_a_continuous_covariate() -> None:
    rng = np.random.default_rng(1)
    table = small_table() | {"x": rng.normal(size=240)}
    twice = {name: np.concatenate([values, values[:60]]) for name, values in table.items()}
    assert odd(table, covariates=["x"]) == {}
    found = odd(twice, covariates=["x"])
    assert "60 of 300 rows repeat another row exactly, although 'x' is continuous" in found["copies"]
    assert odd(twice | {"w": np.ones(300)}, covariates=["x"], weights="w") == {}
    rounded = twice | {"x": np.round(twice["x"], 1)}  # many share a value: equal rows are no surprise
    assert odd(rounded, covariates=["x"]) == {}


def test_swapped_treatment_and_instrument_are_worth_a_look() -> None:
    counts = np.array([[[158, 14], [0, 0]], [[52, 12], [23, 78]]])
    right = IVBounds(method="manski").fit_counts(counts)
    swapped = IVBounds(method="manski").fit_counts(np.swapaxes(counts, 0, 1))
    assert not any("swapped" in f.text for f in right.findings)
    assert next(f for f in swapped.findings if "swapped" in f.text).grade == "look"


def test_na_means_the_same_in_a_file_and_in_a_frame(tmp_path) -> None:
    text = ["NA", "1", "0", ".", "1", "0", "null", "1", "0", "0"]
    table = {"z": [0, 1] * 5, "t": [0, 1] * 5, "y": text, "x": ["NA", "b"] + ["a"] * 8}
    path = tmp_path / "table.csv"
    pl.DataFrame(table).write_csv(path)
    roles = ROLES | {"covariates": ["x"], "missing": "indicator"}
    from_file = IVData.from_frame(read_table(str(path)), **roles)
    for frame in (pd.DataFrame(table), pl.DataFrame(table), table):
        data = IVData.from_frame(frame, **roles)
        assert data.n == from_file.n == 7 and data.covariates == from_file.covariates
        np.testing.assert_array_equal(data.y, from_file.y)


def test_the_command_line_names_it(run, tmp_path) -> None:
    table = small_table()
    path = tmp_path / "trial.csv"
    pl.DataFrame(table | {"work": np.where(table["y"] == 1, "employed", "unemployed")}).write_csv(path)
    roles = ("-y", "work", "-t", "t", "-z", "z", "-m", "manski")
    code, out, _ = run("fit", str(path), *roles)
    assert code == 0 and "P(work = 'unemployed')" in out and "--one work=employed" in " ".join(out.split())
    code, out, _ = run("fit", str(path), *roles, "--one", "work=employed", "--format", "json")
    assert not json.loads(out)["codings"]["outcome"]["guessed"]
