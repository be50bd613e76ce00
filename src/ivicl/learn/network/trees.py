"""Leaf means of shallow random trees: p(t, y | z, x) where it jumps. Nothing is learnt; comparisons and matmuls alone.

Each level of a tree asks one question of all rows: is a covariate above a cut? Covariates are drawn from the strongest
few in proportion to their association with (z, t, y), cuts at random quantiles. The random numbers are constants, so
the same data get the same trees. Every step over rows is a sum. B tables, N rows, K trees of depth d, 2^d leaves.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ivicl.learn.network.leaves import leaf_laws
from ivicl.learn.network.precision import wide
from ivicl.methods.pretrained.streaming.constants import CUTS, STRONGEST, TEMPER


class Trees(nn.Module):
    """x (B,N,P) standardised, strongest first; score (B,P) -> leave-one-out leaf means (B,N,2,4) of both arms."""

    choice: Tensor
    quantile: Tensor

    def __init__(self, trees: int, depth: int, seed: int = 0) -> None:
        super().__init__()
        self.trees, self.depth = trees, depth
        generator = torch.Generator().manual_seed(seed)
        draws = torch.rand(2, trees * depth, generator=generator, dtype=torch.float64)
        self.register_buffer("choice", draws[0], persistent=False)
        self.register_buffer("quantile", 0.15 + 0.7 * draws[1], persistent=False)

    def forward(self, x: Tensor, score: Tensor, outcome: Tensor, arm: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
        """outcome (B,N,4) soft cells of (t, y), arm (B,N,2) weights, mean (B,2,4) of the arms.

        Two averages over the trees: of all alike, and by how well each predicts people whom it has not seen, which
        finds the few that ask the right questions. A leaf's mean is in float32 and needs no more; sums over all rows
        do, as those of many rows are large and the order of rows must not show.
        """
        x, outcome, arm, mean = (part.float() for part in (x, outcome, arm, mean))
        # (B,1,N,8): what a row adds to its leaf, people and their outcomes by arm; and one person of it.
        shown = (arm.unsqueeze(-1) * outcome.unsqueeze(2)).flatten(2).unsqueeze(1)
        present = (arm > 0).float().unsqueeze(-1)
        own = (present * outcome.unsqueeze(2)).flatten(2).unsqueeze(1)
        people = shown.sum(-1, keepdim=True)
        laws = self._laws(x, score, arm.sum(-1), shown, own, mean)  # (B,K,N,8)
        likelihood = (laws * own).sum(-1, keepdim=True).clamp(min=1e-4).log()
        total = wide(likelihood * people).sum((2, 3))  # (B,K)
        share = (TEMPER * total).softmax(-1).float().unsqueeze(1)
        flat = laws.flatten(2)
        forest, chosen = flat.mean(1), (share @ flat).squeeze(1)
        shape = (-1, x.shape[1], 2, 4)
        return forest.view(shape), chosen.view(shape)

    def _laws(self, x: Tensor, score: Tensor, w: Tensor, shown: Tensor, own: Tensor, mean: Tensor) -> Tensor:
        """(B,K,N,8) the leave-one-out law of each tree at each row."""
        answers = self._answers(x[:, :, :STRONGEST], score[:, :STRONGEST], w)  # (B,K*d,N) in {0, 1}
        powers = answers.new_tensor([2.0**k for k in range(self.depth)]).view(1, 1, -1, 1)
        leaf = (torch.unflatten(answers, 1, (self.trees, self.depth)) * powers).sum(2)  # (B,K,N)
        return leaf_laws(leaf, 2**self.depth, shown, own, mean)

    def _answers(self, x: Tensor, score: Tensor, w: Tensor) -> Tensor:
        """(B,K*d,N): is the question's covariate above its cut?"""
        exact = wide(w)
        share = (exact / exact.sum(1, keepdim=True).clamp(min=1e-30)).unsqueeze(1)  # (B,1,N)
        cuts = x.new_tensor(CUTS)
        below = torch.stack([(share @ (x <= cut).to(share.dtype)).squeeze(1) for cut in CUTS], -1)  # (B,P,C)
        strength = wide(score).clamp(min=0)
        ladder = strength.cumsum(1) / strength.sum(1, keepdim=True).clamp(min=1e-30)
        column = (ladder.unsqueeze(1) < self.choice.to(share.dtype).view(1, -1, 1)).sum(-1).clamp(max=x.shape[2] - 1)
        which = column.unsqueeze(-1).expand(-1, -1, len(CUTS))
        shares = below.gather(1, which)  # (B,K*d,C)
        # A cut that leaves nearly nobody on one side asks nothing.
        useless = ((shares < 0.02) | (shares > 0.98)).to(share.dtype)
        distance = (shares - self.quantile.to(share.dtype).view(1, -1, 1)).abs() + 10 * useless
        cut = cuts[distance.argmin(-1)]  # (B,K*d)
        values = x.transpose(1, 2).gather(1, column.unsqueeze(-1).expand(-1, -1, x.shape[1]))
        return (values > cut.unsqueeze(-1)).to(x.dtype)
