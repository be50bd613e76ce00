"""The command line: known answers, formats, standard input, and one sentence with exit code 2 for every mistake."""

from __future__ import annotations

import io
import json
import sys

import polars as pl
import pytest

CHOLESTYRAMINE = ["158", "14", "0", "0", "52", "12", "23", "78"]
VITAMIN_A = ["74", "11514", "0", "0", "34", "2385", "12", "9663"]
ROLES = ["-y", "y", "-t", "t", "-z", "z"]
TABLE = {"z": [0, 0, 0, 1, 1, 1], "t": [0, 0, 1, 1, 1, 0], "y": [0, 1, 1, 1, 0, 1], "age": [1, 2, 3, 4, 5, 6]}


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "data.csv"
    pl.DataFrame(TABLE).write_csv(path)
    return path


@pytest.mark.parametrize(("counts", "known"), [(VITAMIN_A, (-0.1946, 0.0054)), (CHOLESTYRAMINE, (0.3913, 0.7792))])
def test_known_answers(run, counts, known):
    code, out, err = run("counts", *counts, "--method", "balke-pearl", "--format", "json")
    assert code == 0
    found = json.loads(out)
    assert (round(found["lower"], 4), round(found["upper"], 4)) == known
    assert "sampling error" in err


def test_every_format(run, csv):
    arguments = ("fit", str(csv), *ROLES, "-m", "manski", "-f")
    assert "average treatment effect" in run(*arguments, "table")[1]
    assert json.loads(run(*arguments, "json")[1])["method"] == "manski"
    assert pl.read_csv(io.StringIO(run(*arguments, "csv")[1]))["n"][0] == 6
    assert run(*arguments, "md")[1].startswith("| | |\n|---|---|")
    assert run(*arguments, "latex")[1].startswith(r"\begin{tabular}")


def test_parquet_semicolons_and_standard_input(run, csv, tmp_path, monkeypatch):
    expected = run("fit", str(csv), *ROLES, "-m", "manski", "-f", "json")[1]
    pl.DataFrame(TABLE).write_parquet(tmp_path / "data.parquet")
    pl.DataFrame(TABLE).write_csv(tmp_path / "semicolon.csv", separator=";")
    for name in ("data.parquet", "semicolon.csv"):
        assert run("fit", str(tmp_path / name), *ROLES, "-m", "manski", "-f", "json")[1] == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(csv.read_bytes())))
    assert run("fit", "-", *ROLES, "-m", "manski", "-f", "json")[1] == expected


