"""Regression as a layer: p(t, y | z, x) at every row by weighted ridge regression, in closed form.

What covariates add is the law of (t, y) given z at each x. A network can learn to regress in context, at great cost; here
it gets the regression for free and only learns the features, the penalties, and what to make of the fits.

Stage one is linear in x. Its fitted directions are where the law varies in *this* table; stage two regresses on ReLU
features of them and of x. A row's own arm is predicted leave-one-out, so that a fit cannot flatter itself. Weights are
frequencies: k copies of a row and one row of weight k give the same fits.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ivicl.network.linalg import inverse
from ivicl.network.summary import PSEUDO_COUNT

RELATIVE_FLOOR = 1e-4
"""Least penalty, as a share of the mean eigenvalue: bounds the condition number at any N."""


def arm_ridge(
    features: Tensor, outcome: Tensor, arm: Tensor, penalty: Tensor, precise: bool
) -> tuple[Tensor, Tensor]:
    """Ridge of the four cell indicators on features within each arm, evaluated at all rows for both arms.

    `precise` works in float64: a solve multiplies rounding errors by the condition number, and the order of the rows
    must not show in the answer. Training does without.

    features (B,N,F); outcome (B,N,4) one-hot of 2t + y; arm (B,N,2) weight of the row in arm z; penalty (R,).
    Returns fits (B,N,2,R,4), leave-one-out in the row's own arm, and leverages (B,N,2,R).
    """
    if precise:
        features, outcome, arm, penalty = features.double(), outcome.double(), arm.double(), penalty.double()
    size = arm.sum(1).clamp(min=1e-6)
    mean_outcome = (arm.transpose(1, 2) @ outcome + PSEUDO_COUNT) / (size + 4 * PSEUDO_COUNT).unsqueeze(-1)
    fits, leverages = [], []
    for z in (0, 1):
        weight = arm[:, :, z : z + 1]
        mean = (weight * features).sum(1, keepdim=True) / size[:, z].view(-1, 1, 1)
        centred = features - mean
        weighted = (centred * weight).transpose(1, 2)
        gram = weighted @ centred
        moment = weighted @ (outcome - mean_outcome[:, z].unsqueeze(1))
        mean_eigenvalue = (weighted.transpose(1, 2) * centred).sum((1, 2)) / centred.shape[-1]
        for r in range(penalty.shape[0]):
            ridge = penalty[r] + RELATIVE_FLOOR * mean_eigenvalue
            solver = inverse(gram, ridge)
            fit = mean_outcome[:, z].unsqueeze(1) + centred @ (solver @ moment)
            leverage = ((centred @ solver) * centred).sum(-1) + 1 / (size[:, z].unsqueeze(1) + 4 * PSEUDO_COUNT)
            own = (weight > 0).to(fit.dtype)
            # The influence of one person, not of the row's weight: that keeps k copies and weight k equal.
            share = leverage.clamp(max=0.95).unsqueeze(-1) * own
            fits.append((fit - share * outcome) / (1 - share))
            leverages.append(leverage)
    shape = (*features.shape[:2], 2, penalty.shape[0])
    return torch.stack(fits, 2).view(*shape, 4).float(), torch.stack(leverages, 2).view(shape).float()


class RegressionLayer(nn.Module):
    """Rows in, fitted laws at each row out: (B,N,outputs) plus the fits of the lowest penalty as a law."""

    def __init__(self, columns: int, features: int, penalties: int, learned: bool) -> None:
        super().__init__()
        directions = 8
        self.outputs = 2 * 4 + 2 * penalties * 4 + 2 * penalties
        # Strong covariates come first; later ones are more often noise, so their weights start smaller.
        decay = (1 + torch.arange(columns)).float().rsqrt()
        weight = torch.cat([torch.randn(columns, features) * decay.unsqueeze(1), torch.randn(directions, features)])
        self.weight = nn.Parameter(weight, requires_grad=learned)
        self.bias = nn.Parameter(torch.randn(features), requires_grad=learned)
        self.log_penalty = nn.Parameter(torch.linspace(1.0, 4.0, penalties))
        self.log_linear_penalty = nn.Parameter(torch.tensor([1.0]))

    def forward(self, x: Tensor, outcome: Tensor, arm: Tensor) -> tuple[Tensor, Tensor]:
        linear, _ = arm_ridge(x, outcome, arm, self.log_linear_penalty.exp(), not self.training)
        directions = linear.flatten(2)
        weight = arm.sum(-1, keepdim=True)
        total = weight.sum(1, keepdim=True).clamp(min=1e-6)
        centred = directions - (weight * directions).sum(1, keepdim=True) / total
        spread = ((weight * centred.square()).sum(1, keepdim=True) / total + 1e-6).sqrt()
        inputs = torch.cat([x, centred / spread], 2)
        hinges = nn.functional.relu(inputs @ self.weight + self.bias)
        fits, leverage = arm_ridge(hinges, outcome, arm, self.log_penalty.exp(), not self.training)
        flat = torch.cat([directions, fits.flatten(2), leverage.clamp(max=1).flatten(2)], 2)
        return flat, fits
