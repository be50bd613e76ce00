"""The exact posterior for outcomes of more than two levels and without defiers: against brute force, and calibrated."""

from __future__ import annotations

import numpy as np
import pytest

from ivicl import InputError, IVBounds
from ivicl._shared.special import chi_squared_tail
from ivicl.identification.amounts import mean_ends
from ivicl.identification.estimands import average_effect
from ivicl.methods.base import Request
from ivicl.methods.classical.cycle_moves import closed_by, largest_tree
from ivicl.methods.classical.exact import METHOD, ExactOptions
from ivicl.methods.classical.exact_sampler import Question, exact_posteriors
from ivicl.methods.classical.strata_chains import StrataChains
from ivicl.methods.classical.strata_graph import strata_graph

THREE = (0.0, 0.3, 1.0)


def prior_cells(levels: int, defiers: bool, size: int, rng: np.random.Generator) -> np.ndarray:
    """(M, size) cells of the prior, written down apart from the chains."""
    graph = strata_graph(levels, defiers)
    cells = rng.standard_gamma(0.4 / levels**2 * graph.strata[:, None], (graph.size, size))
    cells = np.maximum(cells, 1e-280)
    return cells / cells.sum(axis=0)


@pytest.mark.parametrize(("levels", "defiers"), [(2, True), (3, True), (5, True), (3, False), (5, False)])
def test_cycles_leave_the_law_and_the_prior_as_they_are(levels, defiers):
    graph = strata_graph(levels, defiers)
    rng = np.random.default_rng(0)
    cells = prior_cells(levels, defiers, 400, rng)
    tree = largest_tree(graph, cells)
    free = tree.outside.sum(axis=0)
    assert (free == graph.size - 4 * levels + 1).all()
    entering = (tree.outside.cumsum(axis=0) == rng.integers(1, free[0] + 1, 400)).argmax(axis=0)
    cycle = closed_by(graph, tree, entering)
    for chain in range(400):
        step = np.zeros(graph.size + 1)
        step[cycle.grow[:, chain]], step[cycle.shrink[:, chain]] = 1, -1
        np.testing.assert_array_equal(graph.incidence @ step[:-1], 0)
        # All its cells but one are in the tree, and that one is the smallest.
        members = np.flatnonzero(step[:-1])
        assert tree.outside[members, chain].sum() == 1
        assert cells[members, chain].min() == cells[entering[chain], chain]


@pytest.mark.parametrize(("values", "no_defiers"), [(THREE, False), (THREE, True), ((0.0, 0.2, 0.5, 0.7, 1.0), False)])
def test_without_data_the_chains_draw_the_prior(values, no_defiers):
    """A move that is not fair would pull the cells elsewhere: nothing but the prior holds them."""
    levels = len(values)
    counts = np.zeros((3000, 2, 2, levels))
    counts[:, :, 0, 0] = 1  # nobody can start without anybody; they are taken away below
    chains = StrataChains(counts, 0.4 / levels**2, np.random.default_rng(0), np.array(values), not no_defiers)
    chains.counts[:] = 0
    chains.cells = prior_cells(levels, not no_defiers, 3000, np.random.default_rng(1))
    chains._gibbs = lambda: None  # type: ignore[method-assign] # it would draw afresh, and hide what the others do
    for _ in range(12):
        chains.sweep()
    fresh = prior_cells(levels, not no_defiers, 60_000, np.random.default_rng(2))
    for of in (lambda c: c.max(axis=0), lambda c: chains.mean_effect @ c, lambda c: c[0], lambda c: c[-1]):
        for level in (0.1, 0.5, 0.9):
            cut = np.quantile(of(fresh), level)
            assert (of(chains.cells) <= cut).mean() == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 3000))


def importance(counts: np.ndarray, values: np.ndarray, no_defiers: bool, size: int) -> dict[str, np.ndarray]:
    """Draws of the prior with their likelihoods: brute force, for tables of few people."""
    rng, levels = np.random.default_rng(3), counts.shape[-1]
    graph = strata_graph(levels, not no_defiers)
    cells = prior_cells(levels, not no_defiers, size, rng)
    law = (graph.incidence @ cells).T.reshape(-1, 2, 2, levels)
    if no_defiers:
        law = np.where((rng.random(size) < 0.5)[:, None, None, None], law[:, ::-1], law)
    split = rng.standard_gamma(0.4 / levels**2, (levels, 2 * levels, size))
    unseen = np.tensordot(values, split / np.maximum(split.sum(axis=0), 1e-300), 1)
    seen_0, seen_1 = graph.levels_of.T
    treated, untreated = values[seen_1] @ cells[:], values[seen_0] @ cells[:]
    always, never = slice(0, levels), slice(levels, 2 * levels)
    # -1 picked the last value where nothing is seen: put the drawn one in its place.
    untreated = untreated + ((unseen[always] - values[-1]) * cells[always]).sum(axis=0)
    treated = treated + ((unseen[never] - values[-1]) * cells[never]).sum(axis=0)
    weight = np.exp((counts * np.log(np.maximum(law, 1e-300))).sum(axis=(1, 2, 3)))
    lower, upper = average_effect(mean_ends(law, values))
    movers = cells[2 * levels :]
    late = (values[seen_1[2 * levels :]] - values[seen_0[2 * levels :]]) @ movers / movers.sum(axis=0)
    return {"effect": treated - untreated, "lower": lower, "upper": upper, "late": late, "weight": weight}


