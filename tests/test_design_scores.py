"""Scores of the ends, their variance under a design, and the number of people a table is worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, t

from ivicl._shared.special import log_t_tail, t_quantiles
from ivicl.data import Design, IVData
from ivicl.errors import InputError
from ivicl.identification.amounts import mean_ends
from ivicl.identification.end_scores import QUANTITIES, end_scores
from ivicl.identification.estimands import average_effect
from ivicl.identification.mean_terms import mean_terms
from ivicl.identification.strata import LAW
from ivicl.methods.design.factors import design_factors
from ivicl.methods.design.rows_law import one_law, rows_law
from ivicl.methods.design.variance import Draws, mean_variance
from ivicl.posterior import BinnedPosterior


def possible_laws(rng: np.random.Generator, n: int) -> np.ndarray:
    return (rng.dirichlet(np.full(16, 0.1), n) @ LAW).reshape(n, 2, 2, 2)


def clustered(rng: np.random.Generator, clusters: int, size: int, icc: float, by_cluster: bool = True) -> IVData:
    """People of a cluster share a part of what decides treatment and outcome."""
    group, n = np.repeat(np.arange(clusters), size), clusters * size
    z = np.repeat(rng.permutation(clusters) % 2, size) if by_cluster else rng.permutation(n) % 2

    def shared() -> np.ndarray:
        whole, own = np.repeat(rng.standard_normal(clusters), size), rng.standard_normal(n)
        return norm.cdf(np.sqrt(icc) * whole + np.sqrt(1 - icc) * own)

    taste, luck = shared(), shared()
    takes = np.where(taste < 0.2, 1, np.where(taste < 0.7, z, 0))
    data = IVData.from_arrays(z, takes, (luck < 0.3 + 0.2 * takes).astype(float))
    return replace(data, design=Design(cluster=group))


def test_terms_are_the_ends_of_the_closed_form():
    laws = possible_laws(np.random.default_rng(0), 500)
    most = mean_terms(laws).max(-1)
    ends = mean_ends(laws, np.array([0.0, 1.0]))
    np.testing.assert_allclose(most[:, 0], ends.treated_lower, atol=1e-12)
    np.testing.assert_allclose(1 - most[:, 1], ends.treated_upper, atol=1e-12)
    np.testing.assert_allclose(most[:, 2], ends.untreated_lower, atol=1e-12)
    np.testing.assert_allclose(1 - most[:, 3], ends.untreated_upper, atol=1e-12)
    people = np.ones(500)
    found = end_scores(laws, np.full(500, 0.5), people, people, people, people)
    np.testing.assert_allclose(found.value[:2], [end.mean() for end in average_effect(ends)], atol=1e-12)


def test_the_networks_formulas_say_the_same():
    torch = pytest.importorskip("torch")
    from ivicl.learn.network.ends import Rows, estimate

    rng, n = np.random.default_rng(1), 200
    law, chance = possible_laws(rng, n), rng.uniform(0.2, 0.8, n)
    z, taken = (rng.random((2, n)) < 0.5).astype(float)
    y, w = rng.random(n), rng.integers(1, 4, n).astype(float)
    cell, place = np.zeros((n, 8)), (4 * z + 2 * taken).astype(int)
    cell[np.arange(n), place], cell[np.arange(n), place + 1] = 1 - y, y
    table = [torch.tensor(a)[None] for a in (law.reshape(n, 2, 4), chance, cell, np.zeros(n), w)]
    theirs = estimate(table[0], table[1], Rows(*table[2:]), torch.tensor([[0.05]], dtype=torch.float64))
    ours = end_scores(law, chance, z, taken, y, w, temperature=0.05)
    assert len(ours.value) == len(QUANTITIES) == 11
    np.testing.assert_allclose(ours.value, theirs.plug_in[0], atol=1e-12)
    np.testing.assert_allclose(ours.value + w @ ours.score / w.sum(), theirs.one_step[0], atol=1e-12)
    np.testing.assert_allclose(np.sqrt(w @ ours.score**2) / w.sum(), theirs.se[0], atol=1e-12)


def test_nothing_jumps_at_a_tie_of_terms():
    """At a symmetric law two terms are equal; a step of 1e-6 to either side must not change a standard error by 1 %."""
    law = np.array([[[0.3, 0.2], [0.2, 0.3]], [[0.3, 0.2], [0.2, 0.3]]])
    rng = np.random.default_rng(2)
    z, taken, y = (rng.random((3, 400)) < 0.5).astype(float)
    w = np.ones(400)
    spread = []
    for step in (-1e-6, 0.0, 1e-6):
        moved = law + step * np.array([[[1, -1], [0, 0]], [[0, 0], [1, -1]]])
        spread.append((end_scores(moved[None], np.array([0.5]), z, taken, y, w).score ** 2).mean(0))
    np.testing.assert_allclose(spread[0], spread[2], rtol=0.01)
    np.testing.assert_allclose(spread[0], spread[1], rtol=0.01)


@pytest.mark.parametrize(("icc", "by_cluster"), [(0.0, True), (0.1, True), (0.1, False)])
def test_the_variance_under_clusters_is_that_of_repeated_samples(icc, by_cluster):
    rng = np.random.default_rng(3)
    found = [design_factors(clustered(rng, 40, 25, icc, by_cluster)) for _ in range(400)]
    seen = np.var([each.scores.value for each in found], axis=0)
    said = np.mean([each.variance for each in found], axis=0)
    assert (np.abs(np.log(said / seen)) < 0.25).all(), (seen, said)
    worth = np.mean([each.factor for each in found], axis=0)
    # 1 + 24 * icc people count as one where whole clusters are assigned; where they are not, most of it cancels
    assert (worth < 0.5).all() if icc and by_cluster else (worth > 0.8).all()
    assert all((each.factor <= 1).all() for each in found), "clusters never make people worth more"
    assert all((each.degrees <= 39).all() and (each.degrees > 15).all() for each in found)


def test_a_design_that_says_nothing_is_worth_exactly_as_many_people():
    data = clustered(np.random.default_rng(4), 40, 25, 0.1)
    assert (design_factors(replace(data, design=None)).factor == 1).all()
    equal = replace(data, design=Design(sampling=np.full(data.n, 3.7)))
    assert (design_factors(equal).factor == 1).all()
    alone = replace(data, design=Design(cluster=np.arange(data.n)))
    np.testing.assert_allclose(design_factors(alone).factor, 1, atol=2 / data.n)


def test_copies_of_people_in_a_cluster_are_worth_nothing():
    data = clustered(np.random.default_rng(5), 300, 1, 0.0)
    copies = data.take(np.repeat(np.arange(data.n), 7))
    once, again = design_factors(data), design_factors(copies)
    np.testing.assert_allclose(again.variance, once.variance, rtol=0.01)
    np.testing.assert_allclose(again.factor * 7, once.factor, rtol=0.02)


def test_only_ratios_of_sampling_weights_matter():
    rng = np.random.default_rng(6)
    data = clustered(rng, 40, 25, 0.1)
    weights = rng.uniform(0.5, 5, data.n)
    at = [design_factors(replace(data, design=Design(sampling=weights * k))) for k in (1e-5, 1.0, 1e3)]
    np.testing.assert_allclose(at[0].factor, at[1].factor, rtol=1e-9)
    np.testing.assert_allclose(at[2].factor, at[1].factor, rtol=1e-9)
    kish = weights.sum() ** 2 / (data.n * (weights**2).sum())
    np.testing.assert_allclose(at[1].factor, kish, rtol=0.1)


def test_strata_take_away_what_lies_between_them():
    """Blocks differ in their level; randomised within, that is no source of error."""
    rng = np.random.default_rng(7)
    block = np.repeat(np.arange(20), 50)
    z = np.concatenate([rng.permutation(50) % 2 for _ in range(20)])
    takes = np.where(rng.random(1000) < 0.7, z, 0)
    level = np.where(block % 2, 0.9, 0.1)
    data = IVData.from_arrays(z, takes, (rng.random(1000) < level).astype(float))
    score = np.where(data.z == 1, 2.0, -2.0)[:, None] * (data.y[:, None] - data.y.mean())
    plain = mean_variance(score, data).variance
    within = mean_variance(score, replace(data, design=Design(strata=block))).variance
    assert within[0] / plain[0] == pytest.approx(0.09 / 0.25, rel=0.15)


def test_matched_pairs_of_clusters_are_joined():
    data = clustered(np.random.default_rng(8), 20, 10, 0.1)
    arm = data.z.reshape(20, 10)[:, 0]
    pair = np.empty(20, dtype=int)
    pair[arm == 0], pair[arm == 1] = np.arange(10), np.arange(10)
    paired = replace(data, design=Design(cluster=data.design.cluster, strata=np.repeat(pair, 10)))
    assert Draws.of(paired).groups == Draws.of(data).groups == 2
    np.testing.assert_allclose(design_factors(paired).variance, design_factors(data).variance)


@pytest.mark.parametrize(("codes", "sentence"), [([0, 0, 1, 2], "the arm Z = 0 has one"), ([0, 0, 0, 0], "one value")])
def test_one_cluster_is_refused(codes, sentence):
    data = clustered(np.random.default_rng(9), 40, 5, 0.0)
    quarter = np.repeat(np.arange(4), 50)
    z = np.where(quarter < 2, 0.0, 1.0)
    few = replace(data, z=z, design=Design(cluster=np.array(codes)[quarter]))
    with pytest.raises(InputError, match=sentence):
        mean_variance(np.ones((200, 1)), few)


def variance_by(law, data):
    """Of both ends of the effect, by scores at this law of the rows."""
    scores = end_scores(law.law, law.chance, data.z, data.t, data.y01, data.w, (0, 1))
    return mean_variance(scores.score, data).variance


def test_the_rows_law_never_used_the_person():
    """Forty columns of noise explain nothing: out of sample they do not make the scores smaller."""
    rng = np.random.default_rng(10)
    data = clustered(rng, 40, 10, 0.0)
    noisy = replace(data, x=rng.standard_normal((400, 40)), covariates=tuple("abcd") * 10)
    with_noise, plain = (variance_by(law, data) for law in (rows_law(noisy), one_law(data)))
    np.testing.assert_allclose(with_noise, plain, rtol=0.15)
    assert (with_noise > 0.9 * plain).all()


def test_covariates_that_explain_the_outcome_make_scores_smaller():
    rng = np.random.default_rng(11)
    x = rng.standard_normal(2000)
    z = rng.permutation(2000) % 2
    takes = np.where(rng.random(2000) < 0.8, z, 0)
    data = IVData.from_arrays(z, takes, norm.cdf(x + 0.1 * rng.standard_normal(2000)), x, outcome_range=(0, 1))
    adjusted, plain = (variance_by(law, data) for law in (rows_law(data), one_law(data)))
    assert (adjusted < 0.5 * plain).all()


def test_students_quantiles_are_scipys():
    levels = np.concatenate([norm.cdf(np.linspace(-8, -0.05, 160)), [0.5, 0.7, 0.975, 0.9999]])
    for degrees in (1.0, 2.5, 18.0, 36.3, 100.0, 500.0, 1e5):
        np.testing.assert_allclose(t_quantiles(levels, degrees), t.ppf(levels, degrees), rtol=1e-6, atol=1e-12)
        points = np.array([0.0, 0.5, 3.0, 9.0])
        np.testing.assert_allclose(log_t_tail(points, degrees), t.logsf(points, degrees), rtol=1e-6)


@pytest.mark.parametrize("degrees", [3.0, 18.0, 36.3, 400.0])
def test_a_stretched_posterior_has_students_quantiles(degrees):
    edges = np.linspace(-1, 1, 1025)
    narrow = BinnedPosterior(edges, np.diff(norm.cdf(edges, 0.1, 0.05)))
    levels = np.array([0.005, 0.025, 0.1, 0.5, 0.9, 0.975, 0.995])
    found = narrow.stretched(degrees).quantile(levels)
    np.testing.assert_allclose(found, 0.1 + 0.05 * t.ppf(levels, degrees), atol=1e-3)
    assert narrow.stretched(np.inf) is narrow
