"""P(Z=1 | x) at every row: how likely the instrument was to be what it is, without the row's own person.

Most instruments depend on few things, or on nothing. So the share of Z=1 comes first, then a stiff linear fit, then
logistic fits of the covariates and of these with squares and products of the strongest; each must earn its weight on
people whom it has not seen. B tables, N rows, P covariates strongest first.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ivicl.learn.network.arms import Arm, to_simplex
from ivicl.learn.network.mixture import mixture
from ivicl.methods.pretrained.streaming.constants import (
    LOGISTIC,
    PROPENSITY,
    PROPENSITY_COSTS,
    PROPENSITY_LEAST,
    STRONGEST,
    WITHIN,
)


def propensity(x: Tensor, arm: Tensor) -> Tensor:
    """(B,N), from x (B,N,P) and weights (B,N,2) by arm."""
    w = arm.sum(-1)
    one = arm[:, :, 1:] / w.unsqueeze(-1).clamp(min=1e-30)
    outcome = torch.cat([1 - one, one], 2)
    plain, squared = (Arm(features, outcome, w, 0.5) for features in (x, torch.cat([x, products(x)], 2)))
    penalty = x.new_tensor(LOGISTIC).exp()
    twice = 2 * penalty.view(1)
    stiff, sharp = plain.solvers(torch.cat([x.new_tensor([PROPENSITY]).exp(), twice]))
    fits = [plain.means(), plain.fit(stiff)[0], plain.logistic(penalty, sharp)]
    fits.append(squared.logistic(penalty, squared.solvers(twice)[0]))
    stack = to_simplex(torch.stack(fits, 2)).unsqueeze(2)  # (B,N,1,4,2)
    shares = mixture(stack, outcome, w.unsqueeze(-1), PROPENSITY_COSTS)
    chance = (stack * shares.unsqueeze(1).unsqueeze(-1)).sum(3)[:, :, 0, 1]
    return chance.clamp(PROPENSITY_LEAST, 1 - PROPENSITY_LEAST)


def products(x: Tensor) -> Tensor:
    """(B,N,36) of the strongest covariates, each with itself and with those after it; one far out counts as WITHIN."""
    strong = x[:, :, :STRONGEST].clamp(-WITHIN, WITHIN)
    return torch.cat([strong[:, :, k : k + 1] * strong[:, :, k:] for k in range(strong.shape[2])], 2)
