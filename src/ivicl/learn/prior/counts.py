"""Tables without covariates: one Dirichlet draw of the strata, eight multinomial counts, any population.

Given the counts, the split of each unseen pair is still Beta(gamma, gamma), whatever the rest is. So fresh splits give
as many exact posterior draws of the effect as one likes: a continuous version of the sixteen swaps.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ivicl.identification.strata import PAIRS
from ivicl.learn.prior.batches import CountBatch
from ivicl.learn.prior.config import PriorConfig
from ivicl.learn.prior.designs import BREAKS, draw_events, propose_target
from ivicl.learn.prior.instrument import arm_probability
from ivicl.learn.prior.randomness import coin, log_uniform, multinomial_counts, symmetric_beta
from ivicl.learn.theory import EFFECT, law_of, sharp_ends


def sample_counts(config: PriorConfig, generator: torch.Generator, batch: int, n_draws: int = 32) -> CountBatch:
    """Count tables with exact posterior draws of the effect."""
    g = generator
    people = log_uniform((batch,), g, *config.population).double().round()
    assigned = torch.binomial(people, arm_probability(config, g, batch).double(), generator=g)
    assigned = torch.minimum(assigned.clamp_min(1), people - 1)  # nobody analyses a trial with an empty arm
    arms = torch.stack([people - assigned, assigned], -1)
    return counts_for_arms(config, g, arms, n_draws)


def counts_for_arms(config: PriorConfig, g: torch.Generator, arms: Tensor, n_draws: int) -> CountBatch:
    """The same for given arm sizes (B, 2), float64."""
    event = draw_events(len(arms), config.one_sided_share, config.perfect_share, g)
    event, p = _strata(event, arms, config.gamma, g)
    law = law_of(p)
    allowed = (~BREAKS.to(p.device)[event]).double()  # (B, 2, 16): what each arm can hold, given the event
    cells = torch.stack([law_of(p * allowed[:, z])[:, z].flatten(1) for z in (0, 1)], 1)
    counts = torch.unflatten(multinomial_counts(arms, cells, g), -1, (2, 2))
    draws = posterior_draws(p, config.gamma, n_draws, g)
    lower, upper = sharp_ends(law)
    effect = p @ EFFECT.to(p)
    return CountBatch(counts, effect.float(), draws.float(), lower.float(), upper.float())


def posterior_draws(p: Tensor, concentration: float, n_draws: int, g: torch.Generator) -> Tensor:
    """(B, R) effects after fresh splits of the four unseen pairs; p (B, 16) strata."""
    low = torch.tensor([a for a, _ in PAIRS], device=p.device)
    high = torch.tensor([b for _, b in PAIRS], device=p.device)
    effect = EFFECT.to(p)
    paired = p[:, low] * effect[low] + p[:, high] * effect[high]
    fixed = p @ effect - paired.sum(-1)
    split = symmetric_beta((len(p), n_draws, 4), g, concentration).to(p)
    value = split * effect[low] + (1 - split) * effect[high]
    return fixed[:, None] + torch.einsum("brk,bk->br", value, p[:, low] + p[:, high])


def _strata(event: Tensor, arms: Tensor, concentration: float, g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Strata (B, 16) given that the event happens in arms of these sizes; a rejected proposal turns ordinary."""
    restricted = BREAKS.to(arms.device).any(-1)[event].double()  # (B, 2) arms in which the event forbids something
    sides = restricted.sum(-1)
    smallest = torch.where(restricted > 0, arms, torch.inf).amin(-1)
    smallest = torch.where(sides > 0, smallest, 0.0)
    # One side: P(event) = (1-q)^n exactly. Both: (1-q0)^n0 (1-q1)^n1 <= (1 - q/2)^(2 min n), as q <= q0 + q1.
    eps = torch.where(sides > 1, 0.5, 1.0).double()
    exponent = smallest * sides
    p = propose_target(event, exponent, eps, concentration, g)
    broken = torch.einsum("bs,bzs->bz", p, BREAKS.to(p)[event])
    total = torch.einsum("bs,bs->b", p, BREAKS.to(p)[event].amax(1))
    log_ratio = (arms * torch.log1p(-broken.clamp(max=1 - 1e-15))).sum(-1) - exponent * torch.log1p(-eps * total)
    log_ratio = torch.where(sides == 1, 0.0, log_ratio)
    rejected = ~coin((len(p),), g, log_ratio.exp().float()) & (event > 0)
    event = torch.where(rejected, 0, event)
    plain = propose_target(torch.zeros_like(event), exponent, eps, concentration, g)
    return event, torch.where(rejected[:, None], plain, p)
