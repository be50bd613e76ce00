"""Answers to further questions in the report and in notebooks: each a section with the data behind its picture."""

from __future__ import annotations

import csv
import html
import re

import pytest

from every_method import ROLES, small_table
from ivicl import IVBounds, compare, plan
from ivicl.errors import InputError
from test_cli_errors import ivicl_command


@pytest.fixture(scope="module")
def answers():
    fitted = IVBounds("balke-pearl").fit(small_table(), covariates=["old"], **ROLES)
    compared = compare(small_table(), methods=["balke-pearl", "late"], **ROLES)
    study = plan(n=[300, 600], takeup=0.8, means=(2, 3), sd=1, outcome_range=(0, 9))
    return fitted, [fitted.sensitivity(), fitted.by("old"), compared, study]


def test_a_report_has_a_section_each_and_none_unless_asked(answers, tmp_path):
    fitted, also = answers
    plain = fitted.report(tmp_path / "plain.html").read_text()
    full = fitted.report(tmp_path / "full.html", also=also).read_text()
    titles = [each.section().title for each in also]
    for title in titles:
        assert f"<h2>{title}</h2>" in full and title not in plain
    assert re.findall(r"<b>Figure (\d+)\.", full) == [str(k + 1) for k in range(plain.count("<figure") + 4)]
    ids = re.findall(r' id="([^"]+)"', full)
    assert len(ids) == len(set(ids)), "pictures of one page must not share ids"


def test_the_data_behind_each_picture_is_there(answers):
    for each in answers[1]:
        section = each.section()
        shown = html.unescape(re.search(r"<pre[^>]*>(.*?)</pre>", section.parts(""), re.DOTALL).group(1))
        rows = list(csv.DictReader(shown.replace("\u00a0", " ").splitlines()))
        assert list(rows[0]) == list(section.picture.data) and len(rows) == len(section.picture.to_frame())


def test_notebooks_show_the_same(answers):
    for each in answers[1]:
        shown = each._repr_html_()
        assert shown.startswith("<div style=") and each.section().title in shown and "<svg" in shown
        assert all(html.escape(cell) in shown.replace("\u00a0", " ") for cell in each.section().lines[0])


def test_what_has_no_section_is_refused(answers, tmp_path):
    with pytest.raises(InputError, match="also takes a list of what sensitivity, by, compare and plan give back"):
        answers[0].report(tmp_path / "page.html", also=[answers[0]])


def test_command(tmp_path):
    call = ["counts", *["158", "14", "0", "0", "52", "12", "23", "78"], "-m", "balke-pearl"]
    done = ivicl_command(*call, "--report", "page.html", "--also", "exclusion", cwd=tmp_path)
    assert done.returncode == 0 and "acts on the outcome by itself</h2>" in (tmp_path / "page.html").read_text()
    for wrong in (
        ["--also", "exclusion"],
        ["--report", "page.html", "--also", "luck"],
        ["--report", "page.html", "--also", "by=sex"],
    ):
        done = ivicl_command(*call, *wrong, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
