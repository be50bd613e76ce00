"""The families that intervals are judged on: their laws, and the best standard errors."""

from __future__ import annotations

import numpy as np
import pytest

from ivicl.benchmarks.efficiency.adversarial import ADVERSARIAL, WITNESSES
from ivicl.benchmarks.efficiency.best import efficient_scores, efficient_se
from ivicl.benchmarks.efficiency.families import FAMILIES, Family
from ivicl.benchmarks.efficiency.laws import TAKES, Dataset, Law
from ivicl.benchmarks.efficiency.outcomes import BINARY, beta, points, zero_and_rest
from ivicl.identification.balke_pearl import LOWER_TABLE, UPPER_TABLE, terms
from ivicl.identification.inequalities import excess
from linear_program import level_program, strata_program

EVERY = (*FAMILIES, *ADVERSARIAL, *WITNESSES)
BOTH = [(family, amounts) for family in EVERY for amounts in (False, True)]
NAMES = [f"{family.name}-{'amounts' if amounts else 'binary'}" for family, amounts in BOTH]


def drawn(family: Family, amounts: bool, n: int = 500, seed: int = 1) -> Dataset:
    return family.dataset(np.random.default_rng(seed), n, amounts)


# --- outcomes and laws


@pytest.mark.parametrize("character", [BINARY, beta(0.5), beta(80.0), points(4), zero_and_rest(3.0)])
@pytest.mark.parametrize("mean", [0.03, 0.4, 0.9])
def test_an_outcome_has_the_mean_and_the_variance_it_states(character, mean):
    y = character.draw(np.random.default_rng(3), np.full(200_000, mean))
    variance = float(character.variance(np.array(mean)))
    assert y.min() >= 0 and y.max() <= 1
    assert abs(y.mean() - mean) < 4.5 * np.sqrt(variance / len(y))
    assert y.var() == pytest.approx(variance, rel=0.03)


@pytest.mark.parametrize(("family", "amounts"), BOTH, ids=NAMES)
def test_people_are_as_the_law_says(family, amounts):
    """Shares, means and squares in each arm, also where the law depends on x: weighed by what differs between rows."""
    law = drawn(family, amounts, 3000).law
    seen, rng = law.seen, np.random.default_rng(2)
    draws = [law.draw(rng) for _ in range(30)]
    z, t, y = (np.stack(part) for part in zip(*draws, strict=True))
    for arm, taken in np.ndindex(2, 2):
        here = (z == arm) & (t == taken)
        for power, stated in enumerate((seen.shares, seen.means, seen.squares)):
            expected = seen.arms[:, arm] * stated[:, arm, taken]
            gap = (here * y**power - expected).mean(axis=0)
            for weight in (np.ones_like(expected), expected - expected.mean(), seen.propensity - 0.5):
                # no value has a variance above E[v^2] <= E[1{here} y^power]
                error = np.sqrt((weight**2 * expected).sum() / len(draws)) + 1e-12
                assert abs((weight * gap).sum()) < 4.5 * error


@pytest.mark.parametrize(("family", "amounts"), BOTH, ids=NAMES)
def test_true_ends_hold_what_is_true_of_these_people(family, amounts):
    law = drawn(family, amounts).law
    truth = law.truth
    by_type = law.means[:, :, 1] - law.means[:, :, 0]
    arms = np.stack([1 - law.propensity, law.propensity], axis=1)
    treated = law.types * (arms @ TAKES.T)
    of = {
        "ATE": (law.types * by_type).sum() / len(by_type),
        "EY1": (law.types * law.means[:, :, 1]).sum() / len(by_type),
        "EY0": (law.types * law.means[:, :, 0]).sum() / len(by_type),
        "ATT": (treated * by_type).sum() / treated.sum(),
        "ATU": ((law.types - treated) * by_type).sum() / (law.types - treated).sum(),
    }
    if law.no_defiers:
        of["LATE"] = (law.types[:, 2] * by_type[:, 2]).sum() / law.types[:, 2].sum()
        assert truth["LATE"][0] == pytest.approx(of["LATE"])
    assert set(truth) == set(of)
    for name, value in of.items():
        lower, upper = truth[name]
        assert lower - 1e-9 <= value <= upper + 1e-9, name


@pytest.mark.parametrize(("family", "amounts"), BOTH, ids=NAMES)
def test_laws_are_possible_and_their_ends_are_the_linear_programs(family, amounts):
    law = drawn(family, amounts).law
    soft = law.seen.soft
    assert excess(soft).max() <= 1e-12
    assert np.allclose(soft.sum(axis=(2, 3)), 1)
    values = np.array([0.0, 1.0])
    for row in (0, 7, 100):
        one = Law(*(part[[row]] for part in (law.propensity, law.types, law.means)), law.character)
        assert one.truth["ATE"] == pytest.approx(strata_program(soft[row]), abs=1e-7)
        for name, (treated, untreated) in {"EY1": (values, 0.0), "EY0": (0.0, -values)}.items():
            program = [level_program(soft[row], treated, untreated, largest=largest) for largest in (False, True)]
            assert one.truth[name] == pytest.approx(tuple(program), abs=1e-7)