def cdf(draws: dict[str, np.ndarray], name: str, at: np.ndarray) -> np.ndarray:
    order = np.argsort(draws[name])
    ladder = np.cumsum(draws["weight"][order]) / draws["weight"].sum()
    return np.interp(at, draws[name][order], ladder)


RAISES, LOWERS = [[[1, 0, 1], [0, 1, 0]], [[1, 0, 0], [0, 1, 2]]], [[[1, 0, 0], [0, 1, 2]], [[1, 1, 0], [1, 0, 0]]]


@pytest.mark.parametrize(
    ("counts", "no_defiers"),
    [
        pytest.param(RAISES, False, id="raises"),
        pytest.param(RAISES, True, id="raises, no defiers", marks=pytest.mark.slow),
        pytest.param(LOWERS, False, id="lowers", marks=pytest.mark.slow),
        pytest.param(LOWERS, True, id="lowers, no defiers"),
    ],
)
def test_three_levels_agree_with_brute_force(counts, no_defiers):
    table, values = np.array(counts, dtype=float), np.array(THREE)
    draws = importance(table, values, no_defiers, 400_000)
    question = Question(THREE, no_defiers=no_defiers, keep_draws=True)
    found = exact_posteriors(table[None], n_chains=128, n_draws=9_600, question=question)
    assert found.r_hat[0] < 1.1
    worth = draws["weight"].sum() ** 2 / (draws["weight"] ** 2).sum()
    assert worth > 1500
    noise = 1.75 / np.sqrt(worth) + 0.01
    ends = found.identified_set()
    posteriors = {"effect": found.posterior(), "lower": ends.lower, "upper": ends.upper}
    for name, posterior in posteriors.items():
        at = posterior.quantile([0.1, 0.3, 0.5, 0.7, 0.9])
        np.testing.assert_allclose(cdf(draws, name, at), posterior.cdf(at), atol=noise, err_msg=name)
    if no_defiers:
        late = found.draws[0].of("LATE")[0]
        at = np.array([-0.5, -0.1, 0.1, 0.5])
        np.testing.assert_allclose(cdf(draws, "late", at), (late[:, None] <= at).mean(axis=0), atol=noise)


def test_the_method_takes_levels_at_their_values():
    rng = np.random.default_rng(0)
    y = np.array([1.0, 2.0, 5.0])[rng.integers(0, 3, 400)]
    z = np.arange(400) % 2
    t = (rng.random(400) < 0.3 + 0.4 * z).astype(float)
    frame = {"y": y, "t": t, "z": z}
    bounds = IVBounds(method="exact", n_chains=64, n_draws=1600, tolerance=1.0)
    roles = {"outcome": "y", "treatment": "t", "instrument": "z"}
    found = bounds.fit(frame, **roles)
    shifted = bounds.fit(frame | {"y": 10 + 2 * y}, **roles)
    assert (shifted.lower, shifted.upper) == pytest.approx((2 * found.lower, 2 * found.upper))
    assert -4 < found.lower < found.upper < 4
    wide = bounds.fit(frame, **roles, outcome_range=(1, 10))  # its ends are levels too: four in all
    assert wide.width > found.width
    with pytest.raises(InputError, match="at most 5 values, but it has 6"):
        bounds.fit(frame | {"y": np.arange(400) % 6}, **roles)
    with pytest.raises(InputError, match="it has 4, and 6 with the ends"):
        bounds.fit(frame | {"y": np.arange(400) % 4}, **roles, outcome_range=(-1, 10))
    with pytest.raises(InputError, match="ends must be sharp or means"):
        IVBounds(method="exact", ends="both").fit(frame, **roles)


def test_means_are_never_narrower_and_no_defiers_never_wider():
    """Means allow at least what the whole law allows. Without defiers both sets are the same, law by law."""
    counts = np.array([[[40, 5, 15], [3, 6, 1]], [[20, 1, 9], [12, 20, 38]]], dtype=float)[None]
    settings = {"n_chains": 64, "n_draws": 1600, "rng": None}
    for no_defiers in (False, True):
        sharp, means = (
            exact_posteriors(counts, question=Question(THREE, no_defiers, sharp, keep_draws=True), **settings).draws[0]
            for sharp in (True, False)
        )
        (sharp_lower, sharp_upper), (lower, upper) = sharp.of("ATE"), means.of("ATE")
        assert (lower <= sharp_lower + 1e-12).all() and (upper >= sharp_upper - 1e-12).all()
        if no_defiers:
            np.testing.assert_allclose(lower, sharp_lower, atol=1e-9)
            np.testing.assert_allclose(upper, sharp_upper, atol=1e-9)
        else:
            assert np.abs(lower - sharp_lower).max() > 1e-3


