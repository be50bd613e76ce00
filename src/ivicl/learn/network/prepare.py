"""What happens to raw data before anything is learnt: all of it inside the graph, all of it weighted.

Each step removes one arbitrary choice of the caller (units, coding, order), so that the network cannot depend on it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ivicl.learn.network.precision import wide
from ivicl.methods.pretrained.streaming.constants import CODINGS, DIRECTION, NO_ASSOCIATION


def standardise(x: Tensor, w: Tensor) -> Tensor:
    """(B,N,D) -> mean 0 and population variance 1 in each column; padding and constant columns 0. float32 out.

    Columns are first mapped to [0, 1] by their range: exact for constants, safe for 1e6 + 0.3 or a scale of 1e-9.
    """
    x, weight = wide(x), wide(w).unsqueeze(-1)
    real = weight > 0
    low = torch.where(real, x, torch.inf).amin(1, keepdim=True)
    high = torch.where(real, x, -torch.inf).amax(1, keepdim=True)
    # Halved, so that the range of a column from -1e308 to 1e308 does not overflow.
    span = 0.5 * high - 0.5 * low
    magnitude = torch.maximum(low.abs(), high.abs())
    # A constant may arrive with rounding noise (0.1 * 3); below this nothing can be told from it.
    varies = span > 1e-13 * magnitude
    unit = torch.where(real & varies, (0.5 * x - 0.5 * low) / torch.where(varies, span, 1.0), 0.0)
    total = weight.sum(1, keepdim=True).clamp(min=1e-300)
    mean = (unit * weight).sum(1, keepdim=True) / total
    centred = torch.where(real & varies, unit - mean, 0.0)
    variance = (centred.square() * weight).sum(1, keepdim=True) / total
    return (centred / torch.where(variance > 0, variance, 1.0).sqrt()).float()


def coding_weights(z: Tensor, t: Tensor, y: Tensor, w: Tensor, ramp: float) -> Tensor:
    """(B,8): how much each coding of CODINGS counts. One coding has all the weight, except near a tie.

    Canonical means: at most half treated, at most half with y = 1, and z raises t. At a tie no coding is canonical;
    within `ramp` of it the codings share the weight: the answer is exact at the tie and does not jump beside it.
    """
    z, t, y, w = wide(z), wide(t), wide(y), wide(w)
    total = w.sum(1).clamp(min=1e-300)
    flip_t = _ramp((w * t).sum(1) / total - 0.5, ramp)
    flip_y = _ramp((w * y).sum(1) / total - 0.5, ramp)
    one, zero = (w * z).sum(1), (w * (1 - z)).sum(1)
    rate_one = (w * z * t).sum(1) / one.clamp(min=1e-300)
    rate_zero = (w * (1 - z) * t).sum(1) / zero.clamp(min=1e-300)
    first_stage = torch.where((one > 0) & (zero > 0), rate_one - rate_zero, 0.0)
    flip_z = _ramp(-first_stage, ramp)  # under the caller's t; a flip of t reverses it
    weights = []
    for ft, fy, fz in CODINGS:
        weight_t = flip_t if ft else 1 - flip_t
        weight_y = flip_y if fy else 1 - flip_y
        weight_z = flip_z if fz != ft else 1 - flip_z
        weights.append(weight_t * weight_y * weight_z)
    return torch.stack(weights, 1).float()


def _ramp(excess: Tensor, ramp: float) -> Tensor:
    """Probability of a flip: 0 below -ramp, 1 above ramp, linear between."""
    return (0.5 + excess / (2 * ramp)).clamp(0, 1)


def order_covariates(x: Tensor, cell: Tensor, w: Tensor, keep: int) -> tuple[Tensor, Tensor]:
    """(B,N,D) -> (B,N,keep): strongest association with the cells first, direction fixed, zero-padded; and (B,keep).

    Sorting by a property of the data makes the answer independent of the columns' order and signs; weak columns beyond
    `keep` are dropped.
    """
    # A column of zeros, so that no covariates at all is an ordinary input to every runtime.
    x = torch.cat([x, x.new_zeros(x.shape[0], x.shape[1], 1)], 2)
    weighted = wide(cell) * wide(w).unsqueeze(-1)
    size = weighted.sum(1)
    association = wide(x).transpose(1, 2) @ weighted / (size.sqrt() + 1e-9).unsqueeze(1)
    association = association / wide(w).sum(1).clamp(min=1e-300).sqrt().view(-1, 1, 1)
    direction = association @ association.new_tensor(DIRECTION)
    score = association.square().sum(-1)
    # A column without any association (all people in one cell) has no direction and tells nothing: as a constant.
    sign = torch.where(direction < 0, -1.0, 1.0) * (score > NO_ASSOCIATION)
    # Each column's sign, then its place; ties are equal columns, for which neither matters.
    x = x * sign.float().unsqueeze(1)
    pad = x.new_zeros(x.shape[0], x.shape[1], keep)
    score = torch.cat([score, score.new_zeros(x.shape[0], keep) - 1], 1)
    best = torch.topk(score, keep, dim=1)
    chosen = torch.cat([x, pad], 2).gather(2, best.indices.unsqueeze(1).expand(-1, x.shape[1], -1))
    return chosen, best.values.clamp(min=0)
