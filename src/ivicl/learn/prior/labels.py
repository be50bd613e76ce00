"""What is true about a table, from the law of its strata: the effect, posterior draws of it, the ends of each estimand.

B tables, N rows, S strata, G outcome classes, R draws.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ivicl.learn.prior.batches import ESTIMANDS
from ivicl.learn.prior.classes import Classes
from ivicl.learn.prior.config import PriorConfig
from ivicl.learn.prior.randomness import coin, gamma, multinomial_counts, symmetric_beta
from ivicl.learn.prior.strata import Strata
from ivicl.learn.theory import mean_ends


def estimand_ends(law: Tensor, propensity: Tensor, weight: Tensor) -> Tensor:
    """(B, 10) ends of ESTIMANDS from soft laws (B, N, 2, 2, 2), P(Z=1|x) (B, N) and shares (B, N) of the people.

    E Y and P(T) are those expected for people like these under the same instrument: they use P(Z|x), not the drawn Z.
    """
    law, weight = law.double(), weight.double()
    least_1, most_1, least_0, most_0 = torch.einsum("bn,bne->eb", weight, mean_ends(law))
    arms = torch.stack([1 - propensity, propensity], -1).double()
    seen = torch.einsum("bn,bnz,bnzty->bty", weight, arms, law)
    mean, treated = seen[..., 1].sum(-1), seen[:, 1].sum(-1)
    by_name = {
        "ATE": (least_1 - most_0, most_1 - least_0),
        "EY1": (least_1, most_1),
        "EY0": (least_0, most_0),
        "ATT": ((mean - most_0) / treated.clamp_min(1e-9), (mean - least_0) / treated.clamp_min(1e-9)),
        "ATU": ((least_1 - mean) / (1 - treated).clamp_min(1e-9), (most_1 - mean) / (1 - treated).clamp_min(1e-9)),
    }
    return torch.stack([end for name in ESTIMANDS for end in by_name[name]], 1).clamp(-1, 1).float()


def movers_effect(mass: Tensor, effect: Tensor, strata: Strata) -> Tensor:
    """(B,) the mean effect of those whose treatment follows the instrument, either way; mass, effect (B, S)."""
    takes = strata.takes.to(mass.device)
    moved = mass.double() * (takes[:, 0] != takes[:, 1])
    return ((moved * effect).sum(-1) / moved.sum(-1).clamp_min(1e-300)).float()


def orbit_draws(mass: Tensor, effect: Tensor, orbits: Tensor) -> Tensor:
    """(B, R) effects after permuting strata that cannot be told apart: mass, effect (B, S), orbits (R, S)."""
    return torch.einsum("brs,bs->br", mass[:, orbits], effect.to(mass))


def split_draws(
    p: Tensor, effect: Tensor, strata: Strata, concentration: float, n_draws: int, g: torch.Generator
) -> Tensor:
    """(B, R) effects after new Dirichlet splits between strata that cannot be told apart; p (B, S), effect (B, S).

    The splits do not depend on the data, so these are exact posterior draws: a continuous version of the orbits.
    """
    unseen = strata.unseen.to(p.device)
    held, value = p[:, unseen], effect.to(p)[:, unseen]  # (B, 2G, G)
    fixed = (p * effect).sum(-1) - (held * value).sum((1, 2))
    shape = (len(p), n_draws, len(unseen))
    if strata.groups == 2:
        first = symmetric_beta(shape, g, concentration).to(p)
        split = torch.stack([first, 1 - first], -1)
    else:
        raw = gamma(torch.full((*shape, strata.groups), concentration, dtype=torch.float64, device=g.device), g)
        split = raw / raw.sum(-1, keepdim=True).clamp_min(1e-300)
    return fixed[:, None] + torch.einsum("brkj,bkj,bk->br", split, value, held.sum(-1))


def clip_to_sample(classes: Classes, chosen: Tensor, low: Tensor, high: Tensor) -> tuple[Classes, Tensor, Tensor]:
    """For the chosen tables (B,), scale the observed range to [0, 1]; also returns the low end and the length used."""
    use = chosen & (high > low)
    low, high = torch.where(use, low, 0.0), torch.where(use, high, 1.0)
    return classes.clipped(low, high), low, high - low


def draw_crowds(
    config: PriorConfig, g: torch.Generator, classes: Classes, people: Tensor, cells: Tensor
) -> tuple[Classes, Tensor]:
    """Draw the amounts of many people at once, and use the sample's range in some tables.

    Of people (B, n) that fall into cells (B, n, ..., G), how many have each amount (B, n, ..., L).
    """
    law = torch.einsum("b...g,bgl->b...l", cells, classes.law.to(cells))
    drawn = torch.unflatten(multinomial_counts(people, law.flatten(2), g), -1, law.shape[2:])
    seen = drawn.flatten(1, -2).sum(1) > 0
    low = torch.where(seen, classes.values, torch.inf).amin(-1)
    high = torch.where(seen, classes.values, -torch.inf).amax(-1)
    classes, _, _ = clip_to_sample(classes, coin((len(people),), g, config.sample_range_share), low, high)
    return classes, drawn
