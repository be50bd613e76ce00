"""Data that contradict the instrument: nobody can miss it, in any format; and clean data show none of it."""

from __future__ import annotations

import io
import json
import warnings

import numpy as np
import polars as pl
import pytest

from ivicl import BoundsResult, DesignWarning, IVBounds, compare
from ivicl.results.report.words import answer_sentence

IMPOSSIBLE = [199, 0, 1, 0, 0, 199, 0, 1]
CLEAN = [158, 14, 0, 0, 52, 12, 23, 78]
HEADLINE = "The data contradict the instrument: "
ROLES = ["-y", "y", "-t", "t", "-z", "z", "-w", "people"]


def frame(**studies: list[int]) -> pl.DataFrame:
    z, t, y = np.indices((2, 2, 2)).reshape(3, 8)
    parts = [pl.DataFrame({"study": [name] * 8, "z": z, "t": t, "y": y, "people": n}) for name, n in studies.items()]
    return pl.concat(parts).filter(pl.col("people") > 0)


def fitted(table, method="balke-pearl"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = IVBounds(method=method).fit_counts(table)
    return result, [w for w in caught if issubclass(w.category, DesignWarning)]


@pytest.mark.parametrize("method", ["ivicl", "balke-pearl", "exact", "manski", "late"])
def test_a_stop_is_one_warning_at_the_callers_line_and_the_first_line_everywhere(method, tmp_path):
    result, caught = fitted(IMPOSSIBLE, method)
    assert [str(w.message)[: len(HEADLINE)] for w in caught] == [HEADLINE]
    assert caught[0].filename == __file__
    assert result.grade == "stop" and any(finding.grade == "stop" for finding in result.findings)
    assert result.summary().startswith(HEADLINE)
    assert result.to_markdown().startswith(f"**{HEADLINE}")
    assert result.to_latex().startswith(rf"\noindent\textbf{{{HEADLINE}")
    assert answer_sentence(result).startswith(HEADLINE)
    page = result.report(tmp_path / "report.html").read_text()
    assert page.partition("<main>")[2].lstrip().startswith(f'<p class="headline stop" role="alert">{HEADLINE}')
    row = result.to_frame().row(0, named=True)
    assert row["grade"] == "stop" and HEADLINE in row["findings"]
    assert all("no strong one" not in text for text in (result.summary(), page, row["findings"]))


@pytest.mark.filterwarnings("ignore::ivicl.errors.DesignWarning")
def test_further_questions_pictures_and_saved_results_say_it_too(tmp_path):
    """The network's answer, and everything that is made of a result."""
    twice = pl.concat([frame(a=IMPOSSIBLE), frame(b=IMPOSSIBLE)])
    roles = dict(outcome="y", treatment="t", instrument="z", weights="people")
    result = IVBounds().fit(twice, covariates=["study"], **roles)
    result.save(tmp_path / "result.json")
    assert BoundsResult.load(tmp_path / "result.json").summary().startswith(HEADLINE)
    assert "grade stop" in repr(result) and HEADLINE in result._repr_html_() and HEADLINE in result.to_json()
    for found in (result.sensitivity("exclusion"), result.by("study"), compare(twice, methods=["manski"], **roles)):
        assert found.summary().startswith(HEADLINE) and str(found).startswith(HEADLINE), found
        assert found.to_markdown().startswith(f"**{HEADLINE}") and HEADLINE in found.to_latex().splitlines()[0]
        assert HEADLINE in found._repr_html_() and HEADLINE in found.to_json()
    assert f"a: {HEADLINE}" in result.by("study").to_markdown(), "a group's own"
    pictures = [result.plot(kind) for kind in ("posterior", "levels", "ladder", "compliance")]
    for picture in (*pictures, result.by("study").plot(), result.sensitivity().plot()):
        title = picture.figure.get_suptitle().replace("\n", " ")
        assert title.startswith(HEADLINE) and picture.caption.startswith(HEADLINE), picture


def test_commands_of_further_questions_say_it(run, tmp_path):
    source = tmp_path / "data.csv"
    frame(a=IMPOSSIBLE).write_csv(source)
    for command in ("sensitivity", "compare"):
        code, out, err = run(command, str(source), *ROLES, "-m", "balke-pearl", "-f", "md", "--strict")
        assert code == 3 and out.startswith(f"**{HEADLINE}"), (command, out, err)
        code, out, err = run(command, str(source), *ROLES, "-m", "balke-pearl", "-f", "json", "--strict")
        assert code == 3 and err.count(HEADLINE) == 1 and HEADLINE in out


def test_a_clean_table_shows_none_of_it(tmp_path, run):
    result, caught = fitted(CLEAN)
    assert not caught and result.grade == "ok" and result.diagnostics.headline == ""
    assert result.summary().startswith("=====") and result.to_markdown().startswith("| | |")
    assert result.to_latex().startswith(r"\begin{tabular}")
    page = result.report(tmp_path / "report.html").read_text()
    assert HEADLINE not in page and 'class="headline' not in page
    assert result.plot("ladder").figure.get_suptitle() == "" and result.sensitivity().summary().startswith("=====")
    code, out, err = run("counts", *map(str, CLEAN), "-m", "balke-pearl", "-f", "json", "--strict")
    assert code == 0 and "contradict" not in err and json.loads(out)["grade"] == "ok"


def test_a_weak_instrument_is_excused_only_without_a_stop():
    weak, caught = fitted([50, 50, 50, 50, 48, 50, 52, 50])
    assert not caught and "bounds need no strong one" in weak.summary().replace("\n    ", " ")


def test_no_treatment_at_all_is_said_first():
    result, caught = fitted([50, 50, 0, 0, 50, 50, 0, 0])
    assert len(caught) == 1 and result.summary().startswith("The data cannot answer: everybody has the same treatment")


@pytest.mark.parametrize(
    ("shape", "start"), [("table", HEADLINE), ("md", f"**{HEADLINE}"), ("latex", rf"\noindent\textbf{{{HEADLINE}")]
)
def test_formats_for_readers_begin_with_it(run, shape, start):
    code, out, err = run("counts", *map(str, IMPOSSIBLE), "-m", "balke-pearl", "-f", shape)
    assert code == 0 and out.startswith(start) and HEADLINE not in err


@pytest.mark.parametrize("shape", ["json", "csv"])
def test_formats_for_programs_have_it_inside_and_on_stderr(run, shape):
    code, out, err = run("counts", *map(str, IMPOSSIBLE), "-m", "balke-pearl", "-f", shape)
    found = json.loads(out) if shape == "json" else pl.read_csv(io.StringIO(out)).row(0, named=True)
    assert code == 0 and found["grade"] == "stop" and HEADLINE in out
    assert err.count(HEADLINE) == 1 and "DesignWarning" not in err


def test_strict_writes_everything_and_exits_with_3(run, tmp_path):
    source, output = tmp_path / "data.csv", tmp_path / "bounds.txt"
    frame(a=IMPOSSIBLE).write_csv(source)
    code, _, err = run("fit", str(source), *ROLES, "-m", "balke-pearl", "-o", str(output), "--strict")
    assert code == 3 and err.count(HEADLINE) == 1 and output.read_text().startswith(HEADLINE)
    assert run("counts", *map(str, IMPOSSIBLE), "-m", "balke-pearl", "--strict")[0] == 3
    code, out, _ = run("check", str(source), *ROLES, "--strict")
    assert code == 3 and out.startswith(HEADLINE)
    code, out, err = run("check", str(source), *ROLES, "-f", "json", "--strict")
    assert code == 3 and json.loads(out)["diagnostics"]["grade"] == "stop" and err.count(HEADLINE) == 1
    assert run("check", str(source), *ROLES)[0] == 0


def test_fit_many_warns_once_for_all_studies():
    studies = frame(a=IMPOSSIBLE, b=CLEAN, c=IMPOSSIBLE)
    with pytest.warns(DesignWarning, match="^2 of 3 studies are graded stop") as caught:
        rows = IVBounds(method="balke-pearl").fit_many(
            studies, by="study", outcome="y", treatment="t", instrument="z", weights="people"
        )
    assert len(caught) == 1 and caught[0].filename == __file__
    assert rows["grade"].to_list() == ["stop", "ok", "stop"] and HEADLINE in rows["findings"][0]


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "-"])
def test_batch_finishes_and_then_says_it(run, tmp_path, ending):
    source, output = tmp_path / "studies.csv", "-" if ending == "-" else str(tmp_path / f"bounds.{ending}")
    frame(a=IMPOSSIBLE, b=CLEAN).write_csv(source)
    arguments = ("batch", str(source), "--by", "study", *ROLES, "-m", "balke-pearl", "-o", output)
    code, out, err = run(*arguments, "--strict")
    assert code == 3 and err.count("1 of 2 studies is graded stop") == 1
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}
    rows = pl.read_ndjson(io.StringIO(out)) if ending == "-" else read[ending](output)
    assert rows["grade"].to_list() == ["stop", "ok"] and HEADLINE in rows["findings"][0]
    assert run(*arguments, *([] if ending == "-" else ["--overwrite"]))[0] == 0


