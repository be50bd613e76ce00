"""What the graph says on request about each row: the law of (t, y) in both arms, and the instrument's propensity.

The network answers in canonical coding, for those tables that have covariates, once for each coding near a tie. Here
its answers become one for every table, in the caller's coding. B tables, C copies of them (one a coding), C' copies
with covariates, N rows.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ivicl.learn.network.precision import wide
from ivicl.learn.network.residual import smoothed_law


class RowLaws(NamedTuple):
    """Of B tables, in the caller's coding; float32."""

    law: Tensor
    """(B,N,2,2,2) E[soft cell of (t, y) | z, x] by the regression layer, whose fits are leave-one-out at the row's own
    arm: what residuals are taken from."""
    refined: Tensor
    """(B,N,2,2,2) the same as the network corrects it: nearer to the truth, but it has read the row's own outcome."""
    propensity: Tensor
    """(B,N) P(Z=1 | x), leave-one-out."""


class CanonicalRows(NamedTuple):
    """What the covariates' path found, and what the tables are without it."""

    layer: Tensor
    """(C',N,2,4)."""
    log_refined: Tensor
    """(C',N,2,4) logarithms."""
    propensity: Tensor
    """(C',N)."""
    back: Tensor
    """(C,C') one where the copy is that one with covariates; a row of zeros where it has none."""
    counts: Tensor
    """(C,8) people."""


def row_laws(rows: CanonicalRows, flips: Tensor, share: Tensor, pseudo_count: float) -> RowLaws:
    """flips (C,3) of t, y, z; share (B,C) of each copy in its table's answer."""
    back, share = wide(rows.back), wide(share)
    without = 1 - back.sum(1)  # (C,) 1 for a copy without covariates: everybody has the smoothed shares of the counts
    plain = wide(smoothed_law(wide(rows.counts), pseudo_count)).flatten(1)  # (C,8)
    people = torch.unflatten(wide(rows.counts), 1, (2, 4)).sum(-1) + 1
    chance = people[:, 1] / people.sum(1)

    def given_back(laws: Tensor) -> Tensor:
        every = torch.einsum("cd,dnk->cnk", back, wide(laws).flatten(2)) + (without.unsqueeze(1) * plain).unsqueeze(1)
        cells = torch.unflatten(every, 2, (2, 2, 2))
        for axis, flip in ((3, flips[:, 0]), (4, flips[:, 1]), (2, flips[:, 2])):
            cells = torch.lerp(cells, cells.flip(axis), wide(flip).view(-1, 1, 1, 1, 1))
        together = torch.einsum("bc,cnk->bnk", share, cells.flatten(2))
        return torch.unflatten(together, 2, (2, 2, 2)).float()

    one = back @ wide(rows.propensity) + (without * chance).unsqueeze(1)
    one = torch.lerp(one, 1 - one, wide(flips[:, 2:]))
    return RowLaws(given_back(rows.layer), given_back(rows.log_refined.exp()), (share @ one).float())
