"""The summary path: from the eight counts to a representation, in float32, blind to covariates.

Attention and means cannot see N: repeat every row seven times and they answer the same. Without N there is no sampling
uncertainty. So the counts go in here, as frequencies and as logarithms.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ivicl.learn.network.groups import HiddenLayers
from ivicl.learn.network.vertices import Spikes
from ivicl.learn.theory import sharp_ends, sharp_terms
from ivicl.methods.pretrained.streaming.constants import CORNERS as COUNT
from ivicl.methods.pretrained.streaming.constants import FLOOR

FEATURES = 8 + 8 + 2 + 16 + 3 + COUNT


def smoothed_law(counts: Tensor, pseudo_count: float) -> Tensor:
    """(B,8) counts -> (B,2,2,2) posterior mean of P(T=t, Y=y | Z=z): each arm's cells are Dirichlet(pseudo_count)."""
    arms = counts.view(-1, 2, 4)
    law = (arms + pseudo_count) / (arms.sum(-1, keepdim=True) + 4 * pseudo_count)
    return law.view(-1, 2, 2, 2)


def ends_of(law: Tensor) -> tuple[Tensor, Tensor]:
    """Plug-in ends of the identified set, uncrossed: a law that violates the model gets its midpoint."""
    lower, upper = sharp_ends(law)
    middle = 0.5 * (lower + upper)
    return torch.minimum(lower, middle), torch.maximum(upper, middle)


def sampling_scale(counts: Tensor) -> Tensor:
    """(B,1) rough standard error of a bound: the unit in which the ends' own posteriors are written."""
    arms = counts.view(-1, 2, 4).sum(-1)
    return (0.25 / (arms + 2)).sum(-1, keepdim=True).sqrt()


def features(counts: Tensor, spikes: Spikes | None, pseudo_count: float) -> Tensor:
    """(B,8) counts and the spikes they imply -> (B,FEATURES): what the MLP reads."""
    arms = counts.view(-1, 2, 4)
    size = arms.sum(-1)
    frequency = arms / size.clamp(min=1).unsqueeze(-1)
    law = smoothed_law(counts, pseudo_count)
    lower_terms, upper_terms = sharp_terms(law)
    lower, upper = ends_of(law)
    scale = math.log(1e4)
    corners = counts.new_zeros(len(counts), COUNT) if spikes is None else 1 + spikes.log_share / -math.log(FLOOR)
    return torch.cat(
        [
            2 * frequency.flatten(1),
            (counts + 0.1).log() / scale,
            (size + 0.1).log() / scale,
            lower_terms,
            upper_terms,
            torch.stack([lower, upper, upper - lower], 1),
            corners,
        ],
        1,
    )


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


class Summary(nn.Module):
    """(B,8) counts in canonical coding -> (B,S)."""

    def __init__(self, width: int, depth: int, pseudo_count: float) -> None:
        super().__init__()
        self.pseudo_count = pseudo_count
        self.embed = nn.Linear(FEATURES, width)
        self.blocks = nn.ModuleList(Residual(width, 2 * width) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, counts: Tensor, spikes: Spikes | None) -> Tensor:
        hidden: Tensor = self.embed(features(counts, spikes, self.pseudo_count))
        for block in self.blocks:
            hidden = block(hidden)
        hidden = self.norm(hidden)
        return hidden
