"""Summary, ladder and report say of every method only what is true of it."""

from __future__ import annotations

import html
import re

import pytest

from every_method import QUICK, ROLES, small_table
from ivicl import IVBounds
from ivicl.methods import Method, MethodBounds
from ivicl.methods.assumptions import ASSUMPTIONS, denials
from ivicl.methods.pretrained.runtime import Model
from ivicl.methods.registry import shipped
from stand_in import StandIn

ESTIMATES = ("manski", "manski-iv", "balke-pearl", "no-defiers", "sharp", "plugin")
INTERVALS = ("ivicl", "exact", "late", "levis", "whitehouse", "bayes", "bayes-bp")
ALL = ESTIMATES + INTERVALS
CONFIDENCE = ("late", "levis", "whitehouse")
USES_COVARIATES = ("ivicl", "plugin", "levis", "whitehouse", "bayes", "bayes-bp", "late")


def fit(method: str, **options):
    estimator = IVBounds(method=method, alpha=0.05, **(QUICK.get(method, {}) | options))
    return estimator.fit(small_table(), covariates=["old"], **ROLES)


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Method -> its summary, and the words of its report."""
    folder = tmp_path_factory.mktemp("reports")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Model, "shipped", staticmethod(lambda: StandIn()))
        return {name: (fits := fit(name), fits.summary(), words(fits, folder / "r.html")) for name in ALL}


def words(result, path) -> str:
    page = re.sub(r"<style.*?</style>|<svg.*?</svg>", " ", result.report(path).read_text("utf-8"), flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).replace("\u00a0", " ").split())


def part(report: str, start: str, end: str) -> str:
    return report[report.index(start) : report.index(end, report.index(start))]


def test_every_method_is_looked_at():
    assert set(ALL) == set(shipped())


@pytest.mark.parametrize("method", ESTIMATES)
def test_an_estimate_is_never_called_an_interval_with_a_level(said, method):
    _, summary, report = said[method]
    own = next(line for line in summary.splitlines() if line.startswith("Interval"))
    assert "estimated" in own and "%" not in own
    answer = part(report, "Bounds on", "The question")
    assert "no allowance for sampling error" in answer and "% confidence" not in answer and "% credible" not in answer
    assert "raises" not in answer, "without allowance for chance there is no verdict"
    assert "without allowance for sampling error" in part(report, "Methods paragraph", "Citation")


@pytest.mark.parametrize("method", ALL)
def test_only_what_allows_for_sampling_error_says_so(said, method):
    result, summary, report = said[method]
    ladder = part(report, "What it assumes", "What it rests on")
    assert "allowing for sampling error" not in ladder
    assert "What each assumption buys, at 95 %" in summary
    own = result.ladder.get(method)
    plain = method == "plugin"  # it has no formula at a law, so that nothing is drawn for it
    kind = "estimated" if plain else "95 % confidence" if method in CONFIDENCE else "95 % credible"
    assert own.level.startswith(kind)
    for rung in result.ladder:
        assert rung.sampling_error == (not (plain and rung is own)) and rung.alpha == 0.05
        if not (rung is own and method.startswith("bayes")):  # which has the posterior of the effect alone
            assert rung.lower <= rung.estimate_lower <= rung.estimate_upper <= rung.upper


@pytest.mark.parametrize("method", ALL)
def test_defiers_are_assumed_away_exactly_where_they_are(said, method):
    _, _, report = said[method]
    assumed = method in ("late", "no-defiers")
    paragraph = part(report, "Methods paragraph", "Citation")
    assert ("no defiers," in paragraph.split("Assumptions:")[1].split(".")[0]) == assumed
    assert ("not assumed that there are no defiers" in paragraph or ", that there are no defiers" in paragraph) != (
        assumed
    )
    assert not (assumed and "No assumption was made on defiers" in paragraph)
    rows = part(report, "What it rests on", "What the data say")
    assert ("No defiers The instrument moves nobody against its direction." in rows) == assumed
    assert ("there are no defiers" in rows.split("Not assumed")[1]) != assumed


@pytest.mark.parametrize("method", ALL)
def test_covariates_are_named_where_they_were_used(said, method):
    result, summary, report = said[method]
    used = method in USES_COVARIATES
    assert result.adjusted == used
    assert ("old (not used)" in summary) != used
    assert ("covariates were old" in report) == used
    assert ("randomised given the covariates" in part(report, "What it rests on", "What the data say")) == used
    adjusted = {rung.label for rung in result.ladder if rung.adjusted}
    assert adjusted == {"LATE: compliers only, adjusted", *([result.label] if used and method != "late" else [])}
    for rung in result.ladder:
        assert rung.level.endswith("adjusted" if rung.adjusted else "no covariates")
        assert ("given the covariates" in rung.assumption) == rung.adjusted


def test_the_same_formula_within_covariates_is_another_rung(tmp_path):
    inside = fit("balke-pearl", within="covariates")
    rung = inside.ladder.get("balke-pearl")
    assert rung.adjusted and "given the covariates" in rung.assumption and "no covariates" not in rung.label
    assert "covariates were old" in words(inside, tmp_path / "r.html")


@pytest.mark.parametrize("method", ALL)
def test_each_rung_speaks_for_itself(said, method):
    result, _, report = said[method]
    for rung in result.ladder:
        assert "same" not in rung.assumption.lower(), "it must not lean on the rung above"
        assert rung.assumption.endswith(".")
    assert re.findall(r"Figure (\d)\.", report) == [str(i + 1) for i in range(report.count("Figure"))]


def test_who_is_meant_is_said(said):
    *_, late = said["late"]
    assert "effect among compliers lies between" in late
    assert "Among compliers, those whom the instrument moves" in part(late, "The question", "The data")
    assert "raises the outcome on average among compliers" in late
    *_, average = said["levis"]
    assert "raises the outcome on average." in average and "everybody had had" in average


def test_a_method_without_an_instrument_does_not_claim_one(said):
    *_, report = said["manski"]
    paragraph = part(report, "Methods paragraph", "Citation")
    assert "without use of the instrument" in paragraph and "as an instrumental variable" not in paragraph
    assert "that the instrument acts through the treatment alone" in paragraph.split("not assumed")[1]
    assert "as an instrumental variable" in said["manski-iv"][2]


def test_perfect_compliance_is_not_described_as_imperfect(tmp_path):
    perfect = IVBounds(method="balke-pearl").fit_counts([20, 10, 0, 0, 0, 0, 12, 18])
    report = words(perfect, tmp_path / "r.html")
    assert "did not all do as" not in report
    assert "Everybody did as the instrument says." in report


def test_what_follows_from_an_assumption_is_not_denied():
    told = denials(("exchangeable", "exclusion", "no-interference", "equal-effects"))
    assert told == ["that there are no defiers"]
    assert "that mean potential outcomes are equal in both arms of the instrument" in denials(("bounded",))
    assert all(key in ASSUMPTIONS for assumption in ASSUMPTIONS.values() for key in assumption.implies)


def test_another_estimand_stands_last_and_is_named():
    ratio = Method("ratio", "Ratio", lambda d, r: MethodBounds(0.5, 2.0, estimand="risk ratio"), "estimate", "")
    result = IVBounds(ratio).fit(small_table(), **ROLES)
    assert [rung.method for rung in result.ladder] == ["manski", "manski-iv", "balke-pearl", "late", "ratio"]
    assert result.ladder.lines()[-1].endswith("[0.5000, 2.0000]   estimated, of the risk ratio, no covariates")
    assert result.ladder.lines()[-2].endswith("95 % confidence, of the LATE, no covariates")
    assert result.plot("ladder").caption.endswith(
        "Dashed: another estimand (LATE, the effect among compliers; risk ratio)."
    )
