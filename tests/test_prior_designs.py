"""Oversampled designs: shares met, and p(parameters | table) untouched."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from ivicl.identification import balke_pearl, strata
from ivicl.learn.prior import (
    PriorConfig,
    generator_for,
    sample_compressed,
    sample_counts,
    sample_rows,
)
from ivicl.learn.prior import compressed as compressed_module
from ivicl.learn.prior.batches import BINARY
from ivicl.learn.prior.counts import counts_for_arms
from ivicl.learn.prior.designs import FORBIDDEN, SLACK, breaks, log_ratio, smallest_arm, tilted_beta
from ivicl.learn.prior.labels import split_draws
from ivicl.learn.prior.randomness import dirichlet, multinomial_counts, symmetric_beta
from ivicl.learn.prior.sampler import draw_rows, laws_given_events, propose_laws
from ivicl.learn.prior.strata import strata_of

DEFAULT = PriorConfig.default()
EFFECT = torch.tensor(strata.EFFECT, dtype=torch.float64)
law_of = strata_of(2).law_of


def sharp_ends(law: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    lower, upper = balke_pearl.sharp_ends(law.numpy())
    return torch.from_numpy(lower).to(law), torch.from_numpy(upper).to(law)


def arm_counts(z, t, w) -> torch.Tensor:
    """(B, 2, 2) people by z and t."""
    return torch.stack(
        [torch.stack([((z == a) & (t == b)).float().mul(w).sum(-1) for b in (0, 1)], -1) for a in (0, 1)], 1
    )


def one_sided(zt: torch.Tensor) -> torch.Tensor:
    return (zt == 0).any(-1).any(-1)


# ---------------------------------------------------------------- shares
def test_one_sided_tables_are_frequent_in_all_three_kinds():
    plain = DEFAULT.with_options(one_sided_share=0.0, perfect_share=0.0)
    counts = {c: sample_counts(c, generator_for(1, 0), 8000, 1).counts.sum(-1) for c in (DEFAULT, plain)}
    big = {c: v[v.sum((1, 2)) > 1000] for c, v in counts.items()}
    assert one_sided(big[plain]).float().mean() < 0.05 < 0.15 < one_sided(big[DEFAULT]).float().mean()
    rows = sample_rows(DEFAULT, generator_for(1, 1), 400, 512, 3)
    assert one_sided(arm_counts(rows.z, rows.t, rows.w)).float().mean() > 0.13
    cells = sample_compressed(DEFAULT, generator_for(1, 2), 1000, 128, 2)
    cells_zt = arm_counts(cells.z, cells.t, cells.w)
    assert one_sided(cells_zt).float().mean() > 0.15
    perfect = ((cells_zt == 0).sum((1, 2)) == 2).float().mean()
    assert perfect > 0.015
    for z in (0, 1):  # all four sides alike
        for t in (0, 1):
            assert (big[DEFAULT][:, z, t] == 0).float().mean() > 0.03


def test_a_table_drawn_for_an_event_satisfies_it():
    config = DEFAULT.with_options(one_sided_share=0.7, perfect_share=0.3)
    draw = draw_rows(config, generator_for(2, 0), 200, 64, 3)
    zt = arm_counts(draw.table.z, draw.table.t, draw.table.w)
    assert (zt[FORBIDDEN[draw.laws.event]] == 0).all()
    assert (draw.laws.event > 0).float().mean() > 0.5


def test_weak_and_strong_instruments_unequal_arms_and_huge_populations_occur():
    batch = sample_counts(DEFAULT, generator_for(3, 0), 8000, 1)
    arms = batch.counts.sum((-1, -2))
    uptake = batch.counts.sum(-1)[..., 1] / arms
    first_stage = (uptake[:, 1] - uptake[:, 0]).abs()
    large = arms.sum(-1) > 1000
    assert (first_stage[large] < 0.05).float().mean() > 0.08
    assert (first_stage[large] > 0.95).float().mean() > 0.05
    share = arms[:, 1] / arms.sum(-1)
    assert (share < 0.1).float().mean() > 0.05 and (share > 0.9).float().mean() > 0.05
    assert arms.sum(-1).min() < 25 and arms.sum(-1).max() > 2e7


# ---------------------------------------------------------------- the selection leaves the posterior alone
GRID = np.linspace(-1, 1, 401)


def weighted_ks(sample: np.ndarray, values: np.ndarray, weights: np.ndarray | None = None) -> tuple[float, float]:
    """Distance of the CDFs of a sample and of weighted values on a grid; the effective number of weighted values.

    The grid's points lie beside -1, 0 and 1, where effects pile up to within rounding.
    """
    weights = np.ones(len(values)) if weights is None else weights
    grid = GRID + 1e-4
    mine = np.histogram(sample, np.concatenate([[-np.inf], grid]))[0].cumsum() / len(sample)
    reference = np.histogram(values, np.concatenate([[-np.inf], grid]), weights=weights)[0].cumsum() / weights.sum()
    return float(np.abs(reference - mine).max()), float(weights.sum() ** 2 / (weights**2).sum())


@pytest.fixture(scope="module")
def plain_prior() -> tuple[torch.Tensor, np.ndarray]:
    """Draws of the plain prior: log law and effect."""
    p = dirichlet((150_000, 16), generator_for(99, 0), 0.1)
    return law_of(p).flatten(1).clamp_min(1e-300).log(), (p @ EFFECT).numpy()


def check_against_plain_prior(plain_prior, tables: torch.Tensor, effects: torch.Tensor, n_tables: int = 6) -> int:
    """For the commonest count tables, compare their effects with the exact posterior: the plain prior reweighted."""
    log_law, prior_effect = plain_prior
    distinct, which, number = torch.unique(tables.flatten(1).long(), dim=0, return_inverse=True, return_counts=True)
    checked = 0
    for k in number.argsort(descending=True)[:n_tables].tolist():
        mine = effects[which == k].double().numpy()
        weights = torch.exp(log_law @ distinct[k].double()).numpy()
        distance, effective = weighted_ks(mine, prior_effect, weights)
        limit = 1.95 * (1 / len(mine) + 1 / effective) ** 0.5  # Kolmogorov's 0.1 % point
        assert distance < limit, (distinct[k].tolist(), len(mine), effective, distance, limit)
        checked += len(mine)
    return checked


@pytest.mark.parametrize("share", ["one_sided_share", "perfect_share"])
def test_selection_leaves_the_posterior_of_count_tables_unchanged(plain_prior, share):
    config = DEFAULT.with_options(**{"one_sided_share": 0.0, "perfect_share": 0.0, share: 1.0})
    arms = torch.tensor([[9.0, 4.0]], dtype=torch.float64).expand(40_000, 2)
    batch = counts_for_arms(config, generator_for(4, 0), arms, 1)
    assert check_against_plain_prior(plain_prior, batch.counts, batch.effect) > 1500
    assert check_against_plain_prior(plain_prior, batch.counts, batch.draws[:, 0]) > 1500


def test_the_same_test_sees_a_selection_on_parameters(plain_prior):
    p = dirichlet((200_000, 16), generator_for(5, 0), 0.1)
    p = p[p[:, 8:].sum(-1) < 0.05]  # looks at the strata, not at the data
    arms = torch.tensor([[9.0, 4.0]], dtype=torch.float64).expand(len(p), 2)
    counts = multinomial_counts(arms, law_of(p).flatten(2), generator_for(5, 1)).unflatten(-1, (2, 2))
    with pytest.raises(AssertionError):
        check_against_plain_prior(plain_prior, counts, (p @ EFFECT).float())


def test_selection_leaves_the_posterior_of_row_tables_without_covariates_unchanged(plain_prior):
    config = DEFAULT.with_options(one_sided_share=0.7, perfect_share=0.3, even_arms_share=1.0)
    draw = draw_rows(config, generator_for(6, 0), 30_000, 8, 0)
    table = draw.table
    cell = torch.nn.functional.one_hot((4 * table.z + 2 * table.t + table.y).long(), 8).sum(1)
    assert check_against_plain_prior(plain_prior, cell, table.effect, 10) > 1500


def event_tables(kind: str, event: int, config: PriorConfig, chosen: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Statistics of tables in which the event happened, and 1 / (normaliser of the proposal): selected tables are
    plain ones times that factor, which depends on X and on the instrument only."""
    share = {"one_sided_share": float(chosen and event == 1), "perfect_share": float(chosen and event == 5)}
    config, size = config.with_options(**share), 3000
    if kind == "rows":
        draw = draw_rows(config, generator_for(seed, 0), size, 20, 2)
        table, laws = draw.table, draw.laws
    else:
        g = generator_for(seed, 1)
        laws = laws_given_events(
            config, g, size, BINARY, lambda e: compressed_module._propose(config, g, e, 4, 2, BINARY)
        )
        table = compressed_module._compress(config, laws, BINARY, g)
    zt = arm_counts(table.z, table.t, table.w)
    happened = ((zt == 0) | ~FORBIDDEN[event]).all(-1).all(-1)
    if chosen:
        happened &= laws.event == event
    n = table.w.sum(-1)
    mean = torch.einsum("bn,bns->bs", laws.weight, laws.p)
    columns = [
        table.effect,
        table.lower,
        table.upper,
        mean[:, 8:].sum(-1),  # T(0) = 1
        mean[:, 0:4].sum(-1),  # never-takers
        laws.p.amax(-1).mul(laws.weight).sum(-1),
        (table.w * table.y).sum(-1) / n,
        (table.w * table.t).sum(-1) / n,
        (table.w * table.z).sum(-1) / n,
        (table.w * table.y * table.x[..., 0]).sum(-1) / n,
    ]
    eps = SLACK * smallest_arm(torch.full((size,), event), laws.propensity)
    unsafe = 1.6 * breaks(2).any(1)[event].double().mean().item()
    q = torch.tensor(stats.beta(unsafe, 1.6 - unsafe).ppf((np.arange(200) + 0.5) / 200))
    normaliser = ((1 - eps[:, None] * q) ** n[:, None]).mean(-1)
    return torch.stack(columns, -1)[happened].numpy(), (1 / normaliser)[happened].numpy()


