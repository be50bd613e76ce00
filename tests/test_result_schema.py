"""What programs read: every JSON is of the schema that ships, every row has the columns that the docs list."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import jsonschema
import polars as pl
import pytest

from every_method import QUICK, ROLES, small_table
from ivicl import BoundsResult, IVBounds
from ivicl.cli import main
from ivicl.methods.registry import shipped
from ivicl.results.rows import COLUMNS
from ivicl.results.saved import schema

DOCS = Path(__file__).parent.parent / "docs"
pytestmark = pytest.mark.usefixtures("stand_in")
COUNTS = [158, 14, 0, 0, 52, 12, 23, 78]
NAMES = list(shipped())


@pytest.fixture
def run(monkeypatch, capsys):
    """What a command prints on standard output."""

    def call(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["ivicl", *map(str, arguments)])
        try:
            main()
        except SystemExit as stopped:
            assert not stopped.code
        return capsys.readouterr().out

    return call


def check(text: str) -> dict:
    content = json.loads(text)
    jsonschema.validate(content, schema(), cls=jsonschema.Draft202012Validator)
    return content


def options_of(method: str) -> list[str]:
    return [word for name, value in QUICK.get(method, {}).items() for word in ("--set", f"{name}={value}")]


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("covariates", [(), ("old",)])
@pytest.mark.parametrize("amounts", [False, True])
def test_every_result_is_of_the_schema(method, covariates, amounts, tmp_path):
    if method == "exact" and amounts:
        pytest.skip("exact is for binary outcomes")
    estimator = IVBounds(method=method, n_thresholds=4, **QUICK.get(method, {}))
    result = estimator.fit(small_table(120, amounts), covariates=list(covariates), **ROLES)
    content = check(result.to_json())
    assert content == check(result.to_json(indent=2))
    assert content["lower"] == result.lower
    own = content["estimands"][result.estimand]
    exact = result.interval_kind != "estimate" or method == "plugin"
    assert own["upper"] == result.upper if exact else own["estimate_upper"] == result.upper <= own["upper"]
    result.save(tmp_path / "bounds.json")
    check((tmp_path / "bounds.json").read_text("utf-8"))
    assert BoundsResult.load(tmp_path / "bounds.json") == result
    assert list(result.row()) == result.to_frame().columns == list(COLUMNS)


@pytest.mark.parametrize("method", NAMES)
def test_what_the_commands_print_is_of_the_schema(run, method, tmp_path):
    pl.DataFrame(small_table(120)).write_csv(tmp_path / "data.csv")
    roles = ("-y", "y", "-t", "t", "-z", "z", "-x", "old")
    fit = ("fit", tmp_path / "data.csv", *roles, "-m", method, *options_of(method), "-f")
    assert check(run(*fit, "json"))["method"] == method
    assert pl.read_csv(io.StringIO(run(*fit, "csv"))).columns == list(COLUMNS)


@pytest.mark.parametrize("method", ["ivicl", "balke-pearl", "late"])
def test_counts_on_the_command_line_are_of_the_schema(run, method):
    assert check(run("counts", *COUNTS, "-m", method, "-f", "json"))["n"] == sum(COUNTS)


def test_diagnostics_alone_are_of_the_schema_too(run, tmp_path):
    pl.DataFrame(small_table(amounts=True)).write_csv(tmp_path / "data.csv")
    for covariates in ((), ("-x", "old")):
        printed = run("check", tmp_path / "data.csv", "-y", "y", "-t", "t", "-z", "z", *covariates, "-f", "json")
        part = {"$ref": "#/$defs/diagnostics", "$defs": schema()["$defs"]}
        jsonschema.validate(json.loads(printed)["diagnostics"], part, cls=jsonschema.Draft202012Validator)


def damaged(path: str, value: object) -> dict:
    """A good result with one thing wrong: the schema must object."""
    content = json.loads(IVBounds(method="late").fit_counts(COUNTS).to_json())
    place = content
    *steps, last = path.split("/")
    for step in steps:
        place = place[int(step) if isinstance(place, list) else step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return content


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("upper", None),
        ("schema", 1),
        ("alpha", 1.5),
        ("interval_kind", "99 %"),
        ("surprise", 1),
        ("ladder/0/interval", "certain"),
        ("ladder/1/lower", "low"),
        ("diagnostics/findings/0/grade", "bad"),
        ("diagnostics/first_stage/f", "inf"),
        ("diagnostics/compliance/people", [1, 2]),
        ("estimates/se_lower", -1),
        ("codings", {"outcome": {"column": 3}}),
    ],
)
def test_the_schema_objects_to_what_is_wrong(path, value):
    with pytest.raises(jsonschema.ValidationError):
        check(json.dumps(damaged(path, value)))


def objects(part: object):
    if isinstance(part, dict):
        yield part
        for value in part.values():
            yield from objects(value)
    elif isinstance(part, list):
        for value in part:
            yield from objects(value)


def test_every_field_is_described_and_nothing_else_is_allowed():
    jsonschema.Draft202012Validator.check_schema(schema())
    for part in objects(schema()):
        for name, field in part.get("properties", {}).items() if part.get("type") == "object" else ():
            assert field.get("description", "").strip(), name
        if "properties" in part:
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])


def test_the_page_names_every_field_of_the_schema():
    page = (DOCS / "results.md").read_text("utf-8")
    fields = re.findall(r"^\| (`.*?) \|", page, flags=re.MULTILINE)
    named = [name for cell in fields for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(schema()["properties"])


def test_the_page_of_columns_is_the_list_of_columns():
    words = {"text": str, "number": float, "whole number": int}
    page = (DOCS / "columns.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([a-z ]+) \| (\S.*) \|$", page, flags=re.MULTILINE)
    assert [(name, words[kind]) for name, kind, _ in rows] == list(COLUMNS.items())


def test_many_studies_have_the_same_columns_everywhere(run, tmp_path):
    table = pl.DataFrame(small_table()).with_columns(site=pl.int_range(240) // 60, wave=pl.int_range(240) % 2)
    table = table.with_columns(z=pl.when(pl.col("site") == 3).then(1).otherwise("z"))  # the last site has one arm
    expected = ["site", "wave", *COLUMNS]
    frame = IVBounds(method="late").fit_many(table, by=["site", "wave"], **ROLES)
    assert frame.columns == expected
    types = {float: pl.Float64, int: pl.Int64, str: pl.String}
    assert [frame.schema[name] for name in COLUMNS] == [types[kind] for kind in COLUMNS.values()]
    assert frame["error"].null_count() == 6, "an error row has the same columns"

    table.write_parquet(tmp_path / "data.parquet")
    roles = ("--by", "site,wave", "-y", "y", "-t", "t", "-z", "z", "-m", "late")
    for ending in ("csv", "parquet", "jsonl"):
        output = tmp_path / f"bounds.{ending}"
        run("batch", tmp_path / "data.parquet", *roles, "-o", output)
        if ending == "jsonl":
            for line in output.read_text("utf-8").splitlines():
                assert list(json.loads(line)) == expected
        else:
            read = pl.read_csv(output) if ending == "csv" else pl.read_parquet(output)
            assert read.columns == expected
            assert read["lower"].to_list() == pytest.approx(frame["lower"].to_list(), nan_ok=True)
    for line in run("batch", tmp_path / "data.parquet", *roles, "-o", "-").splitlines():
        assert list(json.loads(line)) == expected
