"""The theory: coding, laws, closed forms against linear programs, and the repair of impossible laws."""

from __future__ import annotations

import ast
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import ivicl.identification
from enumeration import compatible
from ivicl.identification import estimands, laws, strata
from ivicl.identification.amounts import mean_ends
from ivicl.identification.balke_pearl import sharp_ends, terms
from ivicl.identification.inequalities import excess, level_excess, nearest_law
from linear_program import least_move, level_program, random_laws, random_level_law, strata_program

BINARY = np.array([0.0, 1.0])


def test_the_room_imports_numpy_and_nothing_above_it():
    for file in Path(ivicl.identification.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                inside = name.startswith(("ivicl.identification", "ivicl.errors", "ivicl._shared"))
                assert inside or name.split(".")[0] not in ("ivicl", "torch", "scipy", "polars", "narwhals"), (
                    file,
                    name,
                )


# --- strata and laws


def test_each_cell_is_fed_by_the_four_strata_that_show_it():
    for z, t, y in np.ndindex(2, 2, 2):
        fed = np.flatnonzero(strata.LAW[:, laws.cell_index(z, t, y)])
        np.testing.assert_array_equal(fed, compatible(z, t, y))
        assert len(fed) == strata.PER_CELL
    assert strata.cell_pseudo_count() == pytest.approx(0.4)


def test_swaps_exchange_what_nobody_can_tell_apart():
    for order in strata.SWAPS:
        np.testing.assert_array_equal(strata.LAW[order], strata.LAW)
    assert len({tuple(order) for order in strata.SWAPS}) == 16


def test_observed_rows_have_the_law_of_their_strata():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(16, 0.5))
    stratum, z = rng.choice(16, 200_000, p=p), rng.integers(0, 2, 200_000)
    t, y = strata.observe(stratum, z)
    found = laws.law_of(laws.count_cells(z, t, y, np.ones(len(z))))
    np.testing.assert_allclose(found, strata.law_of(p), atol=0.006)
    assert strata.effect_of(p) == pytest.approx(
        np.mean(strata.OUTCOME[1, stratum] - strata.OUTCOME[0, stratum]), abs=0.01
    )


def small_amounts(rng: np.random.Generator, n: int = 60) -> tuple[np.ndarray, ...]:
    z, t = rng.integers(0, 2, (2, n)).astype(float)
    return z, t, rng.choice([0.0, 0.5, 2.0, 4.0], n), rng.integers(1, 4, n).astype(float)


def test_counts_means_and_smoothing_against_loops():
    z, t, y, w = small_amounts(np.random.default_rng(1))
    level = np.searchsorted([0.0, 0.5, 2.0, 4.0], y)
    counts = laws.count_levels(z, t, level, w, 4)
    means, shares = laws.arm_means(z, t, y, w)
    for a, b in product((0, 1), repeat=2):
        here, arm = (z == a) & (t == b), w[z == a].sum()
        assert laws.count_arms(z, t, w)[a, b] == w[here].sum()
        assert shares[a, b] == pytest.approx(w[here].sum() / arm)
        assert means[a, b] == pytest.approx((w * y)[here].sum() / arm)
        for k in range(4):
            assert counts[a, b, k] == w[here & (level == k)].sum()
    smoothed = laws.law_of(counts, 0.4)
    assert smoothed[1, 0, 2] == pytest.approx((counts[1, 0, 2] + 0.4) / (counts[1].sum() + 8 * 0.4))


def test_soft_law_is_the_mean_of_the_laws_over_all_thresholds():
    z, t, y, w = small_amounts(np.random.default_rng(2))
    soft = laws.soft_law(*laws.arm_means(z, t, y, w), low=-1.0, high=5.0)
    thresholds = np.linspace(-1.0, 5.0, 6001)[:-1] + 0.0005
    at = [laws.law_of(laws.count_cells(z, t, y >= c, w)) for c in thresholds]
    np.testing.assert_allclose(soft, np.mean(at, axis=0), atol=1e-9)


