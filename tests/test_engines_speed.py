"""`ivicl speed --scale`: points, slopes and the picture."""

from __future__ import annotations

import json

import pytest

from ivicl.benchmarks import scale_speed
from ivicl.benchmarks.scale_speed import Point, aggregated_studies, draw, measure_scale, slope


def made(kind: str, power: float) -> list[Point]:
    return [Point(kind, n, 2 + n**power, 1.0, 0.1, n**power) for n in (10, 100, 1000)]


def test_the_slope_is_the_power_of_size():
    assert slope(made("rows", 0.5)) == pytest.approx(0.5)
    assert slope(made("rows", 0.5)[:1]) is None
    figure = draw(made("rows", 1.0) + made("studies", 0.3))
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == [
        "rows: time ~ size^1.00",
        "studies: time ~ size^0.30",
    ]


def test_studies_at_a_tie_are_at_a_tie():
    tied = aggregated_studies(3, tied=True)
    people = tied["people"].sum()
    for name in ("saw", "bought"):
        assert (tied[name] * tied["people"]).sum() * 2 == people
    assert people == 3 * 10_000


def test_the_command_measures_prints_and_draws(monkeypatch, run, tmp_path):
    """Tiny sizes, real commands."""
    monkeypatch.setattr(scale_speed, "QUICK", {"discrete rows": (2_000,), "different rows": (1_200,)})
    monkeypatch.setattr(scale_speed, "STUDIES", {"full": (), "quick": (4, 8)})
    picture = tmp_path / "scale.svg"
    code, out, _ = run("speed", "--scale", "--quick", "--format", "json", "--plot", str(picture))
    assert code == 0
    points = json.loads(out)
    kinds = [(point["kind"], point["size"]) for point in points]
    assert kinds == [
        ("discrete rows", 2000),
        ("different rows", 1200),
        ("studies", 4),
        ("studies", 8),
        ("studies at a tie", 4),
    ]
    assert all(0.02 < point["peak_gb"] < 4 and point["cpu_seconds"] > 0 for point in points)
    assert picture.read_text().startswith("<?xml")


def test_wrong_calls(run, monkeypatch):
    code, _, err = run("speed", "--plot", "scale.svg")
    assert code == 2
    assert "--plot needs --scale" in err
    monkeypatch.setattr(scale_speed, "QUICK", {"discrete rows": (2_000,)})
    monkeypatch.setattr(scale_speed, "ROLES", ["-y", "nobody", "-t", "saw", "-z", "offered"])
    with pytest.raises(RuntimeError, match="there is no column 'nobody'"):
        list(measure_scale(quick=True))
