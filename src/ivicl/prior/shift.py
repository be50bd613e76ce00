"""Step 3 of the prior: from raw logit columns to strata probabilities whose mean is near a Dirichlet target.

One constant is added to each logit column. The paper adds log(target) - log(mean) once. Repeated, the same step is Sinkhorn's
algorithm and converges; how fast depends on the scale of the logits. Steps between two evaluations of the softmax are taken
on the probabilities themselves (two thin products each), over-relaxed, and tables that have arrived drop out.
"""

from __future__ import annotations

import torch
from torch import Tensor

INNER_STEPS = 8
RELAXATION = 1.5


def strata_probabilities(logits: Tensor, weight: Tensor, target: Tensor, tolerance: float, steps: int) -> Tensor:
    """Shifted softmax of logits (B, N, 16); the weighted mean (weight (B, N), sums to 1) approaches target (B, 16)."""
    aim = target.log().to(logits.dtype)
    p = torch.softmax(logits, -1)
    if steps == 1:
        return torch.softmax(logits + (aim - _log_mean(p, weight))[:, None], -1)
    c = aim - _log_mean(p, weight)
    p = torch.softmax(logits + c[:, None], -1)
    done = 1
    active = torch.arange(len(logits), device=logits.device)
    p_active, c_active, aim_active, w_active = p, c, aim, weight
    while True:
        log_mean = _log_mean(p_active, w_active)
        far = _distance(log_mean, aim_active) > tolerance
        if done >= steps or not bool(far.any()):
            break
        if not bool(far.all()):
            active, p_active, c_active = active[far], p_active[far], c_active[far]
            aim_active, w_active = aim_active[far], w_active[far]
        c_active = c_active + _inner_steps(p_active, w_active, aim_active)
        done += INNER_STEPS
        p_active = torch.softmax(logits[active] + c_active[:, None], -1)
        p[active] = p_active
    return p


def _inner_steps(p: Tensor, weight: Tensor, aim: Tensor) -> Tensor:
    """The change of the constants after a few steps that start at probabilities p."""
    log_v = torch.zeros_like(aim)
    weight = weight[:, None]
    for k in range(INNER_STEPS):
        v = log_v.exp()
        row = weight / torch.bmm(p, v[..., None])[..., 0][:, None].clamp_min(1e-30)
        mean = torch.bmm(row, p)[:, 0] * v
        step = aim - mean.clamp_min(1e-30).log()
        log_v = (log_v + (RELAXATION if k % 2 else 1.0) * step).clamp(-30, 30)
        log_v = log_v - log_v.amax(-1, keepdim=True).clamp_min(0)
    return log_v


def _log_mean(p: Tensor, weight: Tensor) -> Tensor:
    return torch.bmm(weight[:, None], p)[:, 0].clamp_min(1e-30).log()


def _distance(log_mean: Tensor, aim: Tensor) -> Tensor:
    """Total variation between the mean and its target."""
    return (log_mean.exp() - aim.exp()).abs().sum(-1) / 2