def test_weights_range_coding_and_options_reach_the_method(run, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("arm,took,score,people\nA,no,10,5\nA,yes,20,5\nB,no,30,5\nB,yes,20,7\n")
    arguments = (
        "fit",
        str(path),
        "-y",
        "score",
        "-t",
        "took",
        "-z",
        "arm",
        "-w",
        "people",
        "--range",
        "0,100",
        "-f",
        "json",
    )
    found = json.loads(run(*arguments, "-m", "sharp", "--set", "levels=3", "--one", "arm=A")[1])
    assert found["n"] == 22
    assert found["outcome_range"] == [0, 100]
    assert found["details"]["n_levels"] == 2
    assert found["codings"]["instrument"]["one"] == "A"


def test_check(run, csv):
    code, out, _ = run("check", str(csv), *ROLES)
    assert code == 0
    assert "First stage" in out and out.count("one-sided p") == 4
    found = json.loads(run("check", str(csv), *ROLES, "-f", "json")[1])
    assert found["diagnostics"]["first_stage"]["difference"] == pytest.approx(1 / 3)


def write(tmp_path, text: str | bytes) -> str:
    path = tmp_path / "bad.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.mark.parametrize(
    ("text", "arguments", "sentence"),
    [
        (
            "z,t,y\n0,0,1\n1,1,1\n",
            ["-y", "why", "-t", "t", "-z", "z"],
            "there is no column 'why' for the outcome; the nearest name is 'y'.",
        ),
        ("z,t,y\n0,0,1\n1,1,1\n2,1,0\n", ROLES, "instrument 'z' must have two values, but has 3: 0, 1, 2; keep"),
        ("z,t,y\n0,0,1\n1,1,1\n1,5,0\n", ROLES, "treatment 't' must have two values, but has 3: 0, 1, 5; keep"),
        (
            "z,t,y\n1,0,1\n1,1,1\n",
            ROLES,
            "instrument 'z' is always 1, so there is nothing to compare; the table must hold both arms.",
        ),
        (
            "z,t,y\n1,0,\n0,1,\n",
            ROLES,
            "no row is left: outcome 'y' is missing in all 2 rows; name the column that holds it",
        ),
        ("z,t,y\n1,0,inf\n0,1,2\n", ROLES, "column 'y' holds 1 infinite value; make them missing"),
        ("z,t,y,w\n1,0,1,-1\n0,1,0,1\n", [*ROLES, "-w", "w"], "weights 'w' must not be negative, but one is -1; a row"),
        ("z,t,y,w\n1,0,1,0.5\n0,1,0,1\n", [*ROLES, "-w", "w"], "go by sampling_weights (--sampling-weights)."),
        ("z,t,y,w\n1,0,1,0\n0,1,0,0\n", [*ROLES, "-w", "w"], "weights 'w' sum to zero; name"),
        (
            "z,t,y\n1,0,5\n0,1,2\n1,1,3\n",
            [*ROLES, "--range", "0,4"],
            "outcome 'y' must lie between 0 and 4, but 1 values do not, such as 5; widen",
        ),
        ("", ROLES, "is empty; export the table again"),
        ("z,t,y\n", ROLES, "has the names of columns but no rows; export the table again"),
        ("just some prose\nof no use\n", ROLES, "is not a table: its first line has fewer than three columns"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", ROLES, "is not a table: it is neither CSV nor Parquet; export"),
        (b"PAR1 and then nonsense", ROLES, "looks like Parquet but cannot be read; write"),
        ("z,t,y,y\n1,0,1,1\n0,1,0,0\n", ROLES, "has more than one column named 'y'; rename"),
        (
            "z,t,y\n1,0,1\n0,1,0\n",
            ["-y", "y", "-t", "z", "-z", "z"],
            "column 'z' is given twice: as treatment and as instrument; give it one role.",
        ),
        ("z,t,y\n1,0,1\n0,1,0\n", [*ROLES, "--range", "0"], "--range must be LOW,HIGH, but is '0'."),
        ("z,t,y\n1,0,1\n0,1,0\n", [*ROLES, "--one", "t"], "--one must be NAME=VALUE, but is 't'."),
        (
            "z,t,y\n1,0,1\n0,1,0\n",
            [*ROLES, "--alpha", "2"],
            "alpha must lie between 0 and 1 (0.05 for a level of 95 %), but is 2.0.",
        ),
        (
            "z,t,y\n1,0,1\n0,1,0\n",
            [*ROLES, "-m", "manksi"],
            "there is no method 'manksi'; the nearest name is 'manski'.",
        ),
    ],
)
def test_bad_input_exits_with_2_and_one_sentence(run, tmp_path, text, arguments, sentence):
    method = [] if "-m" in arguments else ["-m", "manski"]
    code, out, err = run("fit", write(tmp_path, text), *arguments, *method)
    assert code == 2
    assert out == ""
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


def test_bad_counts_and_missing_file(run):
    assert run("counts", "1", "2", "3", "-m", "manski")[0] == 2
    assert "eight counts are needed" in run("counts", "1", "2", "3", "-m", "manski")[2]
    code, _, err = run("counts", *VITAMIN_A[:-1], "x", "-m", "manski")
    assert (code, err) == (2, "ivicl: a count must be a number, but is 'x'.\n")


@pytest.mark.parametrize(
    ("asked", "remedy"),
    [
        ("trail.csv", "the nearest name in its folder is 'trial.csv'"),
        ("nowhere.dta", "it was looked for in '{here}': check its name, or write its whole path"),
        ("data/trial.csv", "there is no folder '{here}/data' either: check the path"),
    ],
)
def test_a_file_that_is_not_there(run, tmp_path, monkeypatch, asked, remedy):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trial.csv").write_text("z,t,y\n")
    code, _, err = run("fit", asked, *ROLES, "-m", "manski")
    assert (code, err) == (2, f"ivicl: there is no file '{asked}'; {remedy.format(here=tmp_path)}.\n")


def test_exact_from_the_command_line(run):
    arguments = ("counts", *CHOLESTYRAMINE, "-m", "exact", "--set", "n_chains=32", "--set", "n_draws=800", "-f", "json")
    code, out, _ = run(*arguments, "--seed", "3")
    assert code == 0
    found = json.loads(out)
    assert found["lower"] == pytest.approx(0.30, abs=0.05)
    assert found["upper"] == pytest.approx(0.83, abs=0.05)
    assert run(*arguments, "--seed", "3")[1] == out
    assert run(*arguments, "--seed", "4")[1] != out


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        (["--report", "bounds.pdf"], "--report must end in .html or .htm (a browser prints it as PDF)"),
        (["--plot", "bounds.html"], "--plot must end in .svg or .png or .pdf"),
        (["--plot", "no-such-folder/bounds.svg"], "the folder of --plot no-such-folder/bounds.svg does not exist"),
        (["--title", "A trial"], "--title, --question and --also are the report's"),
    ],
)
def test_pages_that_cannot_be_written_are_refused_at_once(run, extra, sentence):
    code, out, err = run("counts", *CHOLESTYRAMINE, *extra)
    assert (code, out) == (2, "")
    assert sentence in err


def test_report_has_the_title_and_the_question_and_the_picture_is_a_picture(run, tmp_path):
    page, picture = tmp_path / "bounds.html", tmp_path / "bounds.svg"
    words = ("--title", "Cholestyramine", "--question", "Does it lower <cholesterol>?")
    code, _, err = run("counts", *CHOLESTYRAMINE, "--report", str(page), "--plot", str(picture), *words)
    assert code == 0, err
    text = page.read_text(encoding="utf-8")
    assert "<h1>Cholestyramine</h1>" in text
    assert "Does it lower &lt;cholesterol&gt;?" in text
    assert picture.read_text(encoding="utf-8").count("<svg") == 1
