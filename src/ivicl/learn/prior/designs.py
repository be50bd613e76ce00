"""Designs that are common in practice but rare under the prior, made frequent by rules that depend on the data alone.

An event forbids a treatment in an arm, for example that anybody is treated when Z = 0. A table chosen because its data
satisfy the event has the same p(parameters | table) as any other. To draw (parameters, table) given the event directly:

1. the mean mass q of the strata that could break it is drawn with density prior(q) * (1 - eps q)^n, where the second
   factor bounds the event's probability from above; the rest of the Dirichlet target does not depend on q;
2. the parameters are kept with probability P(event | parameters, X) / (1 - eps q)^n. People are independent, so the
   numerator is a product over rows;
3. the rows are drawn given the event, which again can be done for each row alone.

`eps` is the smallest probability of the arms concerned. The bound assumes that the mean strata meet their target; the
shift meets it nearly, so step 1 uses SLACK * eps, and a ratio above 1 is cut (docs/prior.md has the share of tables).
The proposal's normaliser depends on eps and n, so the selection also changes the law of X and of the instrument. Both
are ancillary: given the table, they say nothing about the strata.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from ivicl.learn.prior.randomness import beta, coin, dirichlet, gamma, uniform
from ivicl.learn.prior.strata import strata_of

SLACK = 0.8

# (event, z, t): is treatment t forbidden in arm z? 0 is no event, 1-4 the four sides, 5-6 perfect compliance and its
# mirror.
FORBIDDEN = torch.zeros(7, 2, 2, dtype=torch.bool)
for _event, _cells in enumerate([[], [(0, 1)], [(1, 0)], [(0, 0)], [(1, 1)], [(0, 1), (1, 0)], [(0, 0), (1, 1)]]):
    for _z, _t in _cells:
        FORBIDDEN[_event, _z, _t] = True


@cache
def breaks(groups: int) -> Tensor:
    """(event, z, stratum): does the stratum break the event in arm z? For the strata of this many outcome classes."""
    takes = strata_of(groups).takes
    return torch.stack([FORBIDDEN[:, z][:, takes[:, z]] for z in (0, 1)], 1)


def possible(event: Tensor, allowed: Tensor | None, groups: int) -> Tensor:
    """The events (B,), with 0 (no event) in place of those that no allowed stratum (B, S) satisfies."""
    if allowed is None:
        return event
    safe = (~breaks(groups).any(1).to(event.device)[event] & allowed).any(-1)
    return torch.where(safe, event, 0)


def draw_events(batch: int, one_sided: float, perfect: float, g: torch.Generator) -> Tensor:
    """(batch,) event numbers, 0 for an ordinary table."""
    u = uniform((batch,), g)
    side = torch.randint(1, 5, (batch,), generator=g, device=g.device)
    mirror = torch.randint(5, 7, (batch,), generator=g, device=g.device)
    return torch.where(u < one_sided, side, torch.where(u < one_sided + perfect, mirror, 0))


def smallest_arm(event: Tensor, propensity: Tensor) -> Tensor:
    """(B,) smallest probability, over rows, of the arms that the event restricts; propensity (B, N) is P(Z=1|x)."""
    restricts = FORBIDDEN.to(event.device).any(-1)[event]  # (B, 2)
    arms = torch.stack([1 - propensity.amax(-1), propensity.amin(-1)], -1)
    return torch.where(restricts, arms, 1.0).amin(-1)


def propose_target(
    event: Tensor,
    exponent: Tensor,
    eps: Tensor,
    concentration: float,
    g: torch.Generator,
    groups: int = 2,
    allowed: Tensor | None = None,
) -> Tensor:
    """(B, S) Dirichlet targets; given an event, the unsafe mass q has density prior(q) * (1 - eps q)^exponent.

    `allowed` (B, S) keeps some strata empty; the others are still Dirichlet.
    """
    size = strata_of(groups).size
    target = dirichlet((len(event), size), g, concentration)
    if allowed is not None:
        target = _unit(target * allowed)
    chosen = torch.nonzero(event).flatten()
    if len(chosen) == 0:
        return target
    unsafe = breaks(groups).any(1).to(event.device)[event[chosen]]
    free = torch.ones_like(unsafe) if allowed is None else allowed[chosen]
    inside, outside = unsafe & free, ~unsafe & free
    q = torch.empty(len(chosen), 1, dtype=torch.float64, device=g.device)
    a, b = (concentration * side.sum(-1).double() for side in (inside, outside))
    for exact in (True, False):
        part = torch.nonzero((eps[chosen] == 1) == exact).flatten()
        if len(part):
            at = chosen[part]
            # If no allowed stratum is unsafe (no defiers, and everybody does as they are told), q is still about 0.
            q[part, 0] = tilted_beta(a[part].clamp_min(1e-9), b[part], eps[at], exponent[at], g)
    raw = gamma(torch.full((len(chosen), size), concentration, dtype=torch.float64, device=g.device), g)
    target[chosen] = q * _unit(raw * inside) + (1 - q) * _unit(raw * outside)
    return _unit(target) if allowed is not None else target


def tilted_beta(a: Tensor, b: Tensor, eps: Tensor, n: Tensor, g: torch.Generator, points: int = 512) -> Tensor:
    """Draws with density proportional to q^(a-1) (1-q)^(b-1) (1 - eps q)^n.

    A Beta if eps = 1; else the CDF is inverted on a grid of logit(q).
    """
    if bool((eps == 1).all()):
        return beta(a, b + n, g)
    strength = eps.double() * n.double()
    left = -torch.log1p(strength) - 30
    right = torch.where(strength > 50, -torch.log1p(strength) + 7, 40.0)  # e^-e^7 of the mass lies beyond
    step = (right - left) / (points - 1)
    grid = left[:, None] + step[:, None] * torch.arange(points, device=a.device)
    log_density = (
        a[:, None] * torch.nn.functional.logsigmoid(grid)
        + b[:, None] * torch.nn.functional.logsigmoid(-grid)
        + n.double()[:, None] * torch.log1p(-eps.double()[:, None] * torch.sigmoid(grid))
    )
    density = torch.exp(log_density - log_density.amax(-1, keepdim=True))
    cdf = torch.zeros_like(density)
    cdf[:, 1:] = ((density[:, 1:] + density[:, :-1]) / 2).cumsum(-1)
    u = torch.rand(len(a), 1, generator=g, device=g.device, dtype=torch.float64) * cdf[:, -1:]
    right_point = torch.searchsorted(cdf, u).clamp(1, points - 1)
    low, high = cdf.gather(1, right_point - 1), cdf.gather(1, right_point)
    part = (u - low) / (high - low).clamp_min(1e-300)
    return torch.sigmoid(left + step * (right_point - 1 + part)[:, 0])


def unsafe_mass(event: Tensor, p: Tensor, groups: int = 2) -> Tensor:
    """(B, N, 2) mass, in each row and arm, of the strata that break the event; p (B, N, S)."""
    return torch.einsum("bns,bzs->bnz", p, breaks(groups).to(p)[event])


def log_probability(event: Tensor, p: Tensor, propensity: Tensor, count: Tensor, groups: int = 2) -> Tensor:
    """(B,) log P(event | parameters, X), float64; count (B, N) people in each row."""
    broken = unsafe_mass(event, p, groups).double()
    chance = (1 - propensity).double() * broken[..., 0] + propensity.double() * broken[..., 1]
    return (count * torch.log1p(-chance.clamp(0, 1 - 1e-15))).sum(-1)


def log_ratio(event: Tensor, p: Tensor, propensity: Tensor, count: Tensor, target: Tensor, groups: int = 2) -> Tensor:
    """(B,) log of the probability with which a proposal is kept; at most 0 if the shift has met its target."""
    eps = SLACK * smallest_arm(event, propensity).double()
    mass = (target * breaks(groups).any(1).to(target)[event]).sum(-1)
    return log_probability(event, p, propensity, count, groups) - count.sum(-1) * torch.log1p(-eps * mass)


def accept(
    event: Tensor, p: Tensor, propensity: Tensor, count: Tensor, target: Tensor, g: torch.Generator, groups: int = 2
) -> Tensor:
    """(B,) which tables to keep: all ordinary ones, and each proposal with its probability."""
    chosen = torch.nonzero(event).flatten()
    kept = torch.ones(len(event), dtype=torch.bool, device=event.device)
    ratio = log_ratio(event[chosen], p[chosen], propensity[chosen], count[chosen], target[chosen], groups)
    kept[chosen] = coin((len(chosen),), g, ratio.exp().float())
    return kept


def _unit(x: Tensor) -> Tensor:
    return x / x.sum(-1, keepdim=True).clamp_min(1e-300)