@pytest.mark.parametrize("at_once", [2, 100])
def test_thresholds_carry_the_whole_range(monkeypatch, at_once):
    monkeypatch.setattr(laws, "TABLES_AT_ONCE", at_once)
    z, t, y, w = small_amounts(np.random.default_rng(3))
    parts = laws.count_thresholds(z, t, y, w, (-1.0, 5.0))
    counts, lengths = (np.concatenate(part) for part in zip(*parts, strict=True))
    assert lengths.sum() == pytest.approx(6.0)
    means, shares = laws.arm_means(z, t, y, w)
    soft = laws.soft_law(means, shares, -1.0, 5.0)
    np.testing.assert_allclose(np.tensordot(lengths, laws.law_of(counts), 1) / 6.0, soft, atol=1e-12)
    np.testing.assert_array_equal(counts.sum(axis=-1), np.broadcast_to(laws.count_arms(z, t, w), (len(counts), 2, 2)))


# --- sharp ends


def test_closed_form_equals_the_linear_program_on_random_laws():
    rng = np.random.default_rng(0)
    chosen = np.concatenate([random_laws(500, c, rng) for c in (0.1, 1.0)])
    lower, upper = sharp_ends(chosen)
    programs = np.array([strata_program(p) for p in chosen])
    np.testing.assert_allclose(np.stack([lower, upper], axis=1), programs, atol=1e-9)
    # Terms 5-8 must have been needed, or this test says nothing about them.
    lower_terms, upper_terms = terms(chosen)
    assert (lower_terms[:, 4:].max(axis=1) > lower_terms[:, :4].max(axis=1) + 1e-6).sum() > 20
    assert (upper_terms[:, 4:].min(axis=1) < upper_terms[:, :4].min(axis=1) - 1e-6).sum() > 20


def test_every_term_binds_somewhere():
    lower_terms, upper_terms = terms(random_laws(20_000, 0.1, np.random.default_rng(1)))
    assert set(lower_terms.argmax(axis=1)) == set(range(8))
    assert set(upper_terms.argmin(axis=1)) == set(range(8))


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("intervals", [False, True])
def test_ends_of_amounts_equal_the_linear_program(k, intervals):
    """Dense and sparse laws; each mean alone, the effect, and a lopsided pair: both means reach their ends together."""
    rng = np.random.default_rng(k)
    for trial in range(48):
        p = random_level_law(k, (0.02, 0.1, 1.0)[trial % 3], rng)
        low = np.sort(rng.random(k))
        high = np.maximum(low, np.append(low[1:], low[-1] + 0.2)) if intervals else low
        ends = mean_ends(p, low, high)
        found = [ends.treated_lower, ends.treated_upper, ends.untreated_lower, ends.untreated_upper]
        expected = [
            level_program(p, low, 0.0, largest=False),
            level_program(p, high, 0.0, largest=True),
            -level_program(p, 0.0, low, largest=True),
            -level_program(p, 0.0, high, largest=False),
        ]
        np.testing.assert_allclose(found, expected, atol=1e-7)
        lower, upper = estimands.average_effect(ends)
        assert lower == pytest.approx(level_program(p, low, high, largest=False), abs=1e-7)
        assert upper == pytest.approx(level_program(p, high, low, largest=True), abs=1e-7)
        lopsided = level_program(p, low, 3 * high, largest=False)
        assert ends.treated_lower - 3 * ends.untreated_upper == pytest.approx(lopsided, abs=1e-7)


def test_two_levels_are_balke_and_pearl_for_many_laws_at_once():
    chosen = np.concatenate([random_laws(3000, c, np.random.default_rng(2)) for c in (0.03, 0.2, 1.0)])
    found = estimands.average_effect(mean_ends(chosen.reshape(3, 3000, 2, 2, 2), BINARY))
    np.testing.assert_allclose(found, np.reshape(sharp_ends(chosen), (2, 3, 3000)), atol=1e-12)