def test_families_are_what_they_say():
    laws = {family.name: drawn(family, True).law for family in FAMILIES}
    assert len(laws) >= 6 and len(ADVERSARIAL) == 6 and len(WITNESSES) == 3
    assert [name for name, law in laws.items() if not law.no_defiers] == ["jumps"]
    assert not laws["one-sided"].seen.shares[:, 0, 1].any()
    assert laws["one-sided"].truth["ATT"] == pytest.approx(2 * laws["one-sided"].truth["LATE"][:1])
    moved = laws["weak"].types[:, 2]
    assert moved.min() >= 0.03 and moved.max() <= 0.10
    assert np.ptp(laws["assigned"].propensity) > 0.5 and np.ptp(laws["smooth"].propensity) == 0
    assert drawn(FAMILIES[1], False).x.shape == (500, 40)
    spread = {name: np.nanmean(law.seen.outcome_variance) for name, law in laws.items()}
    assert 2 * spread["sparse"] < 0.06 < spread["weak"], "narrow noise against wide"


def test_the_variance_of_the_outcome_is_that_of_the_people_in_the_arm():
    """Where T=1 at Z=1 there are always-takers and compliers: within them, and between."""
    types, means = np.array([[0.3, 0.2, 0.4, 0.1]]), np.array([[[0.1, 0.9], [0.2, 0.8], [0.5, 0.4], [0.3, 0.7]]])
    law = Law(np.array([0.5]), types, means, beta(9.0))
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.beta(9 * m, 9 * (1 - m), round(1e6 * s)) for m, s in ((0.9, 0.3), (0.4, 0.4))])
    assert law.seen.outcome_variance[0, 1, 1] == pytest.approx(y.var(), rel=0.01)


# --- the best standard errors


@pytest.mark.parametrize("family", [FAMILIES[2], FAMILIES[5]], ids=lambda family: family.name)
def test_scores_of_the_effect_are_those_of_the_active_term(family):
    """Against Balke and Pearl's table: the coefficients of the term that is the end, over P(Z=z | x)."""
    seen = drawn(family, False, 2000).law.seen
    lower, upper = terms(seen.soft)
    chosen = LOWER_TABLE[lower.argmax(axis=1)], UPPER_TABLE[upper.argmin(axis=1)]
    for table, score in zip(chosen, efficient_scores(seen)["ATE"], strict=True):
        mean = (table * seen.soft).sum(axis=(2, 3), keepdims=True)
        by_hand = (table - mean) / seen.arms[:, :, None, None]
        close = np.abs(by_hand - score).max(axis=(1, 2, 3)) < 1e-4
        assert close.mean() > 0.99, "all rows but those that lie on a kink"


def test_by_hand_without_covariates():
    """A trial with full compliance: the effect's ends are both the difference of two means."""
    law = Law(np.full(50, 0.25), np.tile([0.0, 0, 1, 0], (50, 1)), np.tile([0.2, 0.6], (50, 4, 1)), points(4))
    error = np.sqrt(0.6 * 0.4 / 4 / (0.25 * 1000) + 0.2 * 0.8 / 4 / (0.75 * 1000))
    found = efficient_se(law.seen, 1000)
    for name in ("ATE", "LATE"):
        assert found[name] == pytest.approx((error, error), rel=1e-3)
    assert found["EY1"][0] == pytest.approx(np.sqrt(0.6 * 0.4 / 4 / 250), rel=1e-3)


@pytest.mark.parametrize(("family", "amounts"), [(FAMILIES[5], True), (FAMILIES[2], False)], ids=["assigned", "jumps"])
def test_the_estimator_that_knows_the_law_attains_them(family, amounts):
    """One step from the truth: unbiased, with the stated standard error; ratios with their own numerators."""
    n = 1500
    law = drawn(family, amounts, n).law
    truth, scores, best = law.truth, efficient_scores(law.seen), efficient_se(law.seen, n)
    rng, rows = np.random.default_rng(5), np.arange(n)
    estimates: dict[str, list[tuple[float, float]]] = {"ATE": [], "EY1": [], "EY0": [], "ATT": []}
    for _ in range(1500):
        z, t, y = law.draw(rng)
        cell = rows, z.astype(int), t.astype(int)
        step: dict[str, list[float]] = {}
        for name in ("ATE", "EY1", "EY0"):
            step[name] = [
                truth[name][k] + float(((1 - y) * s[(*cell, 0)] + y * s[(*cell, 1)]).mean())
                for k, s in enumerate(scores[name])
            ]
            estimates[name].append(tuple(step[name]))
        estimates["ATT"].append(tuple((y.mean() - step["EY0"][1 - k]) / t.mean() for k in (0, 1)))
    for name, values in estimates.items():
        found = np.array(values)
        assert found.std(axis=0) == pytest.approx(best[name], rel=0.07), name
        assert np.abs(found.mean(axis=0) - truth[name]).max() < 5 * max(best[name]) / np.sqrt(len(found)), name


@pytest.mark.parametrize("amounts", [False, True])
def test_covariates_matter_in_at_least_four_families(amounts):
    matters = [family for family in FAMILIES if family.covariates_matter]
    assert len(matters) >= 4
    for family in matters:
        ratios = []
        for seed in range(20):
            seen = drawn(family, amounts, 2000, seed).law.seen
            best, without = (efficient_se(s, 2000)["ATE"] for s in (seen, seen.without_covariates()))
            ratios.append((np.array(best) / without) ** 2)
        assert np.mean(ratios, axis=0).max() <= 0.70, family.name
