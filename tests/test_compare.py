"""Methods side by side: one table, one picture, and a method that cannot run is a row with its reason."""

from __future__ import annotations

import json

import polars as pl
import pytest

from every_method import ROLES, small_table
from ivicl import Comparison, IVBounds, IVData, compare
from ivicl.errors import DesignWarning, InputError, MissingDependencyError
from ivicl.methods import Method
from ivicl.results.comparison import OWN_COLUMNS
from ivicl.results.rows import COLUMNS


def refuses(data, request):
    raise InputError("method 'picky' needs a binary outcome.")


def breaks(data, request):
    raise ZeroDivisionError("by nothing")


def lacks(data, request):
    raise MissingDependencyError("method 'absent' needs nowhere: install it with pip install 'ivicl[nowhere]'.")


PICKY, BROKEN, ABSENT = (
    Method(name, name.title(), load, "confidence", "")
    for name, load in (("picky", refuses), ("broken", breaks), ("absent", lacks))
)


@pytest.fixture
def found() -> Comparison:
    levis_like = IVBounds("balke-pearl", within="covariates", alpha=0.2)
    methods = ["manski", PICKY, levis_like, "balke-pearl", "late"]
    return compare(small_table(), methods=methods, alpha=0.1, covariates=["old"], **ROLES)


def test_each_is_what_it_is_alone_and_in_the_order_asked_for(found):
    assert [entry.method for entry in found.entries] == ["manski", "picky", "balke-pearl", "balke-pearl", "late"]
    assert [result.method for result in found.results] == ["manski", "balke-pearl", "balke-pearl", "late"]
    alone = IVBounds("late", alpha=0.1).fit(small_table(), covariates=["old"], **ROLES)
    assert found.results[-1] == alone
    assert [result.alpha for result in found.results] == [0.1, 0.2, 0.1, 0.1], "an IVBounds keeps its own level"


def test_frame(found):
    frame = found.to_frame()
    assert frame.columns == [*OWN_COLUMNS, *COLUMNS]
    assert frame["sampling_error"].to_list() == [False, True, False, False, True]
    assert frame["adjusted"].to_list() == [False, None, True, False, True]
    assert frame["error"].to_list() == [None, "method 'picky' needs a binary outcome.", None, None, None]
    assert frame["label"][2] == "Balke-Pearl (within=covariates)" and frame["label"][3] == "Balke-Pearl"
    assert frame["assumes"][0] == "no-interference, bounded"
    assert frame.schema["lower"] == pl.Float64 and frame["lower"][1] is None


def test_words(found):
    assert repr(found) == ("Comparison(manski, picky, balke-pearl, balke-pearl, late; n = 240, 1 without an answer)")
    summary = found.summary()
    assert "Picky: method 'picky' needs a binary outcome." in summary and "90 % confidence" in summary
    assert summary.split("No allowance for sampling error")[1].count("  - ") == 3
    assert max(map(len, summary.splitlines())) <= 110
    markdown = found.to_markdown().splitlines()
    assert len(markdown) == 7 and {line.count("|") for line in markdown} == {7}
    latex = found.to_latex()
    assert latex.count("tabularnewline") == 6 and latex.count(r"90 \% confidence") == 1


def test_json_holds_rows_and_whole_results(found):
    content = json.loads(found.to_json())
    assert content["methods"] == json.loads(found.to_frame().write_json())
    assert [each and each["method"] for each in content["results"]] == [
        "manski", None, "balke-pearl", "balke-pearl", "late",
    ]  # fmt: skip
    assert content["results"][0]["diagnostics"]["first_stage"]


def test_picture(found, tmp_path):
    picture = found.plot()
    axes = picture.figure.axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert [label.split("\n")[0] for label in reversed(labels)] == [rung.label for rung in found.ladder], (
        "the first method stands on top"
    )
    bars = {int(line.get_ydata()[0]): line for line in axes.lines if len(line.get_xdata()) == 2 and
            line.get_ydata()[0] == line.get_ydata()[1]}  # fmt: skip
    assert bars[0].get_linestyle() == "--" and bars[1].get_linestyle() == "-", "the LATE alone is dashed"
    assert bars[0].get_linewidth() > bars[1].get_linewidth(), "estimates are thin"
    late = found.results[-1].estimates.lower
    assert [float(line.get_xdata()[0]) for line in axes.lines if line.get_marker() == "o"] == [late], "its estimate"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["estimated: no allowance for sampling error"]
    assert "of the LATE" in labels[0] and "estimated" in labels[1]
    assert "without allowance for sampling error" in picture.caption and "effect among compliers" in picture.caption
    assert picture.to_frame()["method"].to_list() == [result.method for result in found.results]
    assert picture.save(tmp_path / "methods.png").stat().st_size > 1000


