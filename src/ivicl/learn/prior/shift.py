"""Step 3 of the prior: from raw logit columns to strata probabilities whose mean is near a Dirichlet target.

One constant is added to each logit column. The paper adds log(target) - log(mean) once. Repeated, the same step is
Sinkhorn's algorithm and converges; how fast depends on the scale of the logits. Between two evaluations of the softmax,
several over-relaxed steps are taken on the probabilities themselves (two thin products each). Tables that have reached
their target drop out.
"""

from __future__ import annotations

import torch
from torch import Tensor

RELAXATION = 1.5
LONGEST_RUN = 16


def strata_probabilities(logits: Tensor, weight: Tensor, target: Tensor, tolerance: float, steps: int) -> Tensor:
    """Shifted softmax of logits (B, N, S); the weighted mean (weight (B, N), sums to 1) approaches target (B, S)."""
    if steps == 0:
        return torch.softmax(logits, -1)
    aim = target.log().to(logits.dtype)
    constant = aim - _log_mean(torch.softmax(logits, -1), weight)
    p = torch.softmax(logits + constant[:, None], -1)
    taken, run = 1, 2
    active = torch.arange(len(logits), device=logits.device)
    p_active = p
    while taken < steps:
        log_mean = _log_mean(p_active, weight)
        far = (log_mean.exp() - aim.exp()).abs().sum(-1) / 2 > tolerance
        if not bool(far.any()):
            break
        if not bool(far.all()):
            active, logits, p_active = active[far], logits[far], p_active[far]
            constant, aim, weight = constant[far], aim[far], weight[far]
        constant = constant + _steps(p_active, weight, aim, run)
        constant = constant - constant.amax(-1, keepdim=True)
        taken, run = taken + run, min(2 * run, LONGEST_RUN)
        p_active = torch.softmax(logits + constant[:, None], -1)
        p[active] = p_active
    return p


def _steps(p: Tensor, weight: Tensor, aim: Tensor, number: int) -> Tensor:
    """The change of the constants after `number` steps that start at probabilities p."""
    log_v = torch.zeros_like(aim)
    weight, mean = weight[:, None], torch.bmm(weight[:, None], p)[:, 0]
    for k in range(number):
        step = aim - mean.clamp_min(1e-30).log()
        log_v = (log_v + (RELAXATION if k % 2 else 1.0) * step).clamp(-30, 30)
        v = log_v.exp()
        row = weight / torch.bmm(p, v[..., None]).mT.clamp_min(1e-30)
        mean = torch.bmm(row, p)[:, 0] * v
    return log_v


def _log_mean(p: Tensor, weight: Tensor) -> Tensor:
    return torch.bmm(weight[:, None], p)[:, 0].clamp_min(1e-30).log()
