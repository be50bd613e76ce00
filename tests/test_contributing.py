"""The recipes of CONTRIBUTING.md do what they say."""

from __future__ import annotations

import importlib
from pathlib import Path

import polars as pl
import pytest

from every_method import ROLES, small_table
from ivicl import IVBounds
from ivicl.data import outcome
from ivicl.errors import InputError
from ivicl.methods import Method, MethodBounds
from ivicl.methods.estimands import ESTIMANDS, Estimand
from ivicl.results.report.words import answer_sentence, methods_paragraph, question_sentence

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def recipe(heading: str) -> str:
    return TEXT.split(f"## {heading}\n")[1].split("```python\n")[1].split("```")[0]


def test_a_method(tmp_path, monkeypatch):
    (tmp_path / "equal_effects.py").write_text(recipe("Adding a method"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    method = importlib.import_module("equal_effects").METHOD
    found = IVBounds(method, spread=0.1).fit(small_table(), **ROLES)
    late = IVBounds(method="late").fit(small_table(), **ROLES)
    assert found.estimates.lower == pytest.approx(late.estimates.lower)
    assert found.width == pytest.approx(0.2)
    assert "equal effects" in methods_paragraph(found)
    with pytest.raises(InputError, match="spread must be at least 0, but is -1"):
        IVBounds(method, spread=-1).fit(small_table(), **ROLES)


def test_an_estimand(monkeypatch):
    entry = eval("{" + recipe("Adding an estimand") + "}", {"Estimand": Estimand})
    monkeypatch.setitem(ESTIMANDS, *next(iter(entry.items())))
    answers = Method("own", "Own", lambda d, r: MethodBounds(0.2, 3.0, estimand=r.estimand), "confidence", "")
    method = Method(**(vars(answers) | {"estimands": ("ATE", "ATT1")}))
    found = IVBounds(method, estimand="ATT1").fit(small_table(), **ROLES)
    assert (found.lower, found.upper) == (0.2, 1.0), "cut to what a difference of probabilities can be"
    assert question_sentence(found).startswith("Among those who had the treatment 't'")
    assert "raises the outcome on average among the treated" in answer_sentence(found)
    assert "average effect on the treated with Z = 1 (ATT1)" in found.summary()


def test_an_outcome_type(monkeypatch):
    names = vars(outcome).copy()
    exec("from __future__ import annotations\n" + recipe("Adding an outcome type"), names)
    monkeypatch.setattr(outcome, "READERS", names["READERS"])
    table = small_table(amounts=True)
    answers = table | {"y": [f"{grade + 1} answer" for grade in table["y"]]}
    told, plain = (IVBounds(method="sharp").fit(frame, **ROLES) for frame in (answers, table))
    assert (told.lower, told.upper) == pytest.approx((plain.lower, plain.upper))
    assert told.outcome_range == (1, 8)
    sites = (
        pl.DataFrame(answers)
        .with_columns(site=pl.int_range(240) // 120)
        .with_columns(y=pl.when(pl.col("site") == 0).then(pl.lit("2 answer")).otherwise("y"))
    )
    many = IVBounds(method="sharp").fit_many(sites, by="site", **ROLES)
    assert many["error"].null_count() == 2, "a site with one answer has the range of the whole table"
