"""Where the posterior of the effect has its spikes: at the corners of the set of strata laws that explain the counts.

Given the law p of (T, Y) in both arms, the sixteen strata q lie in the polytope {q >= 0 : A q = p}. A Dirichlet(0.1)
prior loves the corners of it: the density goes as the product of q^(-0.9). Each corner has seven strata that are
not empty, each of them a linear function of p, and an effect that is one too. So the places of the spikes and, roughly,
their masses are known in closed form: 384 kinds of corner, 114 functions of p that must not be negative, 273 effects.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ivicl.identification.strata import EFFECT, LAW, N_STRATA
from ivicl.methods.pretrained.streaming.constants import CORNERS as COUNT
from ivicl.methods.pretrained.streaming.constants import FLOOR
from ivicl.methods.pretrained.streaming.constants import PYRAMID as CELLS


class Corners(NamedTuple):
    """Constant tables; p is the law in the order [z][t][y] without its last entry."""

    strata: np.ndarray
    """(114,7): what a stratum may hold at a corner, as functions of p."""
    members: np.ndarray
    """(384,114): which of these a kind of corner is made of."""
    effects: np.ndarray
    """(273,7): the effect at a corner, as functions of p."""
    owners: np.ndarray
    """(384,273): how many corners of each kind have each effect."""


@cache
def corners() -> Corners:
    """All bases of the linear programme, merged where they are the same function of p."""
    bases = np.array(list(itertools.combinations(range(N_STRATA), 7)))
    matrices = LAW.T[:7, bases].transpose(1, 0, 2)
    sound = np.abs(np.linalg.det(matrices)) > 0.5
    inverses = np.round(np.linalg.inv(matrices[sound]))
    functions = np.round(np.einsum("bi,bij->bj", EFFECT[bases[sound]], inverses))
    strata, which = np.unique(inverses.reshape(-1, 7), axis=0, return_inverse=True)
    kinds, kind = np.unique(np.sort(which.reshape(-1, 7), axis=1), axis=0, return_inverse=True)
    members = np.zeros((len(kinds), len(strata)))
    np.add.at(members, (np.arange(len(kinds))[:, None], kinds), 1)
    effects, owner = np.unique(functions, axis=0, return_inverse=True)
    owners = np.zeros((len(kinds), len(effects)))
    np.add.at(owners, (kind.ravel(), owner.ravel()), 1)
    return Corners(strata, members, effects, owners)


class Spikes(NamedTuple):
    """(B,C) each: where they lie, how uncertain that is, and the logarithm of their rough share of the mass."""

    place: Tensor
    spread: Tensor
    log_share: Tensor


LEVELS = len(CELLS)
SPIKE_PARAMETERS = COUNT + 1 + LEVELS


class CornerTable(nn.Module):
    """Constants on the network's device; nothing here is learnt."""

    strata: Tensor
    members: Tensor
    effects: Tensor
    owners: Tensor

    def __init__(self, gamma: float) -> None:
        super().__init__()
        self.gamma = gamma
        for name, values in corners()._asdict().items():
            self.register_buffer(name, torch.tensor(values, dtype=torch.float32), persistent=False)

    @torch.no_grad()
    def forward(self, law: Tensor, arms: Tensor) -> Spikes:
        """law (B,2,2,2), smoothed; arms (B,2) people. A corner counts as far as sampling noise lets it exist."""
        p = law.flatten(1)
        noise = self._spread(p, arms, self.strata)
        u = (p[:, :7] @ self.strata.T) / noise
        # The mean of q^(gamma - 1) over a normal q that may not be negative, roughly, in logarithms.
        log_size = noise.log() + 0.5 * (u.clamp(min=0) ** 2 + 0.1).log()
        log_held = (self.gamma - 1) * log_size - 0.5 * u.clamp(max=0).square()
        log_kind = log_held.clamp(min=-60) @ self.members.T
        mass = (log_kind - log_kind.amax(1, keepdim=True)).exp() @ self.owners
        share = mass / mass.sum(1, keepdim=True)
        place = (p[:, :7] @ self.effects.T).clamp(-1, 1)
        return Spikes(place, self._spread(p, arms, self.effects), (share + FLOOR).log())

    def _spread(self, p: Tensor, arms: Tensor, functions: Tensor) -> Tensor:
        """(B,F) posterior deviation of linear functions (F,7) of p: the two arms are independent Dirichlets."""
        padded = torch.cat([functions, torch.zeros_like(functions[:, :1])], 1)
        variance = torch.full_like(p[:, :1], 1e-8)
        for z in (0, 1):
            part, weights = p[:, 4 * z : 4 * z + 4], padded[:, 4 * z : 4 * z + 4].T
            spread = part @ weights.square() - (part @ weights).square()
            variance = variance + spread.clamp(min=0) / (arms[:, z : z + 1] + N_STRATA * self.gamma + 1)
        return variance.sqrt()


def spread_mass(spikes: Spikes, raw: Tensor) -> Tensor:
    """Put the spikes' mass on bins: (B,K) probabilities, from raw (B,C+1+LEVELS) learnt corrections.

    Mass goes to a pyramid of grids, from fine to coarse, each spike mostly to the grid whose cells are as wide as the
    spike is uncertain; coarser grids are read by interpolation, so that a spike is a hat, or a sum of hats.
    """
    shift, stretch, tilt = raw.split_with_sizes([COUNT, 1, LEVELS], 1)
    share = (spikes.log_share + shift).softmax(1)
    size = share.new_tensor(CELLS).reciprocal().mul(2).log().view(1, -1, 1)
    level = (spikes.spread.log() + stretch).unsqueeze(1) - size
    split = (tilt.unsqueeze(2) - level.square()).softmax(1)  # over grids: (B,LEVELS,C)
    mass = share.unsqueeze(1) * split
    total = torch.zeros_like(mass[:, 0, :1])
    for k, cells in reversed(list(enumerate(CELLS))):
        if total.shape[1] > 1:
            total = 0.5 * nn.functional.interpolate(total.unsqueeze(1), scale_factor=2.0, mode="linear").squeeze(1)
        total = total + _histogram(spikes.place, mass[:, k], cells)
    return total / total.sum(1, keepdim=True)


def _histogram(place: Tensor, mass: Tensor, cells: int) -> Tensor:
    """(B,cells): mass (B,C) at place (B,C) of [-1, 1], shared between the two nearest cells."""
    position = ((place + 1) * (cells / 2) - 0.5).clamp(0, cells - 1)
    left = position.floor().clamp(max=cells - 2)
    index, right = left.long(), position - left
    empty = torch.zeros_like(mass[:, :1]).expand(-1, cells)
    return empty.scatter_add(1, index, mass * (1 - right)).scatter_add(1, index + 1, mass * right)
