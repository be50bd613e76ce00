"""Leaf means of shallow random trees: p(t, y | z, x) where it jumps. Nothing is learnt; comparisons and matmuls alone.

Each level of a tree asks one question of all rows: is a covariate above a cut? Covariates are drawn from the strongest
few in proportion to their association with (z, t, y), cuts at random quantiles. The random numbers are constants, so
the same data get the same trees. Every step over rows is a sum. B tables, N rows, K trees of depth d, 2^d leaves.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

STRONGEST = 8
"""Covariates that trees may ask about."""
CUTS = torch.linspace(-2.5, 2.5, 41).tolist()
"""Where a standardised covariate may be cut: the place whose share below comes nearest to the quantile drawn."""
SHRINKAGE = 2.0
"""People by which a leaf's mean is pulled to its arm's."""
TEMPER = 0.1
"""How much a tree's leave-one-out likelihood counts: fits of one table err together."""
CHUNK = 16
"""Trees whose leaves are laid out at a time: bounds the memory."""


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
        finds the few that ask the right questions.
        """
        laws = self._laws(x, score, outcome, arm, mean)  # (B,N,K,2,4)
        likelihood = (laws * outcome.unsqueeze(2).unsqueeze(2)).sum(-1).clamp(min=1e-4).log()
        total = (likelihood * arm.unsqueeze(2)).sum((1, 3))  # (B,K)
        share = (TEMPER * total).softmax(-1).view(-1, 1, self.trees, 1, 1)
        return laws.mean(2), (laws * share).sum(2)

    def _laws(self, x: Tensor, score: Tensor, outcome: Tensor, arm: Tensor, mean: Tensor) -> Tensor:
        """(B,N,K,2,4) the leave-one-out law of each tree at each row."""
        answers = self._answers(x[:, :, :STRONGEST], score[:, :STRONGEST], arm.sum(-1))  # (B,N,K*d) in {0, 1}
        powers = answers.new_tensor([2.0**k for k in range(self.depth)])
        leaf = (answers.unflatten(2, (self.trees, self.depth)) * powers).sum(-1)  # (B,N,K)
        # What a row adds to its leaf: people and their outcomes, by arm. (B,N,8)
        shown = (arm.unsqueeze(-1) * outcome.unsqueeze(2)).flatten(2)
        present = (arm > 0).to(outcome.dtype).unsqueeze(-1)
        own = (outcome.unsqueeze(2) * present).unsqueeze(2)  # one person of the row
        places = torch.arange(2**self.depth, device=x.device, dtype=leaf.dtype)
        pull = SHRINKAGE * mean.unsqueeze(1).unsqueeze(1)
        laws = []
        for start in range(0, self.trees, CHUNK):
            part = leaf[:, :, start : start + CHUNK]
            laid = (part.unsqueeze(-1) == places).flatten(2).to(outcome.dtype)  # (B,N,k*2^d)
            found = self._back(laid, laid.transpose(1, 2) @ shown, part.shape[2])  # (B,N,k,2,4)
            people = found.sum(-1, keepdim=True) - present.unsqueeze(2)
            laws.append((found - own + pull) / (people + SHRINKAGE))
        return torch.cat(laws, 2)

    def _back(self, laid: Tensor, held: Tensor, trees: int) -> Tensor:
        """What each row's leaf holds, tree by tree: (B,N,k,2,4)."""
        leaves = 2**self.depth
        by_tree = laid.unflatten(2, (trees, leaves)).transpose(1, 2)  # (B,k,N,2^d)
        found = by_tree @ held.unflatten(1, (trees, leaves))  # (B,k,N,8)
        return found.transpose(1, 2).unflatten(-1, (2, 4))

    def _answers(self, x: Tensor, score: Tensor, w: Tensor) -> Tensor:
        """(B,N,K*d): is the question's covariate above its cut?"""
        share = (w / w.sum(1, keepdim=True).clamp(min=1e-30)).unsqueeze(1)  # (B,1,N)
        cuts = x.new_tensor(CUTS)
        below = torch.stack([(share @ (x <= cut).to(x.dtype)).squeeze(1) for cut in CUTS], -1)  # (B,P,C)
        strength = score.clamp(min=0)
        ladder = strength.cumsum(1) / strength.sum(1, keepdim=True).clamp(min=1e-30)
        column = (ladder.unsqueeze(1) < self.choice.to(x.dtype).view(1, -1, 1)).sum(-1).clamp(max=x.shape[2] - 1)
        which = column.unsqueeze(-1).expand(-1, -1, len(CUTS))
        shares = below.gather(1, which)  # (B,K*d,C)
        # A cut that leaves nearly nobody on one side asks nothing.
        useless = ((shares < 0.02) | (shares > 0.98)).to(x.dtype)
        distance = (shares - self.quantile.to(x.dtype).view(1, -1, 1)).abs() + 10 * useless
        cut = cuts[distance.argmin(-1)]  # (B,K*d)
        values = x.gather(2, column.unsqueeze(1).expand(-1, x.shape[1], -1))
        return (values > cut.unsqueeze(1)).to(x.dtype)
