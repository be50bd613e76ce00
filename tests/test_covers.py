"""What the interval is for: the identified set by default, the effect on request."""

from dataclasses import replace

import numpy as np
import pytest

from ivicl import IVBounds
from ivicl.errors import InputError
from ivicl.posterior import EFFECT_EDGES, BinnedPosterior, IdentifiedSet

CHOLESTYRAMINE = [158, 14, 0, 0, 52, 12, 23, 78]


def peak(place: float) -> BinnedPosterior:
    centres = (EFFECT_EDGES[1:] + EFFECT_EDGES[:-1]) / 2
    return BinnedPosterior(EFFECT_EDGES, np.exp(-0.5 * ((centres - place) / 0.02) ** 2))


@pytest.mark.parametrize("method", ["ivicl", "exact"])
def test_default_interval_runs_between_quantiles_of_the_ends(method):
    res = IVBounds(method=method, alpha=0.02).fit_counts(CHOLESTYRAMINE)
    ends = res.identified_set
    assert res.covers == "set" and "credible for the set" in res.summary()
    assert (res.lower, res.upper) == pytest.approx((ends.lower.quantile(0.01), ends.upper.quantile(0.99)))
    assert res.interval(0.02) == pytest.approx((res.lower, res.upper))
    inside = res.posterior.interval(0.02)
    assert res.lower < inside[0] and inside[1] < res.upper


@pytest.mark.parametrize("method", ["ivicl", "exact"])
def test_effect_on_request(method):
    res = IVBounds(method=method, covers="effect").fit_counts(CHOLESTYRAMINE)
    assert res.covers == "effect"
    assert (res.lower, res.upper) == pytest.approx(res.posterior.interval(0.05))
    assert "credible for the set" not in res.summary()


def test_independent_errors_are_about_the_effect(tmp_path):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 300)
    t = (rng.random(300) < 0.2 + 0.6 * z).astype(int)
    frame = {"z": z, "t": t, "y": np.clip(rng.normal(5 + t, 2, 300), 0, 10).round(1)}
    import polars as pl

    roles = {"outcome": "y", "treatment": "t", "instrument": "z"}
    narrow = IVBounds(combine="independent").fit(pl.DataFrame(frame), **roles)
    wide = IVBounds(combine="comonotone").fit(pl.DataFrame(frame), **roles)
    assert (narrow.covers, wide.covers) == ("effect", "set")
    assert narrow.width < wide.width
    narrow.save(tmp_path / "r.json")
    assert type(narrow).load(tmp_path / "r.json").interval(0.1) == pytest.approx(narrow.posterior.interval(0.1))


def test_ends_that_cross_meet_in_the_middle():
    crossed = IdentifiedSet(peak(0.1), peak(0.0))
    lower, upper = crossed.interval(0.5)
    assert lower == upper == pytest.approx(0.05, abs=0.01)
    lower, upper = IdentifiedSet(peak(-0.3), peak(0.4)).interval(0.01)
    assert (lower, upper) == pytest.approx((-0.3 - 2.576 * 0.02, 0.4 + 2.576 * 0.02), abs=2e-3)


@pytest.mark.parametrize("method", ["ivicl", "exact"])
def test_other_words_are_refused(method):
    with pytest.raises(InputError, match="covers must be 'set' or 'effect', but is 'both'"):
        IVBounds(method=method, covers="both").fit_counts(CHOLESTYRAMINE)


def test_a_method_without_such_an_interval_says_so():
    with pytest.raises(InputError, match="method 'manski' has no interval that covers the effect; it has: set"):
        IVBounds("manski", covers="effect").fit_counts(CHOLESTYRAMINE)


def test_each_method_says_what_its_interval_holds():
    expected = {"balke-pearl": "set", "manski": "set", "sharp": "set", "late": "effect"}
    assert {m: IVBounds(method=m).fit_counts(CHOLESTYRAMINE).covers for m in expected} == expected


def test_posteriors_of_the_ends_alone_give_an_interval_at_any_level():
    """As method bayes-bp has them: no posterior of the effect."""
    res = IVBounds(method="balke-pearl").fit_counts(CHOLESTYRAMINE)
    ends = IdentifiedSet(peak(-0.3), peak(0.4))
    with pytest.raises(InputError, match="no posterior"):
        res.interval(0.1)
    bayesian = replace(res, identified_set=ends, interval_kind="credible")
    assert bayesian.interval(0.1) == ends.interval(0.1)
    assert "95 % credible for the set" in bayesian.summary()