def test_a_method_that_cannot_run_does_not_stop_the_others():
    found = compare(small_table(), methods=[ABSENT, BROKEN, "manski"], **ROLES)
    assert [entry.error for entry in found.failed] == [
        "method 'absent' needs nowhere: install it with pip install 'ivicl[nowhere]'.",
        "method 'broken' failed: ZeroDivisionError: by nothing",
    ]
    with pytest.raises(InputError, match=r"none of the methods has an answer: .*nowhere.*by nothing"):
        compare(small_table(), methods=[ABSENT, BROKEN], **ROLES)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (["manski", "manskii"], "there is no method 'manskii'; the nearest name is 'manski'"),
        ([IVBounds("manski", within="covariates")], "method 'manski' has no option 'within'"),
        ([], "methods is empty"),
        ([3], "method must be a name or a Method, but is 3"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_computed(methods, message, monkeypatch):
    monkeypatch.setattr(IVData, "from_roles", lambda *_: pytest.fail("the data were read"))
    with pytest.raises(InputError, match=message):
        compare(small_table(), methods=methods, **ROLES)


def test_the_data_are_read_once(monkeypatch):
    read, times = IVData.from_roles, []
    monkeypatch.setattr(IVData, "from_roles", lambda *given: times.append(1) or read(*given))
    compare(small_table(), methods=["manski", "balke-pearl", "late"], **ROLES)
    assert len(times) == 1


CONTRADICTION = {
    "z": [0] * 100 + [1] * 100,
    "t": [0] * 95 + [1] * 5 + [0] * 95 + [1] * 5,
    "y": [0] * 90 + [1] * 10 + [1] * 90 + [0] * 10,
}


def test_data_that_contradict_the_design_are_said_once_and_first(run, tmp_path):
    with pytest.warns(DesignWarning, match="The data contradict the instrument") as said:
        found = compare(CONTRADICTION, methods=["manski", "balke-pearl", "late"], **ROLES)
    assert len(said) == 1 and said[0].filename == __file__
    assert found.summary().startswith("The data contradict the instrument")
    assert found.to_markdown().startswith("**The data") and "textbf{The data" in found.to_latex().splitlines()[0]
    pl.DataFrame(CONTRADICTION).write_csv(tmp_path / "data.csv")
    command = ["compare", str(tmp_path / "data.csv"), "-y", "y", "-t", "t", "-z", "z", "-m", "manski", "-f", "json"]
    code, out, err = run(*command)
    assert code == 0 and err.startswith("ivicl: The data contradict") and json.loads(out)["results"]
    assert run(*command, "--strict")[0] == 3


# --- the command


@pytest.fixture
def file(tmp_path, monkeypatch):
    pl.DataFrame(small_table()).write_csv(tmp_path / "data.csv")
    monkeypatch.chdir(tmp_path)
    return ["compare", "data.csv", "-y", "y", "-t", "t", "-z", "z", "-x", "old"]


def test_command(run, file, tmp_path):
    methods = ["-m", "manski", "-m", "balke-pearl@within=covariates", "-m", "late"]
    code, out, err = run(*file, *methods, "--alpha", "0.1", "-f", "csv", "--plot", "methods.svg")
    assert (code, err) == (0, "ivicl: picture in methods.svg.\n")
    (tmp_path / "out.csv").write_text(out)
    frame = pl.read_csv(tmp_path / "out.csv")
    assert frame["method"].to_list() == ["manski", "balke-pearl", "late"]
    assert frame["adjusted"].to_list() == [False, True, True] and frame["alpha"].to_list() == [0.1] * 3
    assert (tmp_path / "methods.svg").read_text().count("<svg") == 1
    for kind, start in (
        ("table", "====="),
        ("json", '{"kind": "ivicl-comparison"'),
        ("md", "| Method |"),
        ("latex", r"\begin{tab"),
    ):
        assert run(*file, *methods, "-f", kind)[1].startswith(start)
    assert run(*file, *methods, "-o", "out.md")[0] == 0 and (tmp_path / "out.md").read_text().count("\n") == 5


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["-m", "manskii"], "there is no method 'manskii'"),
        (["-m", "manski@within=covariates"], "method 'manski' has no option 'within'"),
        (["-m", "manski@within"], "an option of --method manski@within must be NAME=VALUE, but is 'within'."),
        (["-m", "manski", "--alpha", "3"], "alpha must lie between 0 and 1 (0.05 for a level of 95 %), but is 3.0."),
        (["-m", "manski", "-x", "young"], "there is no column 'young'"),
        (["-m", "manski", "--plot", "methods.xyz"], "--plot must end in .svg or .png or .pdf"),
    ],
)
def test_bad_input_is_one_sentence(run, file, more, sentence):
    code, out, err = run(*file, *more)
    assert (code, out) == (2, "") and err.count("\n") == 1 and sentence in err
