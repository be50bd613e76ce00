"""BoundsResult: what a reader sees, what a program gets, and what comes back from disk."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import polars as pl
import pytest

from ivicl import BoundsResult, InputError, IVBounds, IVData
from ivicl.methods.base import Method, MethodBounds, ModelInfo, Request
from ivicl.methods.registry import resolve
from ivicl.posterior import EFFECT_EDGES, BinnedPosterior, IdentifiedSet
from ivicl.results.making import make_result

DATA = IVData.from_counts([158, 14, 0, 0, 52, 12, 23, 78])


def with_posterior() -> BoundsResult:
    rng = np.random.default_rng(0)
    posterior, lower, upper = (
        BinnedPosterior.from_samples(rng.normal(m, 0.1, 5000), EFFECT_EDGES) for m in (0.1, -0.2, 0.4)
    )
    found = MethodBounds(
        *posterior.interval(0.05),
        posterior,
        IdentifiedSet(lower, upper),
        "effect",
        warnings=("beware of 5 % & more",),
        model=ModelInfo("m", "abc"),
        details={"x": np.float64(1.5), "list": np.arange(2)},
    )
    return make_result(resolve("exact"), found, DATA, Request(alpha=0.05))


def test_contract_of_the_json():
    saved = json.loads(with_posterior().to_json())
    expected = {
        "lower",
        "upper",
        "alpha",
        "method",
        "n",
        "n_dropped",
        "covariates",
        "estimand",
        "outcome_range",
        "posterior",
        "diagnostics",
        "warnings",
        "model",
        "version",
    }
    assert expected <= set(saved)
    assert set(saved["posterior"]) == {"edges", "probabilities"}
    assert len(saved["posterior"]["edges"]) == len(saved["posterior"]["probabilities"]) + 1
    assert saved["model"] == {"name": "m", "sha256": "abc"}
    assert saved["n"] == 337


def test_save_and_load(tmp_path):
    for result in (with_posterior(), IVBounds(method="late").fit_data(DATA)):
        result.save(tmp_path / "result.json")
        assert BoundsResult.load(tmp_path / "result.json") == result


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not json", "it is not JSON"),
        ("[1, 2]", "not a saved result"),
        ('{"kind": "ivicl-bounds", "schema": 99}', "has schema 99, but this version of ivicl reads 1 and 2; update"),
        ('{"kind": "ivicl-bounds", "schema": 1, "lower": 0}', "is damaged"),
    ],
)
def test_load_refuses_other_files(tmp_path, content, message):
    (tmp_path / "file.json").write_text(content)
    with pytest.raises(InputError, match=message):
        BoundsResult.load(tmp_path / "file.json")
    with pytest.raises(InputError, match="cannot be read"):
        BoundsResult.load(tmp_path / "none.json")


def test_intervals_at_other_levels():
    result = with_posterior()
    assert result.interval(0.05) == pytest.approx((result.lower, result.upper))
    narrow = result.interval(0.5)
    assert result.lower < narrow[0] < narrow[1] < result.upper
    assert 0.7 < result.prob_positive < 0.95
    with pytest.raises(InputError, match="alpha must lie between 0 and 1"):
        result.interval(1.5)
    late = IVBounds(method="late").fit_data(DATA)
    assert late.interval(0.05) == (late.lower, late.upper)
    with pytest.raises(InputError, match=r"'late' has no posterior of the LATE.*; fit it again with alpha=0\.1"):
        late.interval(0.1)


def test_summary_names_what_a_statistician_looks_for():
    text = with_posterior().summary()
    for words in (
        "average treatment effect (ATE)",
        "337",
        "First stage",
        "0.6121",
        "F = 260",
        "95 % credible",
        "Identified set",
        "depends on the prior",
        "beware of 5 %",
        "Rows dropped",
        "IV inequalities",
    ):
        assert words in text
    assert max(len(line) for line in text.splitlines()) <= 88
    plain = IVBounds(method="balke-pearl").fit_data(DATA).summary()
    assert "estimated bounds" in plain
    assert "no allowance for sampling error" in plain


def test_tables():
    result = with_posterior()
    frame = result.to_frame()
    assert frame.shape[0] == 1
    assert frame["lower"][0] == result.lower
    assert isinstance(frame, pl.DataFrame)
    latex = result.to_latex()
    assert latex.startswith(r"\begin{tabular}") and r"5 \% \& more" in latex and latex.count(r"\\") >= 8
    markdown = result.to_markdown().splitlines()
    assert markdown[1] == "|---|---|" and all(line.count(" | ") == 1 for line in markdown[2 : markdown.index("")])
    assert sum(line.startswith("| Balke-Pearl | [") for line in markdown) == 1 and "| Balke-Pearl & [" not in latex


def constant(lower: float, upper: float, **fields) -> Method:
    return Method("constant", "Constant", lambda data, request: MethodBounds(lower, upper, **fields), "estimate", "")


def test_no_method_may_leave_the_range_or_cross():
    beyond = IVBounds(constant(-1.2, 1.0 + 1e-12)).fit_data(DATA)
    assert (beyond.lower, beyond.upper) == (-1.0, 1.0)
    assert (beyond.ladder.get("constant").lower, beyond.ladder.get("constant").upper) == (-1.0, 1.0)
    rounding = IVBounds(constant(0.3 + 1e-13, 0.3)).fit_data(DATA)
    assert rounding.lower == rounding.upper == pytest.approx(0.3)
    with pytest.raises(RuntimeError, match=r"crossed bounds: 0\.4 > 0\.3"):
        IVBounds(constant(0.4, 0.3)).fit_data(DATA)
    with pytest.raises(RuntimeError, match="not numbers"):
        IVBounds(constant(float("nan"), 0.3)).fit_data(DATA)


def test_an_estimand_that_nobody_knows_here_is_not_cut_to_the_range_of_effects():
    ratio = IVBounds(constant(0.5, 7.0, estimand="risk ratio")).fit_data(DATA)
    assert (ratio.lower, ratio.upper) == (0.5, 7.0)
    assert "risk ratio" in ratio.summary()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "alpha must lie between 0 and 1"),
        ({"alpha": "x"}, "alpha must be a number between 0 and 1"),
        ({"combine": "sum"}, "combine must be 'means', 'comonotone', 'independent' or 'randomised'"),
        ({"n_thresholds": 0}, "n_thresholds must be a whole number of at least 1"),
        ({"random_state": 1.5}, "random_state must be a whole number"),
        ({"method": "balke-perl"}, "there is no method 'balke-perl'; the nearest name is 'balke-pearl'"),
        ({"method": "zzz"}, "there is no method 'zzz'; the names are ivicl, balke-pearl"),
    ],
)
def test_wrong_parameters_have_their_own_sentence(options, message):
    with pytest.raises(InputError, match=message):
        IVBounds(**({"method": "manski"} | options)).fit_data(DATA)


def test_a_result_and_a_picture_print_as_one_line():
    network = with_posterior()
    assert repr(network) == (
        f"BoundsResult(ATE in [{network.lower:.3f}, {network.upper:.3f}], 95 % credible, exact, n = 337, grade ok)"
    )
    late = IVBounds(method="late").fit_data(DATA)
    assert repr(late) == "BoundsResult(LATE in [0.636, 0.885], 95 % confidence, late, n = 337, grade ok)"
    assert repr(late.plot("ladder")) == f"Picture(ladder, {len(late.ladder)} rows of data)"


def test_a_result_can_be_copied_and_sent_to_another_process():
    result = with_posterior()
    assert copy.deepcopy(result) == result == pickle.loads(pickle.dumps(result))
    with pytest.warns(DeprecationWarning):
        assert copy.deepcopy(result).details["ladder"]


def test_a_file_with_a_wrong_value_is_refused_in_a_sentence(tmp_path):
    good = json.loads(IVBounds(method="late").fit_data(DATA).to_json())
    derived = {"grade", "estimands"}  # computed again
    for key in good.keys() - derived - {"kind", "schema", "details"}:
        for value in ("word", 3, [1], {"a": 1}, True):
            same = type(good[key]) is type(value) or (value == 3 and (isinstance(good[key], float) or key == "cap"))
            (tmp_path / "file.json").write_text(json.dumps(good | {key: value}))
            if not same:
                with pytest.raises(InputError, match=r"file\.json' is damaged"):
                    BoundsResult.load(tmp_path / "file.json")


def test_an_end_near_zero_is_not_written_in_powers_of_ten():
    from ivicl.results.wording import interval

    assert interval(7.9e-06, 0.2419) == "[0.0000, 0.2419]" and interval(-7.9e-06, 0.2) == "[-0.0000, 0.2000]"
    assert interval(2e-06, 7.9e-06) == "[2e-06, 7.9e-06]" and interval(0.5, float("inf")) == "[0.5000, inf]"