@pytest.mark.parametrize("kind", ["rows", "compressed"])
@pytest.mark.parametrize("event", [1, 5])
def test_selected_tables_with_covariates_are_plain_tables_in_which_the_event_happened(kind, event):
    config = DEFAULT.with_options(
        free_intercept_share=0.0, randomised_share=0.8, smallest_arm=0.2, positivity=0.1, population=(20.0, 24.0)
    )
    selected, _ = event_tables(kind, event, config, True, 7)
    parts = [event_tables(kind, event, config, False, 8 + k) for k in range(3)]
    plain, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    assert len(selected) > 300 and len(plain) > 80
    for k in range(selected.shape[1]):
        distance, effective = weighted_ks(selected[:, k], plain[:, k], weights)
        assert distance < 2.2 * (1 / len(selected) + 1 / effective) ** 0.5, k


def test_the_acceptance_ratio_is_a_probability_for_nearly_all_proposals():
    config = DEFAULT.with_options(one_sided_share=0.8, perfect_share=0.2)
    event = torch.randint(1, 7, (300,), generator=generator_for(9, 0))
    laws = propose_laws(config, generator_for(9, 1), event, 256, 4, BINARY)
    ratio = log_ratio(laws.event, laws.p, laws.propensity, laws.count, laws.target)
    assert (ratio > 0).float().mean() < 0.06
    assert ratio.exp().clamp(max=1).mean() > 0.4


