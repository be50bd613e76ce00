from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from ivicl import BoundsResult, IVBounds
from ivicl.errors import InputError
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
