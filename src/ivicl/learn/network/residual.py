"""What the summary path is made of: the smoothed law of eight counts, and residual blocks."""

from __future__ import annotations

from torch import Tensor, nn

from ivicl.learn.network.groups import HiddenLayers


def smoothed_law(counts: Tensor, pseudo_count: float) -> Tensor:
    """(B,8) counts -> (B,2,2,2) posterior mean of P(T=t, Y=y | Z=z): each arm's cells are Dirichlet(pseudo_count)."""
    arms = counts.view(-1, 2, 4)
    law = (arms + pseudo_count) / (arms.sum(-1, keepdim=True) + 4 * pseudo_count)
    return law.view(-1, 2, 2, 2)


class Residual(HiddenLayers):
    """x + MLP(norm(x)); starts as the identity."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        nn.init.zeros_(self.down.weight)
        nn.init.zeros_(self.down.bias)

    def forward(self, x: Tensor) -> Tensor:
        step: Tensor = self.down(nn.functional.gelu(self.up(self.norm(x)), approximate="tanh"))
        return x + step
