"""Results that version 0.1 saved load, keep their numbers, and lose the sentences that were not true."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from ivicl import BoundsResult, IVBounds
from ivicl.errors import InputError
from ivicl.results.report.page import report_html
from ivicl.results.saved import schema

FOLDER = Path(__file__).parent / "data" / "version-1"
NAMES = sorted(path.name.split(".")[0] for path in FOLDER.glob("*.json*"))
USES_COVARIATES = ("balke-pearl-within", "levis", "plugin")
KIND = {"network-amount": "credible", "exact": "credible", "late": "confidence", "levis": "confidence"}


@pytest.fixture(params=NAMES)
def saved(request, tmp_path) -> tuple[str, dict, Path]:
    """Name, content as it stands in the file, and a path to load."""
    (source,) = FOLDER.glob(f"{request.param}.json*")
    text = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    path = tmp_path / "old.json"
    path.write_bytes(text)
    return request.param, json.loads(text), path


def test_the_numbers_are_those_of_the_file(saved):
    name, old, path = saved
    assert old["schema"] == 1
    new = BoundsResult.load(path)
    same = ("lower", "upper", "alpha", "method", "n", "n_rows", "n_dropped", "estimand", "binary", "covers", "version")
    assert {key: getattr(new, key) for key in same} == {key: old[key] for key in same}
    assert new.interval_kind == KIND.get(name, "estimate")
    assert list(new.outcome_range) == old["outcome_range"] and list(new.covariates) == old["covariates"]
    assert list(new.warnings) == old["warnings"] and list(new.notes) == old["notes"]
    stage = new.diagnostics.first_stage.to_dict()
    assert stage.pop("partial_f") is None and stage == old["diagnostics"]["first_stage"], "version 0.1 had no partial F"
    inequalities = [each.to_dict() for each in new.diagnostics.inequalities]
    assert not any(each.pop("by_means") for each in inequalities), "version 0.1 had no amounts by their means"
    assert inequalities == old["diagnostics"]["inequalities"]
    assert [f.sentence for f in new.findings] == [f["sentence"] for f in old["diagnostics"]["findings"]]
    assert {role: coding.column for role, coding in new.codings.items()} == {
        role: coding["column"] for role, coding in old["codings"].items()
    }
    rungs = old["details"]["ladder"]
    assert [(r.method, r.lower, r.upper, r.estimand) for r in new.ladder] == [
        (r["method"], r["lower"], r["upper"], r["estimand"]) for r in rungs
    ]
    assert (new.posterior is None) == (old["posterior"] is None)
    if new.posterior is not None:
        np.testing.assert_array_equal(new.posterior.probabilities, old["posterior"]["probabilities"])
        np.testing.assert_array_equal(new.identified_set.upper.edges, old["identified_set"]["upper"]["edges"])


def load(name: str, tmp_path: Path) -> BoundsResult:
    (source,) = FOLDER.glob(f"{name}.json*")
    text = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    (tmp_path / "old.json").write_bytes(text)
    return BoundsResult.load(tmp_path / "old.json")


def test_what_lay_in_details_is_where_it_belongs(tmp_path):
    """The numbers on the right were printed by version 0.1."""
    amount, exact = load("network-amount", tmp_path), load("exact", tmp_path)
    assert amount.interval(0.2) == pytest.approx((0.15978031151574418, 4.961876036543295), rel=1e-12)
    assert amount.prob_positive == pytest.approx(0.9953885364967809, rel=1e-12)
    assert amount.thresholds.problems == 4 and amount.thresholds.combine == "comonotone"
    assert amount.thresholds.points == pytest.approx((2.15, 4.05, 5.95, 7.85)) and amount.thresholds.slack > 1
    assert amount.model.name == "ivicl.onnx" and amount.details["rows_used"] == 8
    assert exact.interval(0.2) == pytest.approx((0.3298611111111111, 0.8167317708333334), rel=1e-12)
    late, levis, plugin = load("late", tmp_path), load("levis", tmp_path), load("plugin", tmp_path)
    assert late.estimates.lower == late.estimates.upper and late.estimates.se_lower > 0
    assert late.ladder.get("late").estimate == late.estimates.lower
    assert levis.estimates.lower - levis.details["critical_value"] * levis.estimates.se_lower == (
        pytest.approx(levis.lower)
    )
    assert (plugin.estimates.lower, plugin.estimates.upper) == (plugin.lower, plugin.upper)
    assert plugin.details["thresholds"] == 16 and plugin.thresholds is None
    assert [load(name, tmp_path).adjusted for name in NAMES] == [name in USES_COVARIATES for name in NAMES]
    for result in (amount, exact, late, levis, plugin):
        assert not {"ladder", "combine", "estimated_bounds", "width", "sampling_error"} & set(result.details.keys())


def test_it_does_all_that_a_fresh_result_does(saved, tmp_path):
    name, _, path = saved
    result = BoundsResult.load(path)
    assert result.label in result.summary() and result.method in repr(result)
    for kind in ("ladder", "compliance", *(("posterior", "levels") if name in ("exact", "network-amount") else ())):
        assert len(result.plot(kind).to_frame()) >= 4
    text = report_html(result)
    assert f"{result.n:,}" in text and result.to_frame()["lower"][0] == result.lower
    result.save(tmp_path / "new.json")
    content = json.loads((tmp_path / "new.json").read_text("utf-8"))
    assert content["schema"] == 2 and content["version"] == "0.1.0", "the version that computed it"
    jsonschema.validate(content, schema(), cls=jsonschema.Draft202012Validator)
    again = BoundsResult.load(tmp_path / "new.json")
    assert again == result and report_html(again) == text


def test_the_words_are_those_of_today(tmp_path):
    plugin = load("plugin", tmp_path)
    own = plugin.ladder.get("plugin")
    assert own.level == "estimated, adjusted" and "99 %" not in own.label
    assert "4.7312]  (estimated, width" in plugin.summary()
    assert "allowing for sampling error" not in report_html(plugin)
    fresh = IVBounds(method="balke-pearl", alpha=0.01).fit_counts([158, 14, 0, 0, 52, 12, 23, 78])
    old = load("balke-pearl", tmp_path)
    start, end = "<h2>What it rests on", "<footer>"
    told = [page[page.index(start) : page.index(end)] for page in (report_html(old), report_html(fresh))]
    # A finding keeps the words in which it was saved; this one has had better ones since.
    findings = told[1].replace("the range that the network is made for", "the network&#x27;s training range")
    assert told[0] == findings.replace(fresh.version, old.version)
    assert "estimated, no covariates" in report_html(old), "its rungs had no intervals"


@pytest.mark.parametrize("damage", ["details", "posterior", "diagnostics", "covariates"])
def test_a_damaged_file_is_refused_in_a_sentence(damage, tmp_path):
    content = json.loads((FOLDER / "late.json").read_text("utf-8"))
    del content[damage]
    (tmp_path / "bad.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"bad\.json' is damaged"):
        BoundsResult.load(tmp_path / "bad.json")
