"""Induced attention over rows: latents stand between the rows, so that the cost is linear in N.

Rows are keys with weight: `log w` is added to their scores in float32, so that k copies of a row and one row of
weight k attract the same attention, and padding (w = 0) attracts none.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ivicl.learn.network.groups import HiddenLayers
from ivicl.learn.network.residual import Residual

PADDING_SCORE = -1e9


def log_weights(w: Tensor) -> Tensor:
    """(B,N) -> (B,1,1,N) scores to add wherever rows are keys."""
    score = torch.where(w > 0, w.clamp(min=1e-30).log(), PADDING_SCORE)
    return score.float().unsqueeze(1).unsqueeze(1)


class Attention(HiddenLayers):
    """Multi-head attention as plain matmul, softmax, matmul: faster than the fused kernel when one side is short."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_norm = nn.LayerNorm(width)
        self.key_norm = nn.LayerNorm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        nn.init.zeros_(self.out.weight)

    def _split(self, x: Tensor) -> Tensor:
        return torch.unflatten(x, -1, (self.heads, -1)).transpose(1, 2)

    def forward(self, queries: Tensor, keys: Tensor, key_scores: Tensor | None = None) -> Tensor:
        q = self._split(self.query(self.query_norm(queries)))
        normed = self.key_norm(keys)
        k, v = self._split(self.key(normed)), self._split(self.value(normed))
        scores = (q @ k.transpose(-1, -2)).float() * (k.shape[-1] ** -0.5)
        if key_scores is not None:
            scores = scores + key_scores
        mixed = scores.softmax(-1).to(v.dtype) @ v
        read: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return queries + read


class InducedBlock(nn.Module):
    """Latents read rows, latents think, rows read latents, rows pass an MLP."""

    def __init__(self, width: int, heads: int, row_hidden: int) -> None:
        super().__init__()
        self.read = Attention(width, heads)
        self.think = Attention(width, heads)
        self.latent_mlp = Residual(width, 4 * width)
        self.spread = Attention(width, heads)
        self.row_mlp = Residual(width, row_hidden)

    def forward(self, rows: Tensor, latents: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        latents = self.read(latents, rows, scores)
        latents = self.latent_mlp(self.think(latents, latents))
        return self.row_mlp(self.spread(rows, latents)), latents