# ---------------------------------------------------------------- pieces
def test_posterior_draws_agree_with_the_sixteen_swaps_in_mean_and_with_the_prior_in_law():
    p = dirichlet((20_000, 16), generator_for(10, 0), 0.1)
    effect = EFFECT.expand_as(p)
    draws = split_draws(p, effect, strata_of(2), 0.1, 4, generator_for(10, 1))
    effect = p @ EFFECT
    assert stats.ks_2samp(draws[:, 0].numpy(), effect.numpy()).pvalue > 1e-3
    lower, upper = sharp_ends(law_of(p))
    assert ((draws >= lower[:, None] - 1e-9) & (draws <= upper[:, None] + 1e-9)).all()


def test_symmetric_beta_and_tilted_beta_follow_their_laws():
    draws = symmetric_beta((50_000,), generator_for(11, 0), 0.1).numpy()
    at = np.array([1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999, 1 - 1e-5])
    found = (draws[:, None] <= at).mean(0)
    assert np.abs(found - stats.beta(0.1, 0.1).cdf(at)).max() < 0.009  # four standard errors
    ones = torch.ones(20_000, dtype=torch.float64)
    exact = tilted_beta(0.8 * ones, 0.8 * ones, ones, 30 * ones, generator_for(11, 1))
    assert stats.kstest(exact.numpy(), stats.beta(0.8, 30.8).cdf).pvalue > 1e-3
    tilted = tilted_beta(1.2 * ones, 0.4 * ones, 0.5 * ones, 6 * ones, generator_for(11, 2)).numpy()
    grid = (np.arange(20_000) + 0.5) / 20_000
    grid = stats.beta(1.2, 0.4).ppf(grid)
    distance, _ = weighted_ks(tilted, grid, (1 - grid / 2) ** 6)
    assert distance < 1.95 / 20_000**0.5


