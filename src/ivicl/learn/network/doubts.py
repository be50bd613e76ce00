"""What tells whether the one-step ends can be trusted: no learning, and sums over rows alone.

They are unbiased where one term is active at every x and the instrument depends on nothing, whatever the law; what is
lost elsewhere depends on how nearly others are active, and on how far the law is off. B tables, N rows.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ivicl.learn.network.ends import Rows, arms_of
from ivicl.learn.theory import mean_terms
from ivicl.methods.pretrained.streaming.constants import BLUR

DOUBTS = 16 + 4 * len(BLUR) + 2 + 4
"""What `doubts` says of a table."""


class Doubts(NamedTuple):
    """Of B tables."""

    news: Tensor
    """(B,DOUBTS) for the pool."""
    spread: Tensor
    """(B,1) standard deviation of P(Z=1 | x)."""


def doubts(law: Tensor, chance: Tensor, rows: Rows, unit: Tensor) -> Doubts:
    """At law (B,N,2,4) and P(Z=1 | x) (B,N); unit (B,Q) of the quantities."""
    share = (rows.w / rows.w.sum(1, keepdim=True).clamp(min=1e-30)).unsqueeze(1)  # (B,1,N)
    terms = mean_terms(torch.unflatten(law, -1, (2, 2)))  # (B,N,4,4)
    behind = terms - terms.amax(-1, keepdim=True)
    active = (share @ (behind / BLUR[0]).softmax(-1).flatten(2)).squeeze(1)
    gains = torch.cat([blur * (behind / blur).exp().sum(-1).log() for blur in BLUR], -1)
    gained = (share @ gains).squeeze(1) / unit[:, 2:6].repeat(1, len(BLUR))
    moments = torch.stack([chance, chance.square(), 0.25 / (chance * (1 - chance))], -1)
    mean, square, inverse = (share @ moments).squeeze(1).unbind(-1)
    spread = (square - mean.square()).clamp(min=0).sqrt().unsqueeze(-1)
    # By how much more likely the rows are than the law expects of itself, by arm: far off if the law is.
    own = arms_of(rows.cell) * rows.w.unsqueeze(-1)  # (B,N,2)
    shown = torch.unflatten(rows.cell, -1, (2, 4))
    surprise = ((shown - arms_of(rows.cell).unsqueeze(-1) * law) * law.log()).sum(-1)  # (B,N,2)
    people = own.sum(1)
    gap = (own * surprise).sum(1) / people.clamp(min=1)
    parts = [
        active, (gained + 0.01).log() / 5, 4 * spread, inverse.log().unsqueeze(-1),
        (5 * gap).clamp(-2, 2), (gap * people.sqrt() / 3).clamp(-3, 3),
    ]  # fmt: skip
    return Doubts(torch.cat(parts, 1), spread)
