"""Multinomial logistic regression in a fixed number of matmuls, with approximate leave-one-out predictions.

Ridge fits of indicators blur a law that is nearly deterministic given x; a logistic fit does not. The steps are
accelerated and use Boehning's bound, half the Gram matrix, so that one inverse serves them all and none can overshoot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ivicl.learn.network.linalg import inverse
from ivicl.methods.pretrained.streaming.constants import LOGISTIC_STEPS

if TYPE_CHECKING:
    from ivicl.learn.network.arms import Arm


def logistic_fit(arm: Arm, penalty: Tensor, floor: Tensor, preconditioner: Tensor) -> Tensor:
    """Probabilities (B,N,L) of the arm's L classes at all rows of the table, leave-one-out at the arm's own rows.

    `preconditioner` (B,F,F) is the inverse of half the Gram matrix plus the penalty.
    """
    base = arm.mean.log()
    slope = older_slope = torch.zeros_like(arm.moment)
    shift = older_shift = torch.zeros_like(arm.mean)
    for step in range(LOGISTIC_STEPS):
        momentum = step / (step + 3)
        ahead = slope + momentum * (slope - older_slope)
        ahead_shift = shift + momentum * (shift - older_shift)
        older_slope, older_shift = slope, shift
        residual = arm.outcome - (base + ahead_shift + arm.centred @ ahead).softmax(-1)
        slope = ahead + preconditioner @ (arm.weighted @ residual - penalty * ahead)
        shift = ahead_shift + 2 * (residual * arm.weight).sum(1, keepdim=True) / (arm.size + 2)
    score = base + shift + arm.centred @ slope
    return _without_self(arm, score, penalty, floor).softmax(-1)


def _without_self(arm: Arm, score: Tensor, penalty: Tensor, floor: Tensor) -> Tensor:
    """One Newton step away from the row's own outcome, with the mean curvature of its classes."""
    fitted = score.softmax(-1)
    curvature = (1 - fitted.square().sum(-1, keepdim=True)) / (fitted.shape[-1] - 1)
    weight = arm.weight * curvature
    solver = inverse((arm.centred * weight).transpose(1, 2) @ arm.centred, penalty + floor)
    leverage = ((arm.centred @ solver) * arm.centred).sum(-1, keepdim=True) + 1 / (weight.sum(1, keepdim=True) + 0.5)
    own = (arm.weight > 0).to(score.dtype)
    return score - own * leverage * (arm.outcome - fitted) / (1 - (leverage * curvature).clamp(max=0.9))
