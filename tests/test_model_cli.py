"""`ivicl evaluate`, `ivicl model` and `ivicl speed`: what they print, as a table and as JSON."""

from __future__ import annotations

import json
from importlib import resources

import pytest
from typer.testing import CliRunner

from ivicl.benchmarks import speed
from ivicl.benchmarks.model_card import card
from ivicl.cli import app
from ivicl.errors import InputError
from ivicl.methods.pretrained.runtime import CARD, Model
from stand_in import StandIn


def printed(*words: str) -> str:
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def quick_parts(monkeypatch):
    """Parts that answer at once, for the shipped model's stand-in; they note which model they were asked about."""
    pytest.importorskip("torch")
    asked: list[str] = []

    def part(figures: dict[str, float]):
        return lambda model: asked.append(model.name) or figures

    monkeypatch.setattr(Model, "shipped", staticmethod(StandIn))
    chosen = (
        card.Line("divergence", "exact", "kl", 0.02, False, ""),
        card.Line("p", "calibration", "p", 0.01, True, ""),
    )
    monkeypatch.setattr(card, "CARD", chosen)
    monkeypatch.setattr(card, "PARTS", {"exact": part({"kl": 0.5}), "calibration": part({"p": 0.4})})
    return asked


def test_evaluate_prints_the_card_of_the_shipped_model(quick_parts):
    table = printed("evaluate").splitlines()
    assert table[0].startswith("model stand-in") and table[2].split()[-2:] == ["NOT", "reached"]
    assert table[3].split() == ["p", "0.4000", ">=", "0.01", "reached"]
    found = json.loads(printed("evaluate", "--parts", " calibration ", "--format", "json"))
    assert [entry["line"] for entry in found["card"]] == ["p"] and found["parts"] == {"calibration": {"p": 0.4}}
    assert quick_parts == ["stand-in"] * 3, "two parts, then one"


def test_evaluate_makes_every_line_of_the_card(quick_parts, monkeypatch):
    monkeypatch.setattr(card, "CARD", (*card.CARD, card.Line("width", "widths", "jobs", 0.7, False, "")))
    monkeypatch.setattr(card, "LONG_PARTS", {"widths": lambda *asked: {"jobs": 0.6}, "efficiency_quick": None})
    found = json.loads(printed("evaluate", "--parts", "card", "--format", "json"))
    assert [entry["line"] for entry in found["card"]] == ["divergence", "p", "width"]


def test_evaluate_keeps_what_it_prints(quick_parts, tmp_path):
    kept = tmp_path / "card.json"
    table = printed("evaluate", "--card", str(kept))
    assert "NOT reached" in table and json.loads(kept.read_text())["parts"]["exact"] == {"kl": 0.5}
    with pytest.raises(InputError, match=r"--card must end in \.json \(it is JSON\), but it is card\.txt"):
        CliRunner().invoke(app, ["evaluate", "--card", "card.txt"], catch_exceptions=False)
    assert len(quick_parts) == 2, "a wrong name is said before anything runs"


def test_an_unknown_part_is_refused_before_anything_runs(quick_parts):
    with pytest.raises(InputError, match="no part 'speed' of the evaluation; the parts are exact, calibration"):
        CliRunner().invoke(app, ["evaluate", "--parts", "exact,speed"], catch_exceptions=False)
    assert quick_parts == []


def test_model_says_what_ships():
    record = json.loads(printed("model", "--format", "json"))
    shipped = Model.shipped()
    assert record["sha256"] == shipped.sha256 and record["network"] == shipped.metadata["network"]
    text = printed("model")
    assert shipped.sha256 in text
    hours = sum(run.get("hours", 0) for run in (*record["training"].get("before", []), record["training"]))
    assert f"hours of training  {hours:.2f}\n" in text
    for entry in record["evaluation"]:
        (line,) = [line for line in text.splitlines() if line.startswith(f"  {entry['line']} ")]
        assert f"{entry['value']:.4f}" in line and (": NOT reached)" in line) != entry["reached"]


def test_what_was_judged_again_stands_in_the_card_of_the_network_it_was_judged_with():
    """A line that was judged later replaces the file's own, in its place; other networks' cards are their files'."""
    shipped = Model.shipped()
    file = {line["line"]: line for line in shipped.metadata["evaluation"]}
    assert [line["line"] for line in shipped.card] == list(file)
    later = json.loads((resources.files("ivicl") / "weights" / CARD).read_text())
    assert later["model"]["sha256"] == shipped.sha256, "written for the network that ships"
    assert [line for line in shipped.card if line["line"].startswith("alarm")] == later["card"]
    other = Model.shipped().on_one_thread()
    other.sha256 = "0" * 64
    assert other.card == list(file.values())


def test_speed_prints_each_timing(monkeypatch):
    timings = [speed.Timing("a pass", 0.25, 0.1, "median of 5"), speed.Timing("a million rows", 12.5, 60)]
    timings += [speed.Timing("an amount", 1.25, 1.3, unit="times")]
    monkeypatch.setattr(speed, "measure", lambda quick: timings[: 1 if quick else 3])
    lines = printed("speed").splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "a pass 0.250 s wanted below 0.1 s",
        "median of 5",
        "a million rows 12.500 s wanted below 60 s",
        "an amount 1.250 times wanted below 1.3 times",
    ]
    assert json.loads(printed("speed", "--quick", "--format", "json")) == [timings[0].to_dict()]
