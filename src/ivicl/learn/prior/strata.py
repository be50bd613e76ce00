"""The 4 G^2 strata of G outcome classes: treatment type x class under T=0 x class under T=1.

With two classes these are the sixteen strata of `identification.strata`, in their order. B tables, S strata, G classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from ivicl.learn.theory import SWAPS

DRAWS = 16
"""How many draws of the effect label a table with covariates."""


@dataclass(frozen=True)
class Strata:
    """The coding of the strata, for one number of classes."""

    groups: int
    takes: Tensor
    """(S, 2) T(0), T(1)."""
    classes: Tensor
    """(S, 2) outcome class under T=0 and under T=1."""
    law: Tensor
    """(S, 4 G) which of the cells [z][t][class] each stratum appears in."""
    unseen: Tensor
    """(2 G, G) strata of always-takers by their class under T=1, then of never-takers by theirs under T=0: the members
    of a row differ only in a class that cannot be observed."""

    @property
    def size(self) -> int:
        return len(self.takes)

    def law_of(self, p: Tensor) -> Tensor:
        """(..., S) strata probabilities to (..., 2, 2, G) = P(T=t, class | Z=z)."""
        return torch.unflatten(p @ self.law.to(p), -1, (2, 2, self.groups))

    def effect(self, mean: Tensor) -> Tensor:
        """(B, S) what each stratum adds to the effect; mean (B, G) amounts of the classes."""
        classes = self.classes.to(mean.device)
        return mean[:, classes[:, 1]] - mean[:, classes[:, 0]]

    def observe(self, stratum: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """Treatment and outcome class by consistency."""
        takes, classes = self.takes.to(stratum.device)[stratum], self.classes.to(stratum.device)[stratum]
        t = torch.where(z > 0, takes[..., 1], takes[..., 0])
        return t, torch.where(t > 0, classes[..., 1], classes[..., 0])

    def orbits(self, g: torch.Generator) -> Tensor:
        """(16, S) orders that permute strata which cannot be told apart; they give exact posterior draws of the effect.

        For two classes these are all sixteen swaps, for more classes random permutations. The first is the identity.
        """
        if self.groups == 2:
            return SWAPS.to(g.device)
        order = torch.arange(self.size, device=g.device).repeat(DRAWS, 1)
        unseen = self.unseen.to(g.device)
        for draw in range(1, DRAWS):
            turn = torch.rand(unseen.shape, generator=g, device=g.device).argsort(-1)
            order[draw, unseen.flatten()] = unseen.gather(1, turn).flatten()
        return order


@cache
def strata_of(groups: int) -> Strata:
    """The strata of G classes, in the order of (T(0), T(1), class under T=0, class under T=1)."""
    t0, t1, c0, c1 = torch.cartesian_prod(
        torch.arange(2), torch.arange(2), torch.arange(groups), torch.arange(groups)
    ).T
    law = torch.zeros(len(t0), 2, 2, groups)
    row = torch.arange(len(t0))
    for z, takes in ((0, t0), (1, t1)):
        law[row, z, takes, torch.where(takes > 0, c1, c0)] = 1
    always = [row[(t0 == 1) & (t1 == 1) & (c1 == k)] for k in range(groups)]
    never = [row[(t0 == 0) & (t1 == 0) & (c0 == k)] for k in range(groups)]
    return Strata(
        groups, torch.stack([t0, t1], 1), torch.stack([c0, c1], 1), law.flatten(1), torch.stack(always + never)
    )


def soft_law(law: Tensor, mean: Tensor) -> Tensor:
    """(B, ..., 2, 2, G) laws of classes and their mean amounts (B, G) to (B, ..., 2, 2, 2): E[1-Y | .], E[Y | .]."""
    shape = (len(mean), *[1] * (law.dim() - 2), mean.shape[-1])
    one = (law * mean.view(shape)).sum(-1)
    return torch.stack([law.sum(-1) - one, one], -1)