def test_the_set_given_the_means_holds_the_sharp_set_and_equals_it_without_defiers():
    rng = np.random.default_rng(3)
    wider = 0
    for trial in range(200):
        k, values = 4, np.array([0.0, 0.2, 0.7, 1.0])
        types = rng.dirichlet(np.full(4 * k * k, 0.1)).reshape(4, k, k)
        without_defiers = trial % 2 == 0
        if without_defiers:
            types[3] = 0.0
            types /= types.sum()
        always, never, complier, defier = types
        p = np.array(
            [
                [never.sum(1) + complier.sum(1), always.sum(0) + defier.sum(0)],
                [never.sum(1) + defier.sum(1), always.sum(0) + complier.sum(0)],
            ]
        )
        sharp = estimands.average_effect(mean_ends(p, values))
        soft = sharp_ends(laws.soft_law(p @ values, p.sum(axis=-1)))
        assert soft[0] <= sharp[0] + 1e-12
        assert soft[1] >= sharp[1] - 1e-12
        if without_defiers:
            np.testing.assert_allclose(soft, sharp, atol=1e-12)
        wider += soft[1] - soft[0] > sharp[1] - sharp[0] + 1e-6
    assert wider > 20


def test_other_populations_against_the_program_on_strata():
    from scipy.optimize import linprog

    rng = np.random.default_rng(4)
    for p in random_laws(60, 0.2, rng):
        e = rng.uniform(0.2, 0.8)
        treated = (1 - e) * p[0, 1].sum() + e * p[1, 1].sum()
        mean = (1 - e) * p[0, :, 1].sum() + e * p[1, :, 1].sum()
        ends = mean_ends(p, BINARY)
        takes = (1 - e) * strata.TREATMENT[0] + e * strata.TREATMENT[1]
        for found, weight in (
            (estimands.effect_on_treated(ends, mean, treated), takes / treated),
            (estimands.effect_on_untreated(ends, mean, treated), (1 - takes) / (1 - treated)),
        ):
            objective = strata.EFFECT * weight
            for sign, end in zip((1, -1), found, strict=True):
                solved = linprog(sign * objective, A_eq=strata.LAW.T, b_eq=p.ravel(), bounds=(0, 1), method="highs")
                assert end == pytest.approx(sign * solved.fun, abs=1e-8)


def test_risk_ratio_of_known_ends():
    p = np.array([[[0.6, 0.4], [0.0, 0.0]], [[0.2, 0.1], [0.3, 0.4]]])
    ends = mean_ends(p, BINARY)
    # Everybody is untreated when Z = 0: E Y(0) = 0.4. Never-takers' Y(1) is free: E Y(1) in [0.4, 0.7].
    np.testing.assert_allclose(
        [ends.untreated_lower, ends.untreated_upper, ends.treated_lower, ends.treated_upper], [0.4, 0.4, 0.4, 0.7]
    )
    np.testing.assert_allclose(estimands.risk_ratio(ends), (1.0, 1.75))
    nobody = mean_ends(np.array([[[1.0, 0.0], [0.0, 0.0]], [[0.5, 0.0], [0.2, 0.3]]]), BINARY)
    assert estimands.risk_ratio(nobody)[1] == np.inf


# --- impossible laws


