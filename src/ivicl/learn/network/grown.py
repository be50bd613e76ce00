"""A tree that asks the best questions instead of random ones: for laws that jump, however many rows there are.

Each level asks one question of all rows, is a covariate above a cut?: the one that makes the cells' shares differ most
between the leaves, first among coarse cuts of all strong covariates, then among fine ones around the best. Nothing is
learnt, and every step over rows is a sum. B tables, N rows, P covariates, C cuts, L leaves.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ivicl.learn.network.leaves import leaf_laws
from ivicl.methods.pretrained.streaming.constants import COARSE, FINE, LEVELS, SHRINKAGE, STRONGEST, TIE


class GrownTree(nn.Module):
    """x (B,N,P) standardised, strongest first -> leave-one-out laws (B,N,2,4) after each number of LEVELS."""

    def forward(self, x: Tensor, outcome: Tensor, arm: Tensor, mean: Tensor) -> list[Tensor]:
        """outcome (B,N,4) soft cells of (t, y), arm (B,N,2) weights, mean (B,2,4) of the arms.

        Which question is best is decided in the precision that comes in, so that the order of rows does not show.
        """
        x = x[:, :, :STRONGEST]
        shown = (arm.unsqueeze(-1) * outcome.unsqueeze(2)).flatten(2)  # (B,N,8)
        own = ((arm > 0).float().unsqueeze(-1) * outcome.float().unsqueeze(2)).flatten(2).unsqueeze(1)
        coarse = x.new_tensor(COARSE)
        below = (x.unsqueeze(-1) <= coarse).to(x.dtype).flatten(2)  # (B,N,P*C)
        leaf, leaves = torch.zeros_like(x[:, :, 0]), []
        for level in range(LEVELS[-1]):
            laid = (leaf.unsqueeze(-1) == torch.arange(2**level, device=x.device, dtype=x.dtype)).to(x.dtype)
            joint = (laid.unsqueeze(-1) * shown.unsqueeze(2)).flatten(2)  # (B,N,L*8)
            best = _best(below, joint)
            column = torch.div(best, len(COARSE), rounding_mode="floor")
            values = x.gather(2, column.view(-1, 1, 1).expand(-1, x.shape[1], 1))  # (B,N,1)
            cuts = coarse[best - len(COARSE) * column].unsqueeze(-1) + x.new_tensor(FINE)  # (B,C)
            cut = cuts.gather(1, _best((values <= cuts.unsqueeze(1)).to(x.dtype), joint).unsqueeze(1))
            leaf = leaf + 2.0**level * (values.squeeze(-1) > cut).to(x.dtype)
            if level + 1 in LEVELS:
                leaves.append(leaf)
        laws = leaf_laws(torch.stack(leaves, 1).float(), 2 ** LEVELS[-1], shown.float().unsqueeze(1), own, mean.float())
        return [laws[:, k].view(-1, x.shape[1], 2, 4) for k in range(len(LEVELS))]


def _best(below: Tensor, joint: Tensor) -> Tensor:
    """(B,) which of the questions (B,N,C) parts what the rows add to their leaves' cells (B,N,L*8) best."""
    left = torch.unflatten(below.transpose(1, 2) @ joint, -1, (-1, 2, 4))  # (B,C,L,2,4)
    total = torch.unflatten(joint.sum(1, keepdim=True), -1, (-1, 2, 4))
    size = total.sum((2, 4)).clamp(min=1e-6)  # (B,1,2) people of each arm
    gain = (_parted(left) + _parted(total - left)) / size
    # Questions that part the people alike must be one question, or rounding would choose.
    late = TIE * torch.arange(below.shape[2], device=below.device).to(gain)
    return (gain.sum(-1) - late).argmax(1)


def _parted(sums: Tensor) -> Tensor:
    """(B,C,L,2,4) -> (B,C,2): the sum of squares that the leaves' means explain; small leaves count less."""
    return (sums.square().sum(-1) / (sums.sum(-1) + SHRINKAGE)).sum(2)
