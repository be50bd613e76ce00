"""Amounts with heavy tails: how much of the width the top per cent makes, and the cap that takes it away."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from every_method import ROLES, small_table
from ivicl import IVBounds
from ivicl.errors import InputError
from ivicl.results.result import BoundsResult
from ivicl.results.saved import schema


def earnings(n: int = 400) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    table = small_table(n)
    return table | {"y": np.round(np.exp(rng.normal(6 + 0.3 * table["t"], 1.3, n)), 2), "s": rng.integers(0, 2, n)}


def test_the_finding_says_how_much_and_what_to_do_and_the_cap_delivers() -> None:
    table = earnings()
    res = IVBounds(method="manski-iv").fit(table, **ROLES)
    share = res.diagnostics.outcome.top_percent_of_width
    limit = res.diagnostics.outcome.central_98_percent[1]
    finding = next(f for f in res.findings if f.name == "outcome")
    assert finding.grade == "look" and f"{100 * share:.0f} % of it comes from the top per cent" in finding.sentence
    assert "--cap 99%" in finding.remedy and "--range" in finding.remedy and f"{limit:g}" in finding.remedy
    assert f"make about {100 * share:.0f} % of the bounds' width" in res.summary()
    cut = IVBounds(method="manski-iv").fit(table, **ROLES, cap="99%")
    assert cut.cap == limit == cut.outcome_range[1]
    by_means = [IVBounds(method="balke-pearl").fit(table, **ROLES, cap=c).width for c in ("99%", None)]
    assert 1 - by_means[0] / by_means[1] == pytest.approx(share, abs=0.05)
    by_hand = IVBounds(method="manski-iv").fit(table | {"y": np.minimum(table["y"], limit)}, **ROLES)
    assert (cut.lower, cut.upper) == (by_hand.lower, by_hand.upper)
    assert "cut off there" in cut.summary() and f"cut off at {limit:g}" in " ".join(cut.notes)


def test_a_number_is_a_value_and_weights_count_for_a_quantile() -> None:
    table = earnings()
    assert IVBounds(method="manski").fit(table, **ROLES, cap=1000).outcome_range[1] == 1000.0
    assert IVBounds(method="manski").fit(table, **ROLES, cap="1000", outcome_range=(0, 5e6)).outcome_range == (0, 1000)
    weights = 1 + (np.arange(400) % 3)
    once = IVBounds(method="manski").fit(table | {"w": weights}, **ROLES, weights="w", cap="90%")
    copied = IVBounds(method="manski").fit({k: np.repeat(v, weights) for k, v in table.items()}, **ROLES, cap="90%")
    assert once.cap == copied.cap and once.lower == pytest.approx(copied.lower)
    assert IVBounds(method="manski").fit(table, **ROLES, cap=1e9).outcome_range[1] == table["y"].max()


@pytest.mark.parametrize(
    ("cap", "sentence"),
    [
        ("most", "cap must be a number, or a quantile such as '99%', but is 'most'"),
        ("100%", "but is '100%'"),
        (-5, "cap=-5 cuts outcome 'y' off at -5, where nothing of its range is left"),
    ],
)
def test_wrong_caps_are_refused(cap: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        IVBounds(method="manski").fit(earnings(), **ROLES, cap=cap)
    with pytest.raises(InputError, match="cap is for amounts, but outcome 'y' is binary"):
        IVBounds(method="manski").fit(small_table(), **ROLES, cap="99%")


def test_many_studies_share_the_cap_and_files_carry_it(run, tmp_path) -> None:
    import jsonschema

    table = earnings()
    whole = IVBounds(method="manski").fit(table, **ROLES, cap="95%")
    many = IVBounds(method="manski").fit_many(pl.DataFrame(table), by="s", **ROLES, cap="95%")
    assert many["cap"].to_list() == [whole.cap] * 2 and many["error"].null_count() == 2
    jsonschema.validate(json.loads(whole.to_json()), schema())
    whole.save(tmp_path / "res.json")
    assert BoundsResult.load(tmp_path / "res.json").cap == whole.cap
    path = tmp_path / "trial.csv"
    pl.DataFrame(table).write_csv(path)
    roles = ("-y", "y", "-t", "t", "-z", "z", "-m", "manski", "--cap", "95%")
    assert json.loads(run("fit", str(path), *roles, "--format", "json")[1])["cap"] == whole.cap
    out = tmp_path / "out.csv"
    assert run("batch", str(path), "--by", "s", *roles, "-o", str(out))[0] == 0
    assert pl.read_csv(out)["cap"].to_list() == [whole.cap] * 2


def test_bounded_scores_have_no_such_line() -> None:
    res = IVBounds(method="manski").fit(small_table(amounts=True), **ROLES)
    assert "top per cent" not in res.summary()
    assert next(f for f in res.findings if f.name == "outcome").grade == "ok"