def impossible_laws(k: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Tables of few people, most of which violate an inequality."""
    tables: list[np.ndarray] = []
    while len(tables) < n:
        t, shape = rng.integers(0, 2), np.full(2 * k, 0.02)
        arms = [rng.dirichlet(shape + 0.5 * (np.arange(2 * k) // k == t)) for _ in (0, 1)]
        counts = np.stack([rng.multinomial(rng.integers(1, 30), arm) for arm in arms]).reshape(2, 2, k)
        if level_excess(laws.law_of(counts)).max() > 1e-9:
            tables.append(counts)
    return np.array(tables)


def test_excess_on_levels_and_on_two_levels_agree():
    rng = np.random.default_rng(5)
    p = laws.law_of(rng.random((500, 2, 2, 2)) ** 6)
    by_t = excess(p).max(axis=-1)
    np.testing.assert_allclose(level_excess(p)[by_t > 0], by_t[by_t > 0], atol=1e-12)
    assert ((level_excess(p) > 1e-12) == (by_t > 1e-12)).all()
    assert (by_t > 0).sum() > 50


@pytest.mark.parametrize("k", [2, 3, 5])
def test_an_impossible_law_moves_as_little_as_it_can(k):
    counts = impossible_laws(k, 120, np.random.default_rng(k))
    before, after = laws.law_of(counts), nearest_law(counts)
    assert after.min() >= 0
    np.testing.assert_allclose(after.sum(axis=(2, 3)), 1.0)
    assert level_excess(after).max() < 1e-12
    moved = np.abs(after - before).sum(axis=(1, 2, 3)) / 2
    np.testing.assert_allclose(moved, level_excess(before).max(axis=1), atol=1e-12)
    np.testing.assert_allclose(moved[:60], [least_move(p) for p in before[:60]], atol=1e-7)
    ends = mean_ends(after, np.linspace(0, 1, k))
    assert (ends.treated_lower <= ends.treated_upper).all()
    lower, upper = estimands.average_effect(ends)
    assert (lower >= -1 - 1e-12).all() and (upper <= 1 + 1e-12).all() and (lower <= upper).all()


def test_the_repair_does_not_depend_on_the_coding():
    counts = impossible_laws(4, 60, np.random.default_rng(6))
    plain = nearest_law(counts)
    shuffled = np.array([2, 0, 3, 1])
    np.testing.assert_allclose(nearest_law(counts[:, ::-1]), plain[:, ::-1], atol=1e-12)
    np.testing.assert_allclose(nearest_law(counts[:, :, ::-1]), plain[:, :, ::-1], atol=1e-12)
    np.testing.assert_allclose(nearest_law(counts[..., shuffled]), plain[..., shuffled], atol=1e-12)
    np.testing.assert_allclose(nearest_law(7 * counts), plain, atol=1e-12)


VIOLATING = np.array([[[5, 5], [90, 0]], [[5, 5], [0, 90]]], dtype=float)


def test_with_two_levels_the_nearest_law_is_the_most_likely_possible_law():
    law = nearest_law(VIOLATING)
    assert excess(law).max() == pytest.approx(0.0, abs=1e-12)

    def log_likelihood(p: np.ndarray) -> float:
        return float((VIOLATING * np.log(np.maximum(p, 1e-300))).sum())

    strata_program(law)  # possible
    # No random valid law does better; mixtures of it with them come close.
    others = random_laws(2000, 0.5, np.random.default_rng(0))
    assert max(log_likelihood(0.97 * law + 0.03 * p) for p in others) < log_likelihood(law)


def test_a_possible_sample_is_left_alone():
    counts = np.array([158, 14, 0, 0, 52, 12, 23, 78]).reshape(2, 2, 2)
    np.testing.assert_array_equal(nearest_law(counts), laws.law_of(counts))


def test_rounding_does_not_make_a_law_impossible():
    """Everybody in an arm has the same treatment: the cells may add up to a little more than one, and nothing can move.

    Amounts have such laws if compliance is one-sided; 0 / 0 would make them nan.
    """
    rng = np.random.default_rng(0)
    mean, people = rng.random((5000, 1)), rng.integers(2, 2000, (5000, 2))
    counts = np.zeros((5000, 2, 2, 2))
    counts[:, :, 0, 1], counts[:, :, 0, 0] = people * mean, people * (1 - mean)
    assert (level_excess(laws.law_of(counts)) > 0).any()
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(nearest_law(counts), laws.law_of(counts))
