"""Where answers go: --output and the format that its ending says, --format, and old names of flags."""

from __future__ import annotations

import json

import polars as pl
import pytest
from typer.main import get_command

from ivicl.cli import app

COUNTS = ["counts", "158", "14", "0", "0", "52", "12", "23", "78", "-m", "balke-pearl"]
ROLES = ["-y", "y", "-t", "t", "-z", "z", "-w", "people"]


@pytest.fixture
def csv(tmp_path):
    from ivicl import datasets

    path = tmp_path / "data.csv"
    datasets.load("cholestyramine").write_csv(path)
    return str(path)


STARTS = {
    "txt": "=====",
    "json": '{"',
    "csv": "method,",
    "md": "| | |\n|---|---|",
    "tex": r"\begin{tabular}",
    "JSON": '{"',
}


@pytest.mark.parametrize("ending", STARTS)
def test_the_ending_of_the_output_says_the_format(run, tmp_path, ending):
    path = tmp_path / f"bounds.{ending}"
    code, out, err = run(*COUNTS, "--output", str(path))
    assert (code, out) == (0, "")
    assert f"written to {path}." in err
    formats = {"txt": "table", "tex": "latex", "JSON": "json"}
    _, printed, _ = run(*COUNTS, "--format", formats.get(ending, ending))
    assert path.read_text() == printed
    assert printed.startswith(STARTS[ending])


def test_fit_and_check_write_to_a_file_too(run, csv, tmp_path):
    bounds, design = tmp_path / "bounds.json", tmp_path / "design.txt"
    assert run("fit", csv, *ROLES, "-m", "balke-pearl", "-o", str(bounds))[:2] == (0, "")
    assert json.loads(bounds.read_text())["n"] == 337
    assert run("check", csv, *ROLES, "-o", str(design))[:2] == (0, "")
    assert design.read_text() == run("check", csv, *ROLES)[1]
    assert run("check", csv, *ROLES, "-o", str(tmp_path / "design.json"))[0] == 0
    assert json.loads((tmp_path / "design.json").read_text())["n"] == 337


def test_a_format_that_is_named_wins_over_the_ending_and_a_file_is_replaced(run, tmp_path):
    path = tmp_path / "bounds.out"
    path.write_text("of yesterday")
    assert run(*COUNTS, "-f", "json", "-o", str(path))[0] == 0
    assert json.loads(path.read_text())["method"] == "balke-pearl"
    assert run(*COUNTS, "-f", "csv", "-o", "-")[1] == run(*COUNTS, "-f", "csv")[1]
    assert pl.read_csv(run(*COUNTS, "-f", "csv")[1].encode()).height == 1


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("bounds.xlsx", "--output must end in .txt, .json, .csv, .md, .tex, or --format be given, but it is "),
        ("bounds", "--output must end in .txt"),
        ("within=covariates", "within=covariates; options of the method are given by --set."),
        ("no/such/folder/bounds.json", "folder/bounds.json does not exist; make it first, or name another."),
        (".", "--output . is a folder; name a file in it"),
    ],
)
def test_outputs_that_cannot_be(run, tmp_path, monkeypatch, output, sentence):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*COUNTS, "-o", output)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.startswith("ivicl: ") and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_cannot_be_written_and_one_that_check_has_not(run, csv, tmp_path):
    (tmp_path / "folder.json").mkdir()
    code, _, err = run(*COUNTS, "-o", str(tmp_path / "folder.json"))
    assert code == 2 and err.endswith("folder.json is a folder; name a file in it.\n") and err.count("\n") == 1
    code, _, err = run("check", csv, *ROLES, "-o", str(tmp_path / "design.csv"))
    assert code == 2 and "--output must end in .txt, .json, or --format be given" in err


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "x.csv", *ROLES],
        COUNTS,
        ["check", "x.csv", *ROLES],
        ["methods"],
        ["model"],
        ["evaluate"],
        ["speed"],
    ],
    ids=lambda words: words[0],
)
def test_every_format_is_checked(run, command):
    code, out, err = run(*command, "--format", "xml")
    assert (code, out) == (2, "")
    assert err.startswith("ivicl: ") and "'xml' is not one of 'table', 'json'" in err
    assert err.endswith(f"; see ivicl {command[0]} --help.\n") and err.count("\n") == 1


def every_command() -> dict[str, object]:
    """Name -> command, those of `ivicl prior` among them."""
    found, left = {}, [("", get_command(app))]
    while left:
        name, command = left.pop()
        if hasattr(command, "commands"):
            left += [(f"{name} {sub}".strip(), each) for sub, each in command.commands.items()]
        else:
            found[name] = command
    return found


def test_the_output_is_called_output_everywhere():
    with_output = set()
    for name, command in every_command().items():
        flags = {flag: parameter for parameter in command.params for flag in parameter.opts}
        assert not {"--out", "--option"} & set(flags), name
        assert flags.get("-o") is flags.get("--output"), name
        if "-o" in flags:
            with_output.add(name)
    wanted = {"fit", "counts", "compare", "check", "batch", "bench", "reproduce", "convert-rct", "train", "export"}
    assert with_output == wanted | {"plan", "sensitivity", "prior sample", "prior plot"}


def test_old_names_of_flags_still_work_and_say_so(run, tmp_path):
    path = tmp_path / "bounds.json"
    code, _, err = run(*COUNTS, "--out", str(path), "--option", "within=covariates")
    assert code == 0, err
    assert json.loads(path.read_text())["lower"] == pytest.approx(0.3913, abs=1e-4)
    assert "--out is called --output now" in err and "--option is called --set now" in err
    path.unlink()
    assert run(*COUNTS, f"--out={path}")[0] == 0
    assert path.exists()
    assert "--out" not in run("counts", "--help")[1].replace("--output", "")
    code, _, err = run(*COUNTS, "--option", "withn=covariates")
    assert code == 2 and "has no option 'withn'" in err


def test_words_after_two_dashes_are_not_flags(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("fit", *ROLES, "-m", "manski", "--", "--out")
    assert code == 2 and err.startswith("ivicl: there is no file '--out';")
