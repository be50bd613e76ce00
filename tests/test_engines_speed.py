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
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "rows: time ~ size^1.00",
        "studies: time ~ size^0.30",
    ]


def test_studies_at_a_tie_are_at_a_tie():
    tied = aggregated_studies(3, tied=True)
    people = tied["people"].sum()
    for name in ("saw", "bought"):
        assert (tied[name] * tied["people"]).sum() * 2 == people
    assert people == 3 * 10_000


TINY = {
    "discrete rows": (2_000,),
    "discrete amounts": (2_000,),
    "different rows": (1_200,),
    "different amounts": (1_200,),
    "studies": (4, 8),
    "studies at a tie": (4,),
}


def test_the_command_measures_prints_and_draws(monkeypatch, run, tmp_path):
    """Tiny sizes, real commands."""
    monkeypatch.setattr(scale_speed, "QUICK", TINY)
    monkeypatch.setattr(scale_speed, "BRIEF", 0.0)
    picture = tmp_path / "scale.svg"
    code, out, _ = run("speed", "--scale", "--quick", "--format", "json", "--plot", str(picture))
    assert code == 0
    points = json.loads(out)
    assert [(point["kind"], point["size"]) for point in points] == [
        (kind, n) for kind, all_ in TINY.items() for n in all_
    ]
    assert all(0.02 < point["peak_gb"] < 4 and point["cpu_seconds"] > 0 for point in points)
    assert [point["used"] for point in points] == [2000, 2000, 1200, 1200, None, None, None]
    assert picture.read_text().startswith("<?xml")


def test_of_brief_fits_the_shortest_of_three_counts(monkeypatch):
    """Start-up, which is subtracted from a brief fit, varies; a batch is not run again, for it would go on."""
    took = {"fit": iter([1.2, 0.9, 1.1, 30.0]), "batch": iter([2.0])}

    def run(kind, size, arguments, start_up):
        seconds = next(took[arguments[0]])
        return Point(kind, size, seconds, 1.0, 0.1, seconds - start_up)

    monkeypatch.setattr(scale_speed, "_run", run)
    assert scale_speed._shortest("discrete rows", 10, ["fit"], 0.5).beyond_start == pytest.approx(0.4)
    assert scale_speed._shortest("different rows", 10, ["fit"], 0.5).seconds == 30
    assert scale_speed._shortest("studies", 10, ["batch"], 0.5).seconds == 2


def test_each_measurement_can_be_asked_for(monkeypatch, run):
    monkeypatch.setattr(scale_speed, "FULL", TINY)
    code, out, _ = run("speed", "--scale", "--only", "studies, studies at a tie", "--most", "4")
    assert code == 0
    kinds = [line.split("  ")[0] for line in out.splitlines() if " GB" in line]
    assert kinds == ["studies", "studies at a tie"]
    code, _, err = run("speed", "--scale", "--only", "rows")
    assert code == 2
    assert "'rows', which is not measured; there are: discrete rows," in err


def test_what_is_promised_is_what_is_measured():
    """A hundred million discrete rows, ten million different ones of both kinds of outcome, 100,000 studies."""
    largest = {kind: max(sizes) for kind, sizes in scale_speed.FULL.items()}
    assert largest["discrete rows"] == largest["discrete amounts"] == 10**8
    assert largest["different rows"] == largest["different amounts"] == 10**7
    assert 10**6 in scale_speed.FULL["different rows"]
    assert 10**6 in scale_speed.FULL["different amounts"]
    assert largest["studies"] == 10**5
    assert scale_speed.different_rows(50, 0).columns[3:] == [f"x{j}" for j in range(10)]
    assert scale_speed.discrete_rows(200, 0, amount=True)["bought"].n_unique() > 150


def test_wrong_calls(run, monkeypatch):
    code, _, err = run("speed", "--plot", "scale.svg")
    assert code == 2
    assert "--plot needs --scale" in err
    monkeypatch.setattr(scale_speed, "QUICK", {"discrete rows": (2_000,)})
    monkeypatch.setattr(scale_speed, "ROLES", ["-y", "nobody", "-t", "saw", "-z", "offered"])
    with pytest.raises(RuntimeError, match="there is no column 'nobody'"):
        list(measure_scale(quick=True))
