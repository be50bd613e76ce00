"""A newcomer comes from `pip install` to a report on a Stata file, and mistakes on the way are answered."""

from __future__ import annotations

import pytest

import newcomer


@pytest.mark.slow
def test_from_install_to_report(tmp_path):
    said = {step.title: words for step, _, _, words in newcomer.walk(tmp_path)}
    without, typo = (said[title] for title in said if title.startswith("mistake"))
    assert "pip install 'ivicl[files]'" in without and without.count("\n") == 0
    assert "the nearest name is 'age'" in typo and typo.count("\n") == 0
    report = (tmp_path / "bounds.html").read_text(encoding="utf-8")
    assert "invited = control" in report and "working" in report, "value labels reach the reader"