def test_a_batch_that_goes_on_counts_the_stops_of_both_runs(run, tmp_path, monkeypatch):
    from ivicl.errors import InputError
    from ivicl.scale import many
    from ivicl.scale.store import Store

    source, output = tmp_path / "studies.csv", str(tmp_path / "bounds.csv")
    frame(a=IMPOSSIBLE, b=CLEAN, c=IMPOSSIBLE).write_csv(source)
    arguments = ("batch", str(source), "--by", "study", *ROLES, "-m", "balke-pearl", "-o", output, "--strict")
    add = Store.add

    def interrupted(self, studies, rows):
        add(self, studies, rows)
        raise InputError("the machine was needed.")

    with monkeypatch.context() as patch:
        patch.setattr(many, "STUDIES_PER_CHUNK", 2)
        patch.setattr(Store, "add", interrupted)
        assert run(*arguments)[0] == 2
    code, _, err = run(*arguments, "--resume")
    assert code == 3 and "2 of 3 studies were done before" in err
    assert err.count("2 of 3 studies are graded stop") == 1


def test_json_of_further_questions_is_stamped():
    """A program that reads it later knows what it is, and in which form."""
    from ivicl import plan

    result, _ = fitted(CLEAN)
    compared = compare(frame(a=CLEAN), methods=["manski"], outcome="y", treatment="t", instrument="z", weights="people")
    found = plan(n=200, takeup=0.7, rates=(0.3, 0.6))
    kinds = {"ivicl-comparison": compared, "ivicl-plan": found, "ivicl-bounds": result}
    for kind, answer in kinds.items():
        read = json.loads(answer.to_json())
        assert read["kind"] == kind and isinstance(read["schema"], int) and list(read)[:2] == ["kind", "schema"]
    assert json.loads(result.sensitivity().to_json())["schema"] == 1


@pytest.mark.parametrize("command", ["fit", "compare", "sensitivity", "batch", "counts", "plan", "speed"])
def test_a_bad_ending_of_plot_is_refused_before_anything_is_read(run, command):
    """The source does not exist, so that whoever read it first would say that."""
    table = ["nothing.csv", "-y", "y", "-t", "t", "-z", "z"]
    calls = {
        "batch": [*table, "--by", "study", "-o", "out.csv"],
        "counts": map(str, CLEAN),
        "plan": ["--n", "200", "--takeup", "0.7", "--rates", "0.3,0.6"],
        "speed": ["--scale"],
    }
    code, out, err = run(command, *calls.get(command, table), "--plot", "picture.xyz")
    assert code == 2 and not out and "--plot must end in .svg or .png or .pdf" in err, err