def test_multinomial_counts_have_the_right_moments_from_ten_people_to_ten_million():
    p = torch.tensor([0.5, 0.3, 0.2, 1e-7, 0.0], dtype=torch.float64).expand(20_000, 5)
    for total in (10.0, 1e7):
        counts = multinomial_counts(torch.full((20_000,), total, dtype=torch.float64), p, generator_for(12, int(total)))
        assert (counts.sum(-1) == total).all() and (counts[:, 4] == 0).all()
        error = counts.mean(0) - total * p[0]
        spread = (total * p[0] * (1 - p[0]) / 20_000).sqrt().clamp_min(1e-9)
        assert (error / spread)[:4].abs().max() < 5
        assert abs(counts[:, 0].var() / (total * 0.25) - 1) < 0.05


def test_compressed_tables_keep_everybody_and_label_them_by_weight():
    table = sample_compressed(DEFAULT, generator_for(14, 0), 200, 128, 2)
    people = table.w.sum(-1)
    assert people.min() >= 20 and people.max() > 1e6 and (table.w == table.w.round()).all()
    assert table.x.shape[1] <= 128 and (table.w > 0).any(0).all()
    share = table.w / people[:, None]
    mean = (share[..., None] * table.x).sum(1)
    sd = (share[..., None] * table.x.square()).sum(1)
    assert mean.abs().max() < 1e-2 and ((sd - 1).abs() < 2e-2).logical_or(sd < 1e-6).all()
    lower, upper = sharp_ends(table.law)
    assert torch.allclose((share * lower).sum(-1), table.lower, atol=2e-4)
    assert torch.allclose((share * upper).sum(-1), table.upper, atol=2e-4)
    assert (table.effect >= table.lower - 1e-4).all() and (table.effect <= table.upper + 1e-4).all()
    # large tables show their law: the frequency of y=1 among treated people with z=1
    big = people > 1e6
    hit = (table.w * table.z * table.t * table.y).sum(-1) / (table.w * table.z).sum(-1)
    law = (table.w * table.z * table.law[:, :, 1, 1, 1]).sum(-1) / (table.w * table.z).sum(-1)
    assert (hit - law)[big].abs().max() < 0.01
