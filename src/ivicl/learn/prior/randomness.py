"""Random draws that the prior needs, each from an explicit generator."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor


def generator_for(seed: int, step: int, micro_batch: int = 0) -> torch.Generator:
    """The generator of one micro-batch of one step: a resumed or redistributed run draws the same tables."""
    state = np.random.SeedSequence([seed, step, micro_batch]).generate_state(2, np.uint32)
    return torch.Generator().manual_seed(int(state[0]) << 31 | int(state[1]) >> 1)


def uniform(shape: tuple[int, ...], g: torch.Generator, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Uniform draws on [low, high)."""
    return torch.rand(shape, generator=g, device=g.device) * (high - low) + low


def normal(shape: tuple[int, ...], g: torch.Generator) -> Tensor:
    """Standard normal draws."""
    return torch.randn(shape, generator=g, device=g.device)


def log_uniform(shape: tuple[int, ...], g: torch.Generator, low: float, high: float) -> Tensor:
    """Draws whose logarithm is uniform."""
    return torch.exp(uniform(shape, g, math.log(low), math.log(high)))


def coin(shape: tuple[int, ...], g: torch.Generator, probability: float | Tensor) -> Tensor:
    """Booleans, true with the given probability."""
    return torch.rand(shape, generator=g, device=g.device) < probability


def integers(shape: tuple[int, ...], g: torch.Generator, low: int, high: int) -> Tensor:
    """Whole numbers from low to high, both included."""
    return torch.randint(low, high + 1, shape, generator=g, device=g.device)


def choice(n: int, g: torch.Generator, shares: tuple[tuple[str, float], ...]) -> list[tuple[str, Tensor]]:
    """Assign n tables to named families: pairs (family, indices), without families that got no table."""
    weights = torch.tensor([share for _, share in shares], device=g.device)
    which = torch.multinomial(weights, n, replacement=True, generator=g)
    groups = [(name, torch.nonzero(which == k).flatten()) for k, (name, _) in enumerate(shares)]
    return [(name, index) for name, index in groups if len(index)]


def gamma(concentration: Tensor, g: torch.Generator) -> Tensor:
    """Gamma draws in float64, so that a concentration of 0.1 does not underflow."""
    return torch._standard_gamma(concentration.double(), generator=g)


def dirichlet(shape: tuple[int, ...], g: torch.Generator, concentration: float) -> Tensor:
    """Symmetric Dirichlet draws over the last axis, float64."""
    draws = gamma(torch.full(shape, concentration, dtype=torch.float64, device=g.device), g)
    return draws / draws.sum(-1, keepdim=True).clamp_min(1e-300)


def beta(a: Tensor, b: Tensor, g: torch.Generator) -> Tensor:
    """Beta draws, float64."""
    first, second = gamma(a, g), gamma(b, g)
    return first / (first + second).clamp_min(1e-300)


def symmetric_beta(shape: tuple[int, ...], g: torch.Generator, concentration: float) -> Tensor:
    """Beta(c, c) draws for c below 1 by Joehnk's method: two uniforms per draw, nearly all accepted if c is small."""
    u = torch.rand(2, *shape, generator=g, device=g.device).pow_(1 / concentration)
    total = u.sum(0)
    split = (u[0] / total).flatten()
    refused = torch.nonzero(((total > 1) | (total <= 0)).flatten()).flatten()
    if len(refused):
        split[refused] = symmetric_beta((len(refused),), g, concentration)
    return split.view(shape)


def multinomial_counts(total: Tensor, probability: Tensor, g: torch.Generator) -> Tensor:
    """Multinomial counts over the last axis by binomial splits, one cell at a time; exact for totals of any size."""
    left = total.double()
    mass = probability.double()
    remaining = mass.flip(-1).cumsum(-1).flip(-1)
    counts = []
    for k in range(mass.shape[-1] - 1):
        share = (mass[..., k] / remaining[..., k].clamp_min(1e-300)).clamp(0, 1)
        drawn = torch.binomial(left, share, generator=g)
        counts.append(drawn)
        left = left - drawn
    return torch.stack([*counts, left], -1)
