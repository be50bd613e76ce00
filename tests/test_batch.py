from __future__ import annotations

import json
import math

import polars as pl
import pytest
from typer.testing import CliRunner

from ivicl import IVBounds
from ivicl.cli import app
from ivicl.errors import InputError
from ivicl.results.pictures import forest_of_rows
from ivicl.scale.store import Store
from stand_in import made_up


@pytest.fixture
def source(tmp_path):
    frames = [pl.DataFrame(made_up(40, seed=i) | {"study": [i] * 40}) for i in range(6)]
    frame = pl.concat(frames).with_columns(z=pl.when(pl.col("study") == 4).then(0).otherwise(pl.col("z")))
    path = tmp_path / "studies.parquet"
    frame.write_parquet(path)
    return path


def run(source, output, *more):
    command = [
        "batch",
        str(source),
        "--by",
        "study",
        "-y",
        "y",
        "-t",
        "t",
        "-z",
        "z",
        "-m",
        "balke-pearl",
        "-o",
        output,
    ]
    return CliRunner().invoke(app, [*command, *more])


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_one_row_a_study_and_errors_in_their_rows(source, tmp_path, ending):
    output = tmp_path / f"bounds.{ending}"
    done = run(source, str(output))
    assert done.exit_code == 0, done.output
    read = {"parquet": pl.read_parquet, "csv": pl.read_csv, "jsonl": pl.read_ndjson}[ending]
    frame = read(output)
    assert frame["study"].to_list() == list(range(6))
    assert frame["error"].is_not_null().to_list() == [False] * 4 + [True, False]
    assert frame.filter(pl.col("error").is_null())["lower"].is_not_null().all()
    assert not list(tmp_path.glob("*.partial.jsonl"))


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_an_end_that_nothing_limits_is_empty_in_every_row_and_drawn_as_an_arrow(tmp_path, ending):
    """The treated might all have had an outcome of zero without the treatment, so that nothing limits the lift."""
    cells = [(z, t, y) for z in (0, 1) for t in (0, 1) for y in (0, 1)]
    table = pl.DataFrame(cells, schema=["z", "t", "y"], orient="row")
    table = table.with_columns(people=pl.Series([30, 0, 0, 0, 14, 0, 3, 9]), study=pl.lit("a"))
    table.write_parquet(tmp_path / "one.parquet")
    roles = {"outcome": "y", "treatment": "t", "instrument": "z", "weights": "people"}
    estimator = IVBounds("balke-pearl", estimand="LIFT")
    result, many = estimator.fit(table, **roles), estimator.fit_many(table, by="study", **roles)
    output, plot = tmp_path / f"bounds.{ending}", tmp_path / "forest.svg"
    done = run(tmp_path / "one.parquet", str(output), "-w", "people", "--estimand", "LIFT", "--plot", str(plot))
    assert done.exit_code == 0 and "no answer" not in plot.read_text()
    read = {"parquet": pl.read_parquet, "csv": pl.read_csv, "jsonl": pl.read_ndjson}[ending]
    for row in (result.row(), many.row(0, named=True), read(output).row(0, named=True)):
        assert row["lower"] > 0 and row["error"] is None, row
        assert row["upper"] is row["width"] is row["lift_upper"] is None, row
    assert forest_of_rows(many).to_frame()["upper"][0] == result.upper == math.inf


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_studies_named_by_dates(source, tmp_path, ending):
    days = pl.date(2020, 1, 1) + pl.duration(days=pl.col("study"))
    pl.read_parquet(source).with_columns(study=days).write_parquet(source)
    output = tmp_path / f"bounds.{ending}"
    assert run(source, str(output)).exit_code == 0
    read = {"parquet": pl.read_parquet, "csv": pl.read_csv, "jsonl": pl.read_ndjson}[ending]
    assert [str(day) for day in read(output)["study"]] == [f"2020-01-0{k}" for k in range(1, 7)]
    assert json.loads(run(source, "-").stdout.splitlines()[0])["study"] == "2020-01-01"


def test_standard_output_gets_json_lines_and_nothing_else(source):
    done = run(source, "-")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["study"] for row in rows] == list(range(6))


def test_rows_are_on_disk_before_the_end_and_resume_goes_on(source, tmp_path, monkeypatch):
    import ivicl.scale.many as many

    monkeypatch.setattr(many, "STUDIES_PER_CHUNK", 2)
    output = tmp_path / "bounds.csv"
    whole = tmp_path / "whole.csv"
    assert run(source, str(whole)).exit_code == 0

    fitted: list[int] = []
    add = Store.add

    def failing(self, studies, rows):
        add(self, studies, rows)
        fitted.extend(studies)
        if len(fitted) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(Store, "add", failing)
    run(source, str(output))
    journal = output.with_name("bounds.csv.partial.jsonl")
    assert len(journal.read_text().splitlines()) == 5
    assert not output.exists()
    journal.write_text(journal.read_text() + '{"study": 4, "row": {"lo')  # killed in the middle of a line

    done = run(source, str(output))
    assert isinstance(done.exception, InputError)
    assert "--resume" in str(done.exception)
    done = run(source, str(output), "--resume", "--alpha", "0.1")
    assert "another alpha" in str(done.exception)
    done = run(source, str(output), "--resume")
    assert done.exit_code == 0, done.output
    assert fitted == [0, 1, 2, 3, 4, 5]
    assert output.read_text() == whole.read_text()


def test_an_output_is_not_overwritten_by_accident(source, tmp_path):
    output = tmp_path / "bounds.csv"
    output.write_text("precious\n")
    assert "--overwrite" in str(run(source, str(output)).exception)
    assert output.read_text() == "precious\n"
    assert "nothing to resume" in str(run(source, str(output), "--resume").exception)
    assert run(source, str(output), "--overwrite").exit_code == 0
    assert output.read_text().startswith("study,")


@pytest.mark.parametrize("output", ["bounds.xlsx", "no/such/folder/bounds.csv"])
def test_an_output_that_cannot_be(source, tmp_path, output):
    assert isinstance(run(source, str(tmp_path / output)).exception, InputError)


def test_an_outcome_named_twice_is_refused(source, tmp_path):
    done = run(source, str(tmp_path / "bounds.csv"), "-y", "y,y")
    assert isinstance(done.exception, InputError) and "outcome names the same column twice" in str(done.exception)


def test_a_forest_of_very_many_studies_says_what_its_bars_are_and_that_some_are_missing():
    studies = pl.concat([pl.DataFrame(made_up(40, seed=i) | {"study": [i] * 40}) for i in range(70)])
    many = IVBounds("balke-pearl").fit_many(studies, by="study", outcome="y", treatment="t", instrument="z")
    assert forest_of_rows(many).caption.startswith("Intervals, ")
    assert forest_of_rows(many).caption.endswith(" The first 60 of 70.")
