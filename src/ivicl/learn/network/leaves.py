"""The law in the leaf of each row, from sums over the leaf's rows without the row's own person.

B tables, N rows, K trees of 2^d leaves; the eight cells are [z][t][y].
"""

from __future__ import annotations

import torch
from torch import Tensor

from ivicl.methods.pretrained.streaming.constants import SHRINKAGE

CHUNK = 16
"""Trees whose leaves are laid out at a time: bounds the memory."""


def leaf_laws(leaf: Tensor, leaves: int, shown: Tensor, own: Tensor, mean: Tensor) -> Tensor:
    """(B,K,N,8) the leave-one-out law of each tree at each row, pulled to its arm's mean.

    leaf (B,K,N); shown (B,1,N,8) what a row adds to its leaf, own (B,1,N,8) one person of it; mean (B,2,4).
    """
    pull = (SHRINKAGE * mean).flatten(1).view(-1, 1, 1, 8)
    added = added_by_matmuls if torch.onnx.is_in_onnx_export() else added_up
    found = torch.unflatten(added(leaf, leaves, shown) - own + pull, -1, (2, 4))
    return (found / found.sum(-1, keepdim=True).clamp(min=1e-6)).flatten(3)


def added_up(leaf: Tensor, leaves: int, shown: Tensor) -> Tensor:
    """(B,K,N,8) what all rows of a row's leaf add."""
    trees = leaf.shape[1]
    first = leaves * torch.arange(leaf.shape[0] * trees, device=leaf.device)
    place = (leaf.long() + first.view(-1, trees, 1)).flatten()
    adds = shown.expand(-1, trees, -1, -1).reshape(-1, 8)
    held = adds.new_zeros(leaves * len(first), 8).index_add_(0, place, adds)
    return held[place].view(*leaf.shape, 8)


def added_by_matmuls(leaf: Tensor, leaves: int, shown: Tensor) -> Tensor:
    """The same, eight times slower, by what every runtime has."""
    places = torch.arange(leaves, device=leaf.device, dtype=leaf.dtype)
    found = []
    for start in range(0, leaf.shape[1], CHUNK):
        laid = (leaf[:, start : start + CHUNK].unsqueeze(-1) == places).float()  # (B,k,N,2^d)
        found.append(laid @ (shown.transpose(2, 3) @ laid).transpose(2, 3))
    return torch.cat(found, 1)
