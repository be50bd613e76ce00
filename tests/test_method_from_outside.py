"""A method that is no part of this package goes wherever the shipped ones go, with nothing edited here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import ivicl
from every_method import ROLES, small_table
from ivicl import BoundsResult, IVBounds, compare
from ivicl.errors import InputError
from ivicl.methods import Estimates, Method, MethodBounds, Request
from ivicl.results.report.page import report_html
from ivicl.results.rows import COLUMNS

OWN_WORDS = "People who are asked twice answer as they did at first."


@dataclass(frozen=True)
class PaddedOptions:
    """How much is added."""

    padding: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.padding < 1:
            raise InputError(f"padding is {self.padding}; it must be at least 0 and below 1.")


def padded(data: ivicl.IVData, request: Request) -> MethodBounds:
    """The difference of the arms' means, and the padding on both sides."""
    span = data.outcome_range[1] - data.outcome_range[0]
    means = [data.w[data.z == arm] @ data.y[data.z == arm] / data.w[data.z == arm].sum() for arm in (0, 1)]
    middle, side = float(means[1] - means[0]), request.own.padding * span
    return MethodBounds(
        middle - side, middle + side, estimates=Estimates(middle, middle), warnings=("made up for a test.",)
    )


def padded_together(data: list[ivicl.IVData], request: Request) -> list[MethodBounds]:
    return [padded(each, request) for each in data]


METHOD = Method(
    name="padded",
    label="Padded difference",
    load=padded,
    interval="confidence",
    summary="the difference of the arms' means, padded",
    procedure="the difference of the arms' means, padded on both sides",
    assumptions=("exchangeable", "no-interference", "equal-effects", OWN_WORDS),
    options=PaddedOptions,
)


@pytest.fixture(params=["confidence", "credible", "estimate"])
def fitted(request) -> BoundsResult:
    method = Method(**(vars(METHOD) | {"interval": request.param}))
    return IVBounds(method, padding=0.2).fit(small_table(), covariates=["old"], **ROLES)


def test_fit_summary_and_row(fitted):
    kind = fitted.interval_kind
    words = "estimated" if kind == "estimate" else f"95 % {kind} for the set"
    assert fitted.width == pytest.approx(0.4)
    assert repr(fitted).endswith(f"{words}, padded, n = 240, grade ok)")
    summary = fitted.summary()
    assert f"({words}, width 0.4000)" in summary and "made up for a test." in summary and "old (not used)" in summary
    row = fitted.to_frame().row(0, named=True)
    assert list(row) == list(COLUMNS)
    assert (row["method"], row["interval"], row["estimate_lower"]) == ("padded", kind, fitted.estimates.lower)


def test_ladder_and_pictures(fitted, tmp_path):
    assert [rung.method for rung in fitted.ladder] == ["manski", "manski-iv", "balke-pearl", "padded", "late", "late"]
    own = fitted.ladder.get("padded")
    assert own.label == "Padded difference" and (own.lower, own.upper) == (fitted.lower, fitted.upper)
    assert own.assumption == f"An instrument as good as randomised; equal effects. {OWN_WORDS}"
    assert fitted.plot("ladder").to_frame()["interval"][3] == fitted.interval_kind
    for kind in ("ladder", "compliance"):
        assert fitted.plot(kind).save(tmp_path / f"{kind}.png").stat().st_size > 1000
    with pytest.raises(InputError, match="method 'padded' has no posterior of the ATE to draw"):
        fitted.plot("posterior")


def test_report(fitted):
    text = re.sub(r"<svg.*?</svg>", "", report_html(fitted), flags=re.S).replace("&#x27;", "'")
    assert "The method is the difference of the arms' means, padded on both sides (ivicl" in text
    assert text.count(OWN_WORDS) == 3, "in the ladder, the table of assumptions and the methods paragraph"
    assert "The treatment does the same to everybody." in text
    assert "Not assumed" not in text, "nobody here knows what follows from its own assumption"


def test_save_and_load_need_no_method(fitted, tmp_path):
    fitted.save(tmp_path / "bounds.json")
    again = BoundsResult.load(tmp_path / "bounds.json")
    assert again == fitted and report_html(again) == report_html(fitted)


@pytest.mark.parametrize("batched", [None, padded_together])
def test_many_studies(batched):
    method = Method(**(vars(METHOD) | {"batched": batched}))
    table = pl.DataFrame(small_table()).with_columns(site=pl.int_range(240) % 3)
    many = IVBounds(method, padding=0.3).fit_many(table, by="site", **ROLES)
    assert many["method"].to_list() == ["padded"] * 3 and many["width"].to_list() == pytest.approx([0.6] * 3)
    alone = IVBounds(method, padding=0.3).fit(table.filter(pl.col("site") == 1), **ROLES)
    assert many["lower"][1] == pytest.approx(alone.lower)


def test_side_by_side():
    found = compare(small_table(), methods=["manski", METHOD, IVBounds(METHOD, padding=0.3)], **ROLES)
    frame = found.to_frame()
    assert frame["label"].to_list()[1:] == ["Padded difference", "Padded difference (padding=0.3)"]
    assert frame["width"].to_list()[1:] == pytest.approx([0.2, 0.6])
    assert frame["assumes"][1].endswith(OWN_WORDS) and OWN_WORDS.split()[-1] in found.summary()
    assert found.plot().to_frame()["method"].to_list() == ["manski", "padded", "padded"]