def test_draws_of_every_estimand_agree_with_each_other():
    """In a one-sided trial without defiers the effect on the treated is a point, and the one among those moved."""
    counts = np.array([[[60, 25, 15], [0, 0, 0]], [[20, 6, 9], [12, 20, 38]]], dtype=float)[None]
    question = Question(THREE, no_defiers=True, keep_draws=True)
    draws = exact_posteriors(counts, n_chains=64, n_draws=1600, question=question).draws[0]
    assert set(draws.estimands) == {"ATE", "EY1", "EY0", "ATT", "ATU", "RR", "ITT", "LATE"}
    lower, upper = draws.of("ATT")
    late = draws.of("LATE")[0]
    assert np.median(upper - lower) < 0.02
    assert late.mean() == pytest.approx(lower.mean(), abs=0.02)
    first, last = draws.interval("ATE", 0.1)
    assert first < draws.of("ATE")[0].mean() < draws.of("ATE")[1].mean() < last
    both = (draws.of("EY1")[0] - draws.of("EY0")[1], draws.of("EY1")[1] - draws.of("EY0")[0])
    np.testing.assert_allclose(both, draws.of("ATE"))
    question = Question(THREE, keep_draws=True)
    assert "LATE" not in exact_posteriors(counts, n_chains=64, n_draws=800, question=question).draws[0].estimands


def test_the_method_may_be_told_that_nobody_defies():
    from ivicl import IVData

    data = IVData.from_counts([30, 14, 5, 11, 12, 12, 13, 28])
    own = ExactOptions(n_chains=64, n_draws=1600)
    free, told = (METHOD.bounds(data, Request(own=own, assume=assume)) for assume in ((), ("no-defiers",)))
    assert free.draws is not None and told.draws is not None
    assert free.draws.late is None and told.draws.late is not None
    assert told.identified_set is not None and free.identified_set is not None
    assert told.identified_set.lower.mean != free.identified_set.lower.mean


def test_what_is_granted_is_assumed_once():
    told = IVBounds("exact", assume=["no-defiers"]).fit_counts([158, 14, 3, 2, 52, 12, 23, 78])
    assert {name: entry.assumes.count("no-defiers") for name, entry in told.estimands.items() if name != "ITT"} == (
        dict.fromkeys(["ATE", "ATT", "ATU", "EY1", "EY0", "RR", "LIFT", "LATE"], 1)
    )


@pytest.mark.slow
@pytest.mark.parametrize(("levels", "no_defiers"), [(3, False), (3, True), (5, False)])
def test_calibrated_on_its_prior(levels, no_defiers):
    """Simulation-based: in tables drawn from the prior the truth's place in its posterior is uniform."""
    values, rng, tables, number = np.linspace(0, 1, levels), np.random.default_rng(8), [], 320
    cells = prior_cells(levels, not no_defiers, number, rng)
    chains = StrataChains(np.ones((number, 2, 2, levels)), 0.4 / levels**2, rng, values, not no_defiers)
    chains.cells, chains.reversed = cells, rng.random(number) < 0.5 * no_defiers
    laws, effect = chains.laws(), chains.draw_effects(1)[0]
    ends = average_effect(mean_ends(laws, values))
    people = np.exp(rng.uniform(np.log(20), np.log(20_000), number)).round().astype(int)
    for law, n in zip(laws, people, strict=True):
        ones = rng.binomial(n, 0.5)
        arms = [rng.multinomial(m, law[z].ravel() / law[z].sum()) for z, m in ((0, n - ones), (1, ones))]
        tables.append(np.array(arms).reshape(2, 2, levels))
    question = Question(tuple(values), no_defiers=no_defiers, keep_draws=True)
    found = exact_posteriors(np.array(tables), n_chains=64, n_draws=64 * 100, rng=rng, question=question)
    edges = np.linspace(-1, 1, found.effect.shape[1] + 1)
    truths = {"effect": (found.effect, effect), "lower": (found.lower, ends[0]), "upper": (found.upper, ends[1])}
    for name, (posterior, truth) in truths.items():
        below = np.concatenate([np.zeros((number, 1)), posterior.cumsum(axis=1)], axis=1)
        place = np.clip(np.searchsorted(edges, truth, side="right") - 1, 0, posterior.shape[1] - 1)
        rank = below[np.arange(number), place] + rng.random(number) * posterior[np.arange(number), place]
        assert uniform_p(rank) > 0.005, name
    if no_defiers:
        movers = cells[2 * levels :]
        late = chains.mean_effect[2 * levels :] @ movers / movers.sum(axis=0)
        drawn = [draws.of("LATE")[0] for draws in found.draws]
        rank = [(d < t).mean() + rng.random() * (d == t).mean() for d, t in zip(drawn, late, strict=True)]
        assert uniform_p(np.array(rank)) > 0.005


def uniform_p(rank: np.ndarray) -> float:
    histogram = np.histogram(rank, np.linspace(0, 1, 11))[0]
    even = len(rank) / 10
    return chi_squared_tail(float(((histogram - even) ** 2 / even).sum()), 9)
