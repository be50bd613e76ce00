"""The prior's laws: coding, consistency, labels, the pair swaps, the shift, determinism."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ivicl.errors import InputError
from ivicl.identification import strata
from ivicl.learn.prior import PriorConfig, generator_for, sample_compressed, sample_counts, sample_rows
from ivicl.learn.prior import sampler as sampler_module
from ivicl.learn.prior.randomness import dirichlet
from ivicl.learn.prior.sampler import draw_rows
from ivicl.learn.prior.shift import strata_probabilities
from ivicl.learn.prior.strata import strata_of
from ivicl.learn.theory import SWAPS

STRATA = torch.tensor(strata.STRATA)
TWO = strata_of(2)
PLAIN = {"one_sided_share": 0.0, "perfect_share": 0.0}
PRESETS = [PriorConfig.default(), PriorConfig.paper()]


def z_score(values: torch.Tensor) -> torch.Tensor:
    """z statistics of column means over independent tables."""
    values = values.double()
    return values.mean(0) / (values.std(0) / len(values) ** 0.5 + 1e-12)


def test_strata_are_coded_as_documented_and_pairs_differ_in_the_unseen_outcome_only():
    for s, (t0, t1, y0, y1) in enumerate(STRATA.tolist()):
        assert s == 8 * t0 + 4 * t1 + 2 * y0 + y1
    for a, b in strata.PAIRS:
        t0, t1 = STRATA[a, :2].tolist()
        assert t0 == t1 and STRATA[b, :2].tolist() == [t0, t1]
        seen, unseen = (3, 2) if t0 else (2, 3)  # always-takers show Y(1), never-takers Y(0)
        assert STRATA[a, seen] == STRATA[b, seen] and STRATA[a, unseen] != STRATA[b, unseen]


@pytest.mark.parametrize("config", PRESETS, ids=lambda c: c.name)
def test_orbit_swaps_leave_the_law_unchanged_and_give_the_orbit_labels(config):
    draw = draw_rows(config, generator_for(1, 0), 32, 100, 5)
    p, table = draw.laws.p, draw.table
    for k, order in enumerate(SWAPS):
        swapped = p[..., order]
        assert (TWO.law_of(swapped) - table.law).abs().max() < 1e-6
        y = STRATA.float()
        effect = (swapped @ (y[:, 3] - y[:, 2])).mean(-1)
        assert torch.allclose(effect, table.orbit[:, k], atol=1e-5)
    assert torch.equal(table.effect, table.orbit[:, 0])
    complier_swap = p[..., [0, 1, 2, 3, 5, 4, *range(6, 16)]]  # the negative control: compliers show both outcomes
    assert (TWO.law_of(complier_swap) - table.law).abs().max() > 1e-2


@pytest.mark.parametrize("config", PRESETS, ids=lambda c: c.name)
def test_effect_lies_between_the_ends_and_rows_follow_their_law(config):
    draw = draw_rows(config.with_options(**PLAIN), generator_for(2, 0), 64, 256, 6)
    table = draw.table
    assert (table.effect >= table.lower - 1e-5).all() and (table.effect <= table.upper + 1e-5).all()
    assert (table.orbit >= table.lower[:, None] - 1e-5).all() and (table.orbit <= table.upper[:, None] + 1e-5).all()
    assert torch.allclose(table.law.sum((-1, -2)), torch.ones(64, 256, 2), atol=1e-5)
    own = table.law.gather(2, table.z.long()[..., None, None, None].expand(64, 256, 1, 2, 2))[:, :, 0].flatten(2)
    cell = torch.nn.functional.one_hot((2 * table.t + table.y).long(), 4)
    assert z_score((cell - own).mean(1)).abs().max() < 4.5
    assert z_score((table.z - draw.laws.propensity).mean(1)[:, None]).abs() < 4.5


def test_consistency_and_effect_equals_its_monte_carlo_estimate():
    draw = draw_rows(PriorConfig.default().with_options(**PLAIN), generator_for(3, 0), 32, 2048, 4)
    codes = STRATA[draw.stratum]
    z = draw.table.z.long()
    t = codes[..., :2].gather(-1, z[..., None])[..., 0]
    y = codes[..., 2:].gather(-1, t[..., None])[..., 0]
    assert torch.equal(t.float(), draw.table.t) and torch.equal(y.float(), draw.table.y)
    simulated = (codes[..., 3] - codes[..., 2]).double()
    error = simulated.mean(-1) - draw.table.effect
    spread = (simulated.std(-1) / 2048**0.5).clamp_min(1e-4)
    assert (error / spread).abs().max() < 5
    assert ((error / spread).square().mean() - 1).abs() < 1


@pytest.mark.parametrize("config", PRESETS, ids=lambda c: c.name)
def test_instrument_is_independent_of_the_strata_given_x(config):
    draw = draw_rows(config.with_options(**PLAIN), generator_for(4, 0), 400, 128, 4)
    surprise_z = draw.table.z - draw.laws.propensity
    surprise_s = torch.nn.functional.one_hot(draw.stratum, 16) - draw.laws.p
    covariance = torch.einsum("bn,bns->bs", surprise_z, surprise_s)
    assert z_score(covariance).abs().max() < 4.5
    # the same statistic sees a dependence: the treatment does depend on the strata given X
    surprise_t = draw.table.t - torch.einsum("bnty->bnt", draw.table.law.mean(2))[..., 1]
    assert z_score(torch.einsum("bn,bns->bs", surprise_t, surprise_s)).abs().max() > 6


def swap_statistics(draw) -> torch.Tensor:
    """(tables, statistics), each odd under one pair swap: mean 0 if the data and masses equal their swap in law."""
    table, p = draw.table, draw.laws.p
    x = table.x[..., 0] if table.x.shape[-1] else torch.zeros_like(table.z)
    factors = [
        torch.ones_like(table.z),
        table.z,
        table.t,
        table.y,
        table.z * table.y,
        table.t * table.y,
        x,
        x * table.y,
    ]
    columns = []
    for a, b in strata.PAIRS:
        mass_a, mass_b = p[..., a].mean(-1), p[..., b].mean(-1)
        for even in factors:
            columns.append((mass_a - mass_b) * even.mean(-1))
            columns.append((mass_a > mass_b).float() * even.mean(-1) - (mass_b > mass_a).float() * even.mean(-1))
            columns.append(((p[..., a] - p[..., b]) * even).mean(-1))
        columns.append((mass_a.clamp_min(1e-6) / mass_b.clamp_min(1e-6)).log())
        columns.append((mass_a - mass_b) / (mass_a + mass_b + 1e-30))
    return torch.stack(columns, -1)


@pytest.mark.parametrize("config", PRESETS, ids=lambda c: c.name)
@pytest.mark.parametrize("columns", [0, 3])
def test_data_and_masses_are_equal_in_law_to_their_swap(config, columns):
    draw = draw_rows(config, generator_for(5, columns), 2000, 32, columns)
    assert z_score(swap_statistics(draw)).abs().max() < 4.8


def test_the_swap_test_fails_for_a_prior_skewed_on_purpose(monkeypatch):
    honest = sampler_module.designs.propose_target

    def skewed(*args):
        target = honest(*args) * torch.where(STRATA[:, 3] > 0, 4.0, 1.0)
        return target / target.sum(-1, keepdim=True)

    monkeypatch.setattr(sampler_module.designs, "propose_target", skewed)
    draw = draw_rows(PriorConfig.default(), generator_for(5, 3), 2000, 32, 3)
    assert z_score(swap_statistics(draw)).abs().max() > 6


@pytest.mark.parametrize("columns", [0, 1, 4, 16, 48])
def test_effect_spreads_at_every_d_with_the_repairs(columns):
    draw = draw_rows(PriorConfig.default(), generator_for(6, columns), 1200, 48, columns)
    shifted = draw.laws.shifted & (draw.laws.event == 0)
    assert draw.table.effect[shifted].std() > 0.40
    mean = torch.einsum("bn,bns->bs", draw.laws.weight, draw.laws.p)
    distance = (mean - draw.laws.target).abs().sum(-1) / 2
    assert (distance[shifted] < 0.021).float().mean() > 0.995


def test_one_shift_step_on_raw_logits_misses_the_target_and_the_repeated_shift_meets_it():
    g = generator_for(7, 0)
    logits = 10 * torch.randn(300, 128, 16, generator=g)
    weight = torch.full((300, 128), 1 / 128)
    target = dirichlet((300, 16), g, 0.1).clamp_min(1e-8)
    target = target / target.sum(-1, keepdim=True)
    effect = torch.tensor([s[3] - s[2] for s in STRATA.tolist()]).float()
    once = strata_probabilities(logits, weight, target, 0.02, 1).mean(1)
    repeated = strata_probabilities(logits, weight, target, 0.02, 400).mean(1)
    assert (once @ effect).std() < 0.30 < 0.40 < (repeated @ effect).std()
    assert ((repeated - target).abs().sum(-1) / 2).max() < 0.021


def test_no_covariates_means_one_law_for_all_rows_in_default_but_not_in_paper():
    spread = {c.name: sample_rows(c, generator_for(8, 0), 16, 64, 0).law.std(1).max() for c in PRESETS}
    assert spread["default"] < 1e-6 < 1e-2 < spread["paper"]


def test_observe_reads_the_right_potential_outcome():
    t, y = TWO.observe(torch.tensor([0b0110, 0b0110]), torch.tensor([0.0, 1.0]))  # complier, Y(0)=1, Y(1)=0
    assert t.tolist() == [0, 1] and y.tolist() == [1, 0]


def tensors_of(batch) -> dict[str, torch.Tensor]:
    return {name: value for name, value in vars(batch).items() if isinstance(value, torch.Tensor)}


def test_same_seed_same_tables_and_other_seeds_differ():
    config = PriorConfig.default()
    for sample in (
        lambda g: sample_rows(config, g, 8, 40, 3),
        lambda g: sample_compressed(config, g, 8),
        lambda g: sample_counts(config, g, 8),
    ):
        first, second, other = (
            sample(generator_for(1, 2, 3)),
            sample(generator_for(1, 2, 3)),
            sample(generator_for(1, 2, 4)),
        )
        for name in tensors_of(first):
            assert torch.equal(getattr(first, name), getattr(second, name))
        assert not torch.equal(first.effect, other.effect)
    states = {tuple(generator_for(s, k, m).get_state()[:16].tolist()) for s in (0, 1) for k in (0, 1) for m in (0, 1)}
    assert len(states) == 8


def test_global_random_state_is_neither_read_nor_changed():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first = sample_rows(PriorConfig.default(), generator_for(9, 0), 8, 40, 3)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(1)
    assert torch.equal(first.effect, sample_rows(PriorConfig.default(), generator_for(9, 0), 8, 40, 3).effect)


@pytest.mark.parametrize("columns", [0, 1, 2, 7, 64])
@pytest.mark.parametrize("rows", [32, 129])
def test_shapes_types_and_finite_values(rows, columns):
    table = sample_rows(PriorConfig.default(), generator_for(10, rows, columns), 40, rows, columns)
    assert table.x.shape == (40, rows, columns) and table.law.shape == (40, rows, 2, 2, 2)
    assert table.orbit.shape == (40, 16) and torch.equal(table.w, torch.ones(40, rows))
    for name, value in tensors_of(table).items():
        assert value.dtype == torch.float32, name
        assert value.isfinite().all(), name
    for name in ("z", "t", "y"):
        assert set(getattr(table, name).unique().tolist()) <= {0.0, 1.0}


def test_config_round_trips_through_json_types_and_refuses_unknown_fields():
    import json

    for config in PRESETS:
        assert PriorConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    with pytest.raises(InputError, match="colour"):
        PriorConfig.from_dict({"colour": 1})
    with pytest.raises(InputError, match="presets are"):
        PriorConfig.preset("papper")


def test_families_cover_discrete_one_hot_and_noise_columns():
    draw = draw_rows(PriorConfig.default().with_options(**PLAIN), generator_for(11, 0), 600, 128, 8)
    distinct = torch.tensor([[len(torch.unique(col)) for col in table.T] for table in draw.table.x])
    discrete = distinct <= 10
    assert 0.35 < discrete.any(1).float().mean() < 0.7
    assert (distinct == 2).any() and (distinct > 100).any()
    binary = (distinct == 2)[:, :3].all(1)
    high = (draw.table.x[..., :3] > 0).sum(-1)
    exclusive = binary & (high <= 1).all(1)
    assert exclusive.float().mean() > 0.02  # groups of 0/1 columns of which at most one is up
    # some tables ignore their covariates altogether
    constant = draw.laws.p.std(1).amax(-1) < 1e-6
    assert 0.02 < constant.float().mean() < 0.1


def test_scales_reach_nearly_deterministic_strata():
    draw = draw_rows(PriorConfig.default(), generator_for(12, 0), 400, 128, 6)
    top = draw.laws.p.amax(-1).mean(-1)
    assert (top > 0.9).float().mean() > 0.1 and (top < 0.7).float().mean() > 0.1
    width = (draw.table.upper - draw.table.lower).numpy()
    assert np.quantile(width, 0.1) < 0.2 and np.quantile(width, 0.9) > 0.8
