"""BinnedPosterior against closed forms and against samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from ivicl import InputError
from ivicl.posterior import EFFECT_EDGES, BinnedPosterior


def binned_normal(mean: float, sd: float, edges: np.ndarray = EFFECT_EDGES) -> BinnedPosterior:
    return BinnedPosterior(edges, np.diff(norm.cdf(edges, mean, sd)))


def test_matches_a_normal():
    posterior = binned_normal(0.1, 0.08)
    assert posterior.mean == pytest.approx(0.1, abs=1e-6)
    assert posterior.sd == pytest.approx(0.08, abs=1e-4)
    levels = np.array([0.005, 0.05, 0.5, 0.95, 0.995])
    np.testing.assert_allclose(posterior.quantile(levels), norm.ppf(levels, 0.1, 0.08), atol=1e-4)
    np.testing.assert_allclose(posterior.pdf([0.0, 0.1]), norm.pdf([0.0, 0.1], 0.1, 0.08), rtol=0.02)
    assert posterior.prob_positive == pytest.approx(norm.cdf(0.1 / 0.08), abs=1e-6)
    assert posterior.interval(0.1) == pytest.approx(norm.ppf([0.05, 0.95], 0.1, 0.08), abs=1e-4)


def test_quantile_interpolates_inside_a_bin_and_ends_at_the_support():
    posterior = BinnedPosterior(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.0]))
    np.testing.assert_allclose(posterior.quantile([0.0, 0.25, 1.0]), [1.0, 1.25, 2.0])


def test_quantile_skips_an_empty_stretch():
    posterior = BinnedPosterior(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.5, 0.0, 0.5]))
    assert posterior.quantile(0.5) == 1.0
    assert posterior.quantile(0.5 + 1e-9) == pytest.approx(2.0, abs=1e-6)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12), st.floats(0.001, 0.999))
def test_cdf_undoes_quantile(weights, level):
    if sum(weights) <= 0:
        return
    posterior = BinnedPosterior(np.linspace(-1, 1, len(weights) + 1), np.array(weights))
    assert posterior.cdf(posterior.quantile(level)) == pytest.approx(level, abs=1e-9)


def test_sample_has_the_law():
    posterior = binned_normal(-0.2, 0.1)
    drawn = posterior.sample(100_000, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(-0.2, abs=0.002)
    assert drawn.std() == pytest.approx(0.1, abs=0.002)


def test_scaled_and_mirrored():
    posterior = binned_normal(0.1, 0.05)
    scaled = posterior.scaled(-50, 3)
    assert scaled.mean == pytest.approx(-2.0, abs=1e-4)
    assert scaled.sd == pytest.approx(2.5, rel=1e-3)
    mirrored = posterior.mirrored()
    assert mirrored.quantile(0.9) == pytest.approx(-posterior.quantile(0.1))


def test_comonotone_adds_quantiles_and_independent_convolves():
    parts = [binned_normal(0.1, 0.05).scaled(3), binned_normal(-0.1, 0.1).scaled(0.5), binned_normal(0.0, 0.02)]
    sds = [0.15, 0.05, 0.02]
    together = BinnedPosterior.combine_comonotone(parts, 4096)
    apart = BinnedPosterior.combine_independent(parts, 4096)
    levels = [0.005, 0.3, 0.995]
    np.testing.assert_allclose(together.quantile(levels), sum(p.quantile(levels) for p in parts), atol=2e-3)
    np.testing.assert_allclose(
        apart.quantile(levels), norm.ppf(levels, 0.25, np.hypot(np.hypot(*sds[:2]), sds[2])), atol=2e-3
    )
    assert together.sd == pytest.approx(sum(sds), rel=0.01)
    assert apart.sd < together.sd


def test_combining_one_part_changes_nothing():
    part = binned_normal(0.2, 0.1)
    for combined in (BinnedPosterior.combine_comonotone([part]), BinnedPosterior.combine_independent([part])):
        np.testing.assert_allclose(combined.quantile([0.01, 0.5, 0.99]), part.quantile([0.01, 0.5, 0.99]), atol=1e-3)


def test_comonotone_of_posteriors_with_a_gap():
    gap = BinnedPosterior(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.5, 0.0, 0.5]))
    both = BinnedPosterior.combine_comonotone([gap, gap], 600)
    assert both.cdf(2.0) == pytest.approx(0.5, abs=1e-6)
    assert both.cdf(4.0) == pytest.approx(0.5, abs=1e-6)


def test_dict_round_trip_and_mixture():
    first, second = binned_normal(0.2, 0.1), binned_normal(-0.2, 0.1)
    assert BinnedPosterior.from_dict(first.to_dict()) == first
    mixed = BinnedPosterior.mixture([first, second])
    assert mixed.mean == pytest.approx(0.0, abs=1e-6)


def test_a_mixture_of_posteriors_on_different_edges_is_exact():
    first, second = binned_normal(0.2, 0.1), binned_normal(-0.2, 0.1).scaled(0.37)
    mixed = BinnedPosterior.mixture([first, second])
    points = np.linspace(-1, 1, 777)
    np.testing.assert_allclose(mixed.cdf(points), (first.cdf(points) + second.cdf(points)) / 2, atol=1e-12)
    assert mixed.mean == pytest.approx((first.mean + second.mean) / 2, abs=1e-12)


def test_cells_without_width_give_what_they_hold_to_their_neighbours():
    """A grid cut to a range: everything beyond the range belongs to its last cell."""
    edges = np.clip(np.array([-0.5, -0.2, 0.1, 0.4, 0.7]), -0.3, 0.3)
    cut = BinnedPosterior.on_cells(edges, np.array([0.1, 0.2, 0.3, 0.4]))
    assert cut.edges.tolist() == [-0.3, -0.2, 0.1, 0.3]
    assert cut.probabilities.tolist() == pytest.approx([0.1, 0.2, 0.7])
    assert BinnedPosterior.on_cells(np.array([0.0, 0.0, 1.0]), np.array([0.4, 0.6])).probabilities.tolist() == [1.0]
    with pytest.raises(InputError, match="different edges"):
        BinnedPosterior.on_cells(np.ones(3), np.ones(2))


def test_quantiles_are_right_however_small_the_unit_and_beside_a_large_shift():
    """A normal law of deviation 1e-7 on cells of its own; a thousand bins of [-1, 1] would see nothing of it."""
    from statistics import NormalDist

    unit = 1e-7
    offsets = 0.8 * np.sinh(np.linspace(-5, 5, 129))
    masses = np.diff([NormalDist().cdf(u) for u in offsets])
    found = BinnedPosterior.on_cells(0.3 + unit * offsets, masses)
    for level in (0.005, 0.025, 0.5, 0.9, 0.995):
        assert (float(found.quantile(level)) - 0.3) / unit == pytest.approx(NormalDist().inv_cdf(level), abs=0.03)
    assert found.sd == pytest.approx(unit, rel=0.02)
    far = found.scaled(1.0, shift=1e9)  # all cells but a few become one number
    assert float(far.quantile(0.5)) == pytest.approx(1e9 + 0.3)


@pytest.mark.parametrize(
    ("edges", "probabilities", "message"),
    [
        ([0, 1, 1], [0.5, 0.5], "increase"),
        ([0, 1, 2], [0.5, -0.5], "at least zero"),
        ([0, 1, 2], [0.0, 0.0], "not all zero"),
        ([0, 1, 2], [1.0], "need 2 probabilities"),
    ],
)
def test_impossible_posteriors_are_refused(edges, probabilities, message):
    with pytest.raises(InputError, match=message):
        BinnedPosterior(np.array(edges, float), np.array(probabilities, float))
    with pytest.raises(InputError, match="between 0 and 1"):
        binned_normal(0, 0.1).quantile(1.5)


def test_moments_at_the_largest_scales():
    small = binned_normal(0.1, 0.08)
    for factor in (1e200, 8e307):
        large = small.scaled(factor)
        assert large.mean / factor == pytest.approx(small.mean) and large.sd / factor == pytest.approx(small.sd)


def test_edges_that_rounding_makes_one_are_one_cell_less():
    """A mixture of laws on grids of their own has edges one rounding apart; times ten they are the same number."""
    edge = next(e for e in np.linspace(0.3, 0.7, 1000) if 10 * e == 10 * np.nextafter(e, 1))
    narrow = BinnedPosterior(np.array([0.0, edge, np.nextafter(edge, 1), 1.0]), np.array([0.25, 0.5, 0.25]))
    wide = narrow.scaled(10.0)
    assert wide.edges.tolist() == [0.0, 10 * edge, 10.0] and wide.probabilities.sum() == pytest.approx(1)
