"""Step 2 of the prior: the instrument, independent of the strata given the covariates."""

from __future__ import annotations

import torch
from torch import Tensor

from ivicl.learn.prior.config import PriorConfig
from ivicl.learn.prior.functions import random_functions, standardise
from ivicl.learn.prior.randomness import coin, log_uniform, normal, uniform


def arm_probability(config: PriorConfig, g: torch.Generator, batch: int) -> Tensor:
    """(B,) P(Z=1) of a randomised instrument: even arms, or one arm down to `smallest_arm`, on either side."""
    small = log_uniform((batch,), g, config.smallest_arm, 0.5)
    uneven = torch.where(coin((batch,), g, 0.5), small, 1 - small)
    return torch.where(coin((batch,), g, config.even_arms_share), 0.5, uneven)


def propensity(
    config: PriorConfig, g: torch.Generator, x: Tensor, weight: Tensor, randomised: float | Tensor
) -> Tensor:
    """(B, N) P(Z=1 | x) for covariates x (B, N, D); `randomised` is the share (or each table's probability)."""
    batch, rows, columns = x.shape
    chance = arm_probability(config, g, batch)[:, None].expand(batch, rows).clone()
    confounded = torch.nonzero(~coin((batch,), g, randomised)).flatten()
    if columns and len(confounded):
        chance[confounded] = _confounded(config, g, x[confounded], weight[confounded])
    return chance.clamp_(config.positivity, 1 - config.positivity)


def _confounded(config: PriorConfig, g: torch.Generator, x: Tensor, weight: Tensor) -> Tensor:
    """(b, N) a function of a random subset of the covariates, through a logistic link."""
    batch, _, columns = x.shape
    relevant = coin((batch, 1, columns), g, uniform((batch, 1, 1), g, 0.2, 1.5))
    logit = standardise(random_functions(x * relevant, 1, config.instrument_families, g), weight)[..., 0]
    z_scored = coin((batch, 1), g, config.standardised_instrument_share)
    spread = torch.where(z_scored, 1.0, log_uniform((batch, 1), g, 0.3, 3.0))
    centre = torch.where(z_scored, 0.0, normal((batch, 1), g))
    return torch.sigmoid(logit * spread + centre)
