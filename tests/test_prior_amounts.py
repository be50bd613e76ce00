"""The prior for amounts: consistent, exchangeable, with labels that are what they say, and the binary prior inside."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ivicl.identification.amounts import mean_ends
from ivicl.learn.prior import (
    BINARY,
    ESTIMANDS,
    Form,
    PriorConfig,
    generator_for,
    sample_compressed,
    sample_counts,
    sample_rows,
)
from ivicl.learn.prior.classes import Classes, draw_classes
from ivicl.learn.prior.counts import moments
from ivicl.learn.prior.labels import estimand_ends, orbit_draws, split_draws
from ivicl.learn.prior.sampler import draw_form, draw_rows
from ivicl.learn.prior.strata import soft_law, strata_of
from linear_program import level_program

DEFAULT = PriorConfig.default()
FORMS = [Form(2, True), Form(3, True), Form(6, True), Form(2, False, True), Form(4, True, True)]


@pytest.mark.parametrize("form", FORMS)
def test_labels_are_finite_and_coherent(form):
    batches = [
        sample_rows(DEFAULT, generator_for(1, 0), 24, 80, 3, form),
        sample_compressed(DEFAULT, generator_for(1, 1), 24, form=form),
        sample_counts(DEFAULT, generator_for(1, 2), 400, 8, form),
    ]
    for batch in batches:
        ends = batch.ends
        assert torch.isfinite(ends).all() and torch.isfinite(batch.draws).all() and torch.isfinite(batch.late).all()
        assert (ends[:, 0::2] <= ends[:, 1::2] + 1e-5).all()
        assert (batch.draws >= ends[:, :1] - 1e-3).all() and (batch.draws <= ends[:, 1:2] + 1e-3).all()
        at = {name: ends[:, 2 * k : 2 * k + 2] for k, name in enumerate(ESTIMANDS)}
        # The effect is the difference of the means, end by end.
        torch.testing.assert_close(at["ATE"][:, 0], at["EY1"][:, 0] - at["EY0"][:, 1], atol=2e-5, rtol=0)
        torch.testing.assert_close(at["ATE"][:, 1], at["EY1"][:, 1] - at["EY0"][:, 0], atol=2e-5, rtol=0)


def test_amounts_lie_in_their_range_and_are_not_all_zero_and_one():
    table = sample_rows(DEFAULT, generator_for(2, 0), 60, 50, 2, Form(4, True))
    assert (table.y >= 0).all() and (table.y <= 1).all()
    assert ((table.y * (1 - table.y)).sum(1) > 0).all()
    binary = sample_rows(DEFAULT, generator_for(2, 1), 20, 50, 2)
    assert set(binary.y.unique().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("groups", [2, 3, 5])
def test_strata_observe_what_their_law_says(groups):
    strata, rng = strata_of(groups), torch.Generator().manual_seed(groups)
    p = torch.rand(strata.size, generator=rng)
    p = p / p.sum()
    law = strata.law_of(p)
    assert law.shape == (2, 2, groups)
    torch.testing.assert_close(law.sum((1, 2)), torch.ones(2))
    people = torch.multinomial(p, 200_000, replacement=True, generator=rng)
    for z in (0, 1):
        t, which = strata.observe(people, torch.full((len(people),), float(z)))
        seen = torch.zeros(2, groups).index_put((t, which), torch.ones(len(people)), accumulate=True) / len(people)
        assert (seen - law[z]).abs().max() < 0.006


@pytest.mark.parametrize("groups", [2, 3, 4])
def test_what_nobody_sees_can_be_permuted_without_a_trace(groups):
    strata, rng = strata_of(groups), torch.Generator().manual_seed(7)
    p = torch.rand(5, strata.size, generator=rng)
    orbits = strata.orbits(rng)
    assert torch.equal(orbits[0], torch.arange(strata.size))
    for order in orbits:
        torch.testing.assert_close(strata.law_of(p[:, order]), strata.law_of(p))
    effect = strata.effect(torch.rand(5, groups, generator=rng))
    draws = orbit_draws(p, effect, orbits)
    assert draws.std(1).min() > 0  # a control: the effect does change
    torch.testing.assert_close(draws[:, 0], (p * effect).sum(1))


def test_labels_do_not_know_which_orbit_is_the_truth():
    """Exchangeability: the rank of the true effect among its orbit is uniform."""
    ranks = []
    for k in range(150):  # the tables of one batch share their permutations, so many batches are needed
        batch = sample_rows(DEFAULT, generator_for(11, k), 6, 16, 2, Form(3, True))
        noise = 1e-7 * torch.rand(batch.draws.shape, generator=torch.Generator().manual_seed(k))
        drawn = batch.draws + noise
        ranks.append((drawn[:, 1:] < drawn[:, :1]).sum(1))
    counts = torch.bincount(torch.cat(ranks), minlength=16).float()
    expected = counts.sum() / 16
    assert ((counts - expected).square() / expected).sum() < 37.7  # chi-squared, 15 degrees, p = 0.001


def test_the_soft_law_and_the_ends_are_those_of_the_amounts():
    """The mean amount of people drawn from the law of a row is that of its soft law; ends agree with the program."""
    draw = draw_rows(DEFAULT.with_options(sample_range_share=0.0), generator_for(3, 0), 400, 300, 0, Form(4, True))
    table = draw.table
    for z in (0, 1):
        for t in (0, 1):
            at = (table.z == z) & (table.t == t)
            seen = (at * table.y).sum(1) / (table.z == z).sum(1).clamp(min=1)
            told = table.law[:, 0, z, t, 1]
            assert (seen - told).mean().abs() < 0.006
    rng = np.random.default_rng(0)
    for _ in range(40):
        strata = strata_of(3)
        p = torch.tensor(rng.dirichlet(np.full(strata.size, 0.1)))[None]
        mean = torch.tensor(np.sort(rng.random(3)))[None]
        soft = soft_law(strata.law_of(p), mean)
        ends = estimand_ends(soft[:, None], torch.full((1, 1), 0.5), torch.ones(1, 1))[0]
        levels = np.array([0.0, 1.0])
        lower, upper = (level_program(soft[0].numpy(), levels, levels, largest=most) for most in (False, True))
        assert float(ends[0]) == pytest.approx(lower, abs=1e-5) and float(ends[1]) == pytest.approx(upper, abs=1e-5)
        closed = mean_ends(soft[0].numpy(), np.array([0.0, 1.0]))
        assert float(ends[2]) == pytest.approx(float(closed.treated_lower), abs=1e-5)
        assert float(ends[5]) == pytest.approx(float(closed.untreated_upper), abs=1e-5)


@pytest.mark.parametrize("groups", [2, 4, 6])
def test_types_and_effects_are_as_wide_as_in_the_binary_prior(groups):
    """With classes at 0 and 1 alone, more of them change nothing: neither the first stage nor the effect."""
    plain = DEFAULT.with_options(one_sided_share=0.0, perfect_share=0.0)
    g = generator_for(5, groups)
    size = 20_000
    strata = strata_of(groups)
    from ivicl.learn.prior.randomness import dirichlet

    p = dirichlet((size, strata.size), g, plain.concentration(groups))
    takes = strata.takes
    stage = (p * (takes[:, 1] - takes[:, 0])).sum(1)
    ones = (torch.arange(groups) % 2).double().expand(size, groups)
    effect = (p * strata.effect(ones)).sum(1)
    binary = dirichlet((size, 16), generator_for(5, 99), plain.gamma)
    two = strata_of(2)
    assert stage.std() == pytest.approx(float((binary * (two.takes[:, 1] - two.takes[:, 0])).sum(1).std()), rel=0.03)
    # Splits among more classes average a little more.
    wanted = float((binary * two.effect(torch.tensor([[0.0, 1.0]]).double())).sum(1).std())
    assert wanted * 0.85 < float(effect.std()) < wanted * 1.05


def test_fresh_splits_have_the_orbits_mean():
    strata, g = strata_of(4), generator_for(6, 0)
    p = torch.tensor(np.random.default_rng(1).dirichlet(np.ones(strata.size), 3))
    effect = strata.effect(torch.rand(3, 4, generator=g).double())
    many = split_draws(p, effect, strata, 0.025, 20_000, g)
    even = p.clone()
    for row in strata.unseen:
        even[:, row] = even[:, row].mean(1, keepdim=True)
    torch.testing.assert_close(many.mean(1), (even * effect).sum(1), atol=0.01, rtol=0)


def test_moments_of_people():
    people, values = torch.tensor([[3.0, 1.0, 4.0]]).double(), torch.tensor([[0.0, 0.5, 1.0]]).double()
    counts, spread = moments(people, values)
    y = np.repeat([0.0, 0.5, 1.0], [3, 1, 4])
    assert counts[0].tolist() == pytest.approx([8 - y.sum(), y.sum()])
    assert spread.item() == pytest.approx(y.var() / (y.mean() * (1 - y.mean())))
    assert moments(torch.tensor([[5.0, 0.0, 3.0]]).double(), values)[1].item() == pytest.approx(1.0)
    assert moments(torch.zeros(1, 3).double(), values)[1].item() == 1.0


def test_nobody_moves_against_the_direction_where_none_may():
    draw = draw_rows(DEFAULT, generator_for(8, 0), 300, 60, 2, Form(2, False, True))
    takes = strata_of(2).takes
    mass = torch.einsum("bn,bns->bs", draw.laws.weight, draw.laws.p)
    up, down = mass[:, takes[:, 0] < takes[:, 1]].sum(1), mass[:, takes[:, 0] > takes[:, 1]].sum(1)
    assert torch.minimum(up, down).max() < 1e-6
    assert 0.35 < (up > down).float().mean() < 0.65  # either direction
    free = draw_rows(DEFAULT, generator_for(8, 0), 300, 60, 2, BINARY)
    mass = torch.einsum("bn,bns->bs", free.laws.weight, free.laws.p)
    assert (
        torch.minimum(mass[:, takes[:, 0] < takes[:, 1]].sum(1), mass[:, takes[:, 0] > takes[:, 1]].sum(1)).max() > 0.05
    )


def test_a_samples_own_range_clips_the_labels():
    config = DEFAULT.with_options(sample_range_share=1.0)
    table = sample_rows(config, generator_for(9, 0), 40, 12, 1, Form(5, True))
    varies = table.y.amax(1) > table.y.amin(1)
    assert torch.allclose(table.y.amin(1)[varies], torch.zeros(1)) and torch.allclose(
        table.y.amax(1)[varies], torch.ones(1)
    )
    classes = Classes(torch.tensor([[0.0, 0.5, 1.0]]), torch.tensor([[[0.2, 0.3, 0.5]]]), binary=False)
    clipped = classes.clipped(torch.tensor([0.25]), torch.tensor([0.75]))
    assert clipped.mean.item() == pytest.approx(0.3 * 0.5 + 0.5 * 1.0)


def test_class_laws_are_laws_and_differ():
    classes = draw_classes(DEFAULT, generator_for(4, 0), 500, 4)
    torch.testing.assert_close(classes.law.sum(-1), torch.ones(500, 4))
    assert (classes.mean.std(1) > 1e-3).float().mean() > 0.95
    assert 0.15 < classes.mean.std() < 0.45


def test_forms_follow_their_shares():
    forms = [draw_form(DEFAULT, generator_for(12, k)) for k in range(400)]
    assert np.mean([f.amounts for f in forms]) == pytest.approx(DEFAULT.amounts_share, abs=0.08)
    assert np.mean([f.no_defiers for f in forms]) == pytest.approx(DEFAULT.no_defiers_share, abs=0.08)
    assert {f.groups for f in forms if f.amounts} == {2, 3, 4, 5, 6}
    assert {f.groups for f in forms if not f.amounts} == {2}
