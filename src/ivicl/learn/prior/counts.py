"""Tables without covariates: one Dirichlet draw of the strata, counts or moments of the outcome, any population.

Given the counts, the split of what cannot be observed is still Dirichlet, whatever the rest is. So new splits give as
many exact posterior draws of the effect as one likes. B tables, S strata, G classes, L amounts.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ivicl.learn.prior.batches import BINARY, CountBatch, Form
from ivicl.learn.prior.classes import Classes
from ivicl.learn.prior.config import PriorConfig
from ivicl.learn.prior.designs import breaks, draw_events, possible, propose_target
from ivicl.learn.prior.instrument import arm_probability
from ivicl.learn.prior.labels import draw_crowds, estimand_ends, movers_effect, split_draws
from ivicl.learn.prior.randomness import coin, log_uniform, multinomial_counts
from ivicl.learn.prior.sampler import allowed_strata, classes_of, with_amounts
from ivicl.learn.prior.strata import soft_law, strata_of


def sample_counts(
    config: PriorConfig,
    generator: torch.Generator,
    batch: int,
    n_draws: int = 32,
    form: Form = BINARY,
) -> CountBatch:
    """Count tables with exact posterior draws of the effect."""
    g = generator
    people = log_uniform((batch,), g, *config.population).double().round()
    assigned = torch.binomial(people, arm_probability(config, g, batch).double(), generator=g)
    assigned = torch.minimum(assigned.clamp_min(1), people - 1)  # nobody analyses a trial with an empty arm
    arms = torch.stack([people - assigned, assigned], -1)
    return counts_for_arms(config, g, arms, n_draws, form)


def counts_for_arms(
    config: PriorConfig,
    g: torch.Generator,
    arms: Tensor,
    n_draws: int,
    form: Form = BINARY,
) -> CountBatch:
    """Like `sample_counts`, for given arm sizes (B, 2), float64."""
    strata, concentration = strata_of(form.groups), config.concentration(form.groups)
    event = draw_events(len(arms), config.one_sided_share, config.perfect_share, g)
    allowed = allowed_strata(g, len(arms), form)
    event, p = _strata(possible(event, allowed, form.groups), arms, concentration, g, form.groups, allowed)
    kept = (~breaks(form.groups).to(p.device)[event]).double()  # (B, 2, S): what each arm can hold, given the event
    cells = torch.stack([strata.law_of(p * kept[:, z])[:, z] for z in (0, 1)], 1)  # (B, 2, 2, G)
    classes = classes_of(config, g, len(arms), form)
    if form.amounts:
        classes, counts, spread = _moments(config, g, classes, arms, cells)
    else:
        counts = torch.unflatten(multinomial_counts(arms, cells.flatten(2), g), -1, (2, 2))
        spread = torch.ones_like(counts[..., 0])
    mean = classes.mean.to(p)
    effect = strata.effect(mean)
    draws = split_draws(p, effect, strata, concentration, n_draws, g)
    law = soft_law(strata.law_of(p), mean)
    share = (arms[:, 1:] / arms.sum(1, keepdim=True)).float()
    ends = estimand_ends(law[:, None], share, torch.ones_like(share))
    late = movers_effect(p, effect, strata)
    found = CountBatch((p * effect).sum(-1).float(), draws.float(), ends, late, counts, spread, form)
    return with_amounts(found, spread.amin((1, 2)) < 1 - 1e-9) if form.amounts else found


def _moments(
    config: PriorConfig, g: torch.Generator, classes: Classes, arms: Tensor, cells: Tensor
) -> tuple[Classes, Tensor, Tensor]:
    """Draw amounts for everybody: the classes in the range used, sums of 1-Y and Y by [z][t], and the spread of Y."""
    classes, people = draw_crowds(config, g, classes, arms, cells)  # (B, 2, 2, L)
    return classes, *moments(people, classes.values.to(people)[:, None, None])


def moments(people: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """(..., 2) sums of 1-Y and Y, and the spread Var(Y) / (m (1-m)) in [0, 1], of people (..., L) with these values.

    If everybody has 0, or everybody has 1, or there is nobody, the spread is 1, as for an outcome of 0 and 1.
    """
    total = people.sum(-1)
    one = (people * values).sum(-1)
    mean = one / total.clamp_min(1)
    variance = (people * (values - mean[..., None]).square()).sum(-1) / total.clamp_min(1)
    most = mean * (1 - mean)
    spread = torch.where(most > 1e-12, variance / most.clamp_min(1e-12), 1.0).clamp(0, 1)
    return torch.stack([total - one, one], -1), spread


def _strata(
    event: Tensor, arms: Tensor, concentration: float, g: torch.Generator, groups: int, allowed: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Strata (B, S) given that the event happens in arms of these sizes; a rejected proposal becomes ordinary."""
    table = breaks(groups).to(arms.device)
    restricted = table.any(-1)[event].double()  # (B, 2) arms in which the event forbids something
    sides = restricted.sum(-1)
    smallest = torch.where(restricted > 0, arms, torch.inf).amin(-1)
    smallest = torch.where(sides > 0, smallest, 0.0)
    # One side: P(event) = (1-q)^n exactly. Both: (1-q0)^n0 (1-q1)^n1 <= (1 - q/2)^(2 min n), as q <= q0 + q1.
    eps = torch.where(sides > 1, 0.5, 1.0).double()
    exponent = smallest * sides
    p = propose_target(event, exponent, eps, concentration, g, groups, allowed)
    broken = torch.einsum("bs,bzs->bz", p, table.to(p)[event])
    total = torch.einsum("bs,bs->b", p, table.to(p)[event].amax(1))
    log_ratio = (arms * torch.log1p(-broken.clamp(max=1 - 1e-15))).sum(-1) - exponent * torch.log1p(-eps * total)
    log_ratio = torch.where(sides == 1, 0.0, log_ratio)
    rejected = ~coin((len(p),), g, log_ratio.exp().float()) & (event > 0)
    event = torch.where(rejected, 0, event)
    plain = propose_target(torch.zeros_like(event), exponent, eps, concentration, g, groups, allowed)
    return event, torch.where(rejected[:, None], plain, p)
