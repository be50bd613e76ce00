from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from ivicl import BoundsResult, IVBounds
from ivicl.errors import DesignWarning, InputError
from ivicl.methods.pretrained.runtime import Model
from stand_in import StandIn, made_up

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}


@pytest.fixture(scope="module")
def fits():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Model, "shipped", staticmethod(lambda: StandIn()))
        return {
            "binary": IVBounds().fit(made_up(400), covariates=["x0"], **ROLES),
            "amounts": IVBounds(combine="independent").fit(made_up(400, amounts=True), **ROLES),
            "counts": IVBounds().fit_counts([[[158, 14], [0, 0]], [[52, 12], [23, 78]]]),
            "classical": IVBounds(method="balke-pearl").fit(made_up(100), **ROLES),
            "late": IVBounds(method="late").fit(made_up(100), **ROLES),
        }


class Balanced(HTMLParser):
    """Every tag that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in ("meta", "br", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]


@pytest.mark.parametrize("kind", ["binary", "amounts", "counts", "classical", "late"])
def test_a_report_is_one_sound_page_that_loads_nothing(fits, kind, tmp_path):
    path = fits[kind].report(tmp_path / "bounds.html")
    text = path.read_text(encoding="utf-8")
    page = Balanced()
    page.feed(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids)), "figures must not share ids"
    assert not re.search(r"(src|href)\s*=\s*[\"'](?!#)", text.replace("xlink:href", "href")), "nothing is loaded"
    assert not re.search(r"url\((?!#)|@import|<script|<link", text)
    assert "$" not in re.sub(r"<svg.*?</svg>", "", text, flags=re.S), "every place of the template is filled"
    for heading in ("The question", "The data", "The answer", "What it rests on", "Methods paragraph", "Citation"):
        assert heading in text


def test_the_report_holds_the_answer_and_where_it_comes_from(fits):
    from ivicl.results.report.page import report_html

    res = fits["binary"]
    text = report_html(res)
    assert res.model.sha256 in text
    assert res.version in text
    assert "not identified" in text
    for finding in res.findings:
        assert f'class="grade {finding.grade}"' in text
    assert text == report_html(res)
    saved = BoundsResult.from_dict(res.to_dict())
    assert report_html(saved) == text, "a saved result gives the same report"


def test_the_words_of_a_user_are_escaped(fits):
    from ivicl.results.report.page import report_html

    text = report_html(fits["binary"], title="<script>alert(1)</script>", question="a < b & c?")
    assert "<script" not in text
    assert "a &lt; b &amp; c?" in text


def test_the_combination_is_explained(fits):
    from ivicl.results.report.words import methods_paragraph

    assert "as if they were independent" in methods_paragraph(fits["amounts"])


def test_a_path_that_cannot_be_written(fits, tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        fits["binary"].report(tmp_path / "no" / "folder.html")


def test_the_methods_paragraph_says_what_a_reader_of_the_paper_asks():
    """Outcome and values, who was treated in the study's own words, the paper behind the method, and the design."""
    from ivicl.results.report.words import data_rows, methods_paragraph

    rng = np.random.default_rng(5)
    school, n = np.repeat(np.arange(40), 10), 400
    z, weight = school % 2, rng.choice([1.0, 2.5], n)
    t, y = z * (rng.random(n) < 0.7), rng.random(n) < 0.5
    table = {"lot": np.where(z == 1, "won", "lost"), "went": t, "exam": np.where(y, "passed", "failed")}
    roles = {"outcome": "exam", "treatment": "went", "instrument": "lot"}
    designed = {"cluster": "school", "sampling_weights": "weight"}
    result = IVBounds().fit(table | {"school": school, "weight": weight}, **roles, **designed)
    text = methods_paragraph(result)
    assert "The outcome is 'exam' (passed is 1, failed is 0), the treatment 'went'. " in text
    assert re.search(r"treated \d\d\.\d % with lot = won, 0\.0 % with lot = lost", text)
    assert "(Balazadeh et al., 2026; ivicl " in text
    assert "The interval allows for the design: 20 clusters with Z = 0, 20 with Z = 1, assigned by cluster; " in text
    assert "the answer is about the population they stand for" in text
    words = dict(data_rows(result))
    assert words["Design"] == result.diagnostics.design.in_short()
    assert words["Instrument (Z)"] == "lot: won is 1, lost is 0"


def test_no_p_value_is_zero_and_no_amount_has_digits_that_nobody_knows():
    table = {"z": [0, 1] * 200, "t": [1] * 380 + [0] * 20, "y": [0, 1] * 200, "pay": [1000.0, 30000.0] * 200}
    with pytest.warns(DesignWarning, match=r"one-sided p < 0\.0001"):
        result = IVBounds("balke-pearl").fit(table, **ROLES)
    assert "p = 0" not in result.summary() and "violated in the sample, p < 0.0001" in result.summary()
    with pytest.warns(DesignWarning):
        result = IVBounds("manski").fit(table, **ROLES | {"outcome": "pay"}, outcome_range=(0, 40000))
    assert re.search(r"Interval +\[-?\d{4,5}\.\d, \d{4,5}\.\d\]", result.summary())