def test_its_options_are_checked_as_those_of_any_method():
    with pytest.raises(InputError, match="method 'padded' has no option 'pading'; its options are: padding"):
        IVBounds(METHOD, pading=0.2).fit(small_table(), **ROLES)
    with pytest.raises(InputError, match="padding is 2; it must be"):
        IVBounds(METHOD, padding=2).fit(small_table(), **ROLES)
    for asked, message in (({"covers": "effect"}, "covers the effect; it has: set"), ({"estimand": "LATE"}, "LATE")):
        with pytest.raises(InputError, match=message):
            IVBounds(METHOD, **asked).fit(small_table(), **ROLES)


def test_it_is_told_which_of_its_estimands_is_asked_for():
    def either(data, request):
        return MethodBounds(0.5, 2.0, estimand=request.estimand or "odds ratio")

    method = Method("either", "Either", either, "estimate", "", estimands=("odds ratio", "risk ratio"))
    assert IVBounds(method).fit(small_table(), **ROLES).estimand == "odds ratio"
    assert list(IVBounds(method, estimand="risk ratio").fit(small_table(), **ROLES).estimands) == ["risk ratio"]


# --- installed: another package names it in an entry point, and the command line knows it by name


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder with this file as a module of its own, and the dist-info that an installer would write beside it."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("every_method.py", Path(__file__).name):
        (folder / name).write_text((Path(__file__).parent / name).read_text("utf-8"), encoding="utf-8")
    info = folder / "padded_bounds-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: padded-bounds\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[ivicl.methods]\npadded = {Path(__file__).stem}:METHOD\n")
    pl.DataFrame(small_table()).with_columns(site=pl.int_range(240) % 3).write_csv(folder / "data.csv")
    return folder


def command(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    paths = [str(folder), str(Path(ivicl.__file__).parents[1])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        [sys.executable, "-m", "ivicl", *line.split()],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_fit_on_the_command_line(installed):
    fit = "fit data.csv -y y -t t -z z -m padded"
    done = command(installed, f"{fit} --set padding=0.25 -f json --report report.html")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["method"], found["assumptions"][-1]) == ("padded", OWN_WORDS)
    assert found["upper"] - found["lower"] == pytest.approx(0.5)
    assert OWN_WORDS in (installed / "report.html").read_text("utf-8")
    wrong = command(installed, f"{fit} --set padding=7")
    assert (wrong.returncode, wrong.stderr) == (2, "ivicl: padding is 7; it must be at least 0 and below 1.\n")
    assert "the nearest name is 'padded'" in command(installed, "counts 1 2 3 4 5 6 7 8 -m paded").stderr


def test_compare_on_the_command_line(installed):
    done = command(installed, "compare data.csv -y y -t t -z z -m manski -m padded@padding=0.25 -f json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["methods"][1]
    assert (found["method"], found["width"]) == ("padded", pytest.approx(0.5))
    wrong = command(installed, "compare data.csv -y y -t t -z z -m padded@padding=7")
    assert (wrong.returncode, wrong.stderr) == (2, "ivicl: padding is 7; it must be at least 0 and below 1.\n")


def test_batch_on_the_command_line(installed):
    batch = "batch data.csv --by site -y y -t t -z z -m padded --set padding=0.3 -o bounds.csv"
    done = command(installed, batch)
    assert done.returncode == 0, done.stderr
    assert pl.read_csv(installed / "bounds.csv")["width"].to_list() == pytest.approx([0.6] * 3)
    # An interrupted batch is not taken up again with another value of the method's own option.
    (installed / "bounds.csv").unlink()
    settings = {"settings": {"option padding": "0.9"}}
    (installed / "bounds.csv.partial.jsonl").write_text(json.dumps(settings) + "\n")
    assert "started with another" in command(installed, f"{batch} --resume").stderr


def test_listed_and_benchmarked(installed):
    listed = json.loads(command(installed, "methods --format json").stdout)
    assert next(method for method in listed if method["name"] == "padded")["options"] == ["padding"]
    bench = "bench links --setting linear/n=100/d=2 --methods padded@padding=0.2,manski --seeds 1 --quiet -o runs"
    done = command(installed, bench)
    assert done.returncode == 0, done.stderr
    assert "| padded (padding=0.2) | 1.00 | – | 0.400 |" in done.stdout


@pytest.mark.parametrize(
    ("target", "trouble"),
    [
        ("every_method:ROLES", "must name a Method, but names dict"),
        ("nowhere:METHOD", "cannot be loaded (ModuleNotFoundError: No module named 'nowhere')"),
    ],
)
def test_an_entry_point_that_is_broken_is_told_in_a_sentence(installed, target, trouble):
    points = installed / "padded_bounds-1.0.dist-info" / "entry_points.txt"
    good = points.read_text()
    try:
        points.write_text(f"[ivicl.methods]\npadded = {target}\n")
        done = command(installed, "counts 1 2 3 4 5 6 7 8 -m padded")
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert f"the entry point 'padded' of ivicl.methods {trouble}" in done.stderr
        assert command(installed, "counts 1 2 3 4 5 6 7 8 -m manski").returncode == 0, "what ships does not suffer"
    finally:
        points.write_text(good)
