"""The string keys of version 0.1 still answer, each with a warning that says what to write now."""

from __future__ import annotations

import warnings

import pytest

from ivicl import IVBounds
from ivicl.methods.pretrained.runtime import Model
from stand_in import StandIn, made_up

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}


@pytest.fixture(scope="module")
def fits():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Model, "shipped", staticmethod(lambda: StandIn()))
        return {
            "network": IVBounds(combine="comonotone").fit(made_up(300, amounts=True), **ROLES),
            "late": IVBounds(method="late").fit(made_up(300), covariates=["x0"], **ROLES),
            "estimate": IVBounds(method="balke-pearl").fit(made_up(300), **ROLES),
        }


@pytest.mark.parametrize(
    ("fit", "old", "new"),
    [
        ("late", lambda r: r.diagnostics["first_stage"]["difference"], lambda r: r.diagnostics.first_stage.difference),
        ("late", lambda r: r.diagnostics["findings"][0]["sentence"], lambda r: r.findings[0].sentence),
        ("late", lambda r: r.diagnostics.get("grade"), lambda r: r.grade),
        ("late", lambda r: r.diagnostics.first_stage["se"], lambda r: r.diagnostics.first_stage.se),
        ("late", lambda r: r.diagnostics["inequalities"][0]["violated"], lambda r: False),
        ("late", lambda r: r.codings["outcome"]["column"], lambda r: r.codings["outcome"].column),
        ("network", lambda r: r.model["name"], lambda r: r.model.name),
        ("network", lambda r: r.details["ladder"][3]["lower"], lambda r: r.ladder.rungs[3].lower),
        ("network", lambda r: r.details["thresholds"]["slack"], lambda r: r.thresholds.slack),
        ("network", lambda r: r.details["combine"], lambda r: "comonotone"),
        ("network", lambda r: r.details["n_binary_problems"], lambda r: 16),
        ("network", lambda r: r.details["width"]["not_identified"], lambda r: r.width_parts.not_identified),
        ("late", lambda r: r.details["estimate"], lambda r: r.estimates.lower),
        ("late", lambda r: r.details.get("se"), lambda r: r.estimates.se_lower),
        ("estimate", lambda r: r.details["sampling_error"], lambda r: False),
        ("estimate", lambda r: r.details["estimated_bounds"], lambda r: [r.lower, r.upper]),
    ],
)
def test_an_old_key_has_its_old_value_and_says_what_to_write(fits, fit, old, new):
    with pytest.warns(DeprecationWarning, match=r"is the spelling of version 0\.1; write .* instead") as seen:
        assert old(fits[fit]) == new(fits[fit])
    assert seen[0].filename == __file__, "the warning points at the caller's line"


def test_the_other_uses_of_a_dictionary_warn_too(fits):
    diagnostics = fits["late"].diagnostics
    for use in (lambda: "grade" in diagnostics, lambda: dict(diagnostics)["grade"], lambda: list(diagnostics)):
        with pytest.warns(DeprecationWarning, match="write .* instead") as seen:
            use()
        assert seen[0].filename == __file__
    with pytest.warns(DeprecationWarning), pytest.raises(KeyError):
        diagnostics["no such thing"]


def test_what_a_result_never_had_is_a_key_error_and_new_spellings_are_silent(fits):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "sampling_error" not in fits["network"].details
        assert fits["network"].details.get("estimate", "none") == "none"
        assert fits["late"].details["bounded"] is True
        with pytest.raises(KeyError):
            fits["late"].details["thresholds"]
        for result in fits.values():
            result.summary(), result.to_json(), result.row(), repr(result)
            assert "ladder" not in list(result.details), "old keys are not saved twice"
