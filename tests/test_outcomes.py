from __future__ import annotations

import numpy as np
import pytest

from ivicl import IVBounds, IVData
from ivicl._shared.numbers import rounded_interval
from ivicl.methods.outcomes import COMBINATIONS, choose_thresholds, combine_thresholds, randomised
from ivicl.posterior import EFFECT_EDGES, BinnedPosterior, IdentifiedSet, width_parts


def data_of(y, outcome_range=None, w=None):
    y = np.asarray(y, dtype=float)
    z = np.arange(len(y)) % 2
    return IVData.from_arrays(z, z, y, w=w, outcome_range=outcome_range)


def test_few_values_are_cut_at_the_values_and_lose_nothing():
    data = data_of([1, 2, 4, 4, 1, 2], outcome_range=(0, 5))
    cuts = choose_thresholds(data, 16)
    np.testing.assert_allclose(cuts.points, [1, 2, 4, 5])
    np.testing.assert_allclose(cuts.lengths, [1, 1, 2, 1])
    assert cuts.slack == 0
    rebuilt = sum(length * (data.y >= c) for c, length in zip(cuts.points, cuts.lengths, strict=True))
    np.testing.assert_allclose(rebuilt, data.y - 0)


def test_many_values_are_rounded_by_at_most_half_a_step():
    data = data_of(np.random.default_rng(1).normal(size=400))
    cuts = choose_thresholds(data, 8)
    low, high = data.outcome_range
    assert len(cuts.points) == 8
    assert cuts.slack == pytest.approx((high - low) / 8)
    rebuilt = low + sum(length * (data.y >= c) for c, length in zip(cuts.points, cuts.lengths, strict=True))
    assert np.abs(rebuilt - data.y).max() <= cuts.slack / 2 + 1e-12
    moved = (rebuilt - data.y)[data.z == 1].mean() - (rebuilt - data.y)[data.z == 0].mean()
    assert cuts.rounding_shift == pytest.approx(moved)


def test_a_randomised_outcome_keeps_people_and_means():
    data = data_of(np.repeat([0.0, 1.0, 3.0, 4.0], 50), w=np.full(200, 10_000))
    zeros, ones = randomised(data, np.random.default_rng(0))
    np.testing.assert_array_equal(zeros + ones, data.w)
    assert ones[data.y == 0].sum() == 0
    assert zeros[data.y == 4].sum() == 0
    assert ones[data.y == 3].sum() / data.w[data.y == 3].sum() == pytest.approx(0.75, abs=0.005)


def parts(rng):
    effects = [BinnedPosterior(EFFECT_EDGES, rng.random(1024) ** 4) for _ in range(5)]
    return effects, [IdentifiedSet(e, e.scaled(0.5, 0.5)) for e in effects]


def test_comonotone_adds_quantiles_and_independent_adds_variances():
    effects, ends = parts(np.random.default_rng(0))
    lengths = np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    together, _ = combine_thresholds(effects, ends, lengths, "comonotone")
    apart, ends_apart = combine_thresholds(effects, ends, lengths, "independent")
    for q in (0.01, 0.3, 0.9):
        assert together.quantile(q) == pytest.approx(
            sum(s * e.quantile(q) for s, e in zip(lengths, effects, strict=True)), abs=0.02
        )
    assert apart.mean == pytest.approx(together.mean, abs=0.01)
    assert apart.sd == pytest.approx(
        np.sqrt(sum((s * e.sd) ** 2 for s, e in zip(lengths, effects, strict=True))), rel=0.02
    )
    # The ends of the identified set add by quantiles whatever was asked for the effect.
    assert ends_apart.lower.sd == pytest.approx(together.sd, rel=0.02)


def test_the_width_is_taken_apart_without_rest():
    lower = BinnedPosterior.from_samples(np.random.default_rng(0).normal(-0.2, 0.03, 20_000))
    upper = BinnedPosterior.from_samples(np.random.default_rng(1).normal(0.3, 0.03, 20_000))
    found = width_parts(IdentifiedSet(lower, upper), 0.01)
    assert found.not_identified == pytest.approx(0.5, abs=0.01)
    assert found.not_enough_data == pytest.approx(2 * 2.576 * 0.03, abs=0.02)
    assert found.not_identified + found.not_enough_data == pytest.approx(found.width)
    assert "not enough data" in found.sentence()


def test_crossing_ends_never_give_a_negative_width():
    point = BinnedPosterior(EFFECT_EDGES, np.eye(1024)[700])
    other = BinnedPosterior(EFFECT_EDGES, np.eye(1024)[300])
    found = width_parts(IdentifiedSet(point, other), 0.01)
    assert found.upper >= found.lower
    assert found.not_identified == 0
    assert found.not_enough_data >= 0


def test_every_way_to_combine_is_explained_where_it_is_chosen():
    for name in COMBINATIONS:
        assert name in (IVBounds.__doc__ or "")


def test_intervals_are_printed_to_the_digit_that_matters():
    assert rounded_interval(-188.4145, 487.6982) == "[-188, 488]"
    assert rounded_interval(-0.04823, 0.30261) == "[-0.048, 0.303]"
    assert rounded_interval(-0.0001, 0.35) == "[0.000, 0.350]"
