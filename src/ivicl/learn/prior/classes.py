"""Outcomes that are amounts: G classes of outcome, each with a law on a fine grid of [0, 1].

A person's stratum gives the treatment type and the outcome classes under T=0 and under T=1; the amount is then drawn
from the class's law. Two classes, one at 0 and one at 1, are the binary prior. B tables, G classes, L points of the
grid.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ivicl.learn.prior.config import PriorConfig
from ivicl.learn.prior.randomness import coin, integers, log_uniform, uniform

POINTS = 33
"""L: points of the finest grid."""


@dataclass(frozen=True)
class Classes:
    """The outcome classes of B tables."""

    values: Tensor
    """(B, L) the amounts, in [0, 1]."""
    law: Tensor
    """(B, G, L) probabilities of the amounts in each class."""
    binary: bool
    """There are two classes, one at 0 and one at 1: the outcome is the class itself."""

    @property
    def groups(self) -> int:
        return int(self.law.shape[1])

    @property
    def mean(self) -> Tensor:
        """(B, G) the mean amount of each class."""
        return torch.einsum("bgl,bl->bg", self.law, self.values)

    def take(self, tables: Tensor) -> Classes:
        """Some of the tables."""
        return replace(self, values=self.values[tables], law=self.law[tables])

    def clipped(self, low: Tensor, high: Tensor) -> Classes:
        """Amounts clipped to each table's [low, high], both (B,), which is then scaled to [0, 1]."""
        values = ((self.values - low[:, None]) / (high - low)[:, None]).clamp(0, 1)
        return replace(self, values=values)


def binary_classes(batch: int, device: torch.device) -> Classes:
    values = torch.tensor([0.0, 1.0], device=device).expand(batch, 2)
    return Classes(values, torch.eye(2, device=device).expand(batch, 2, 2), binary=True)


def draw_classes(config: PriorConfig, g: torch.Generator, batch: int, groups: int) -> Classes:
    """Classes of amounts, on a scale of few points or on a fine grid.

    The law of a class is a single point, a bump from narrow to U-shaped, or zeros with a skewed rest.
    """
    shape = (batch, groups, 1)
    levels = torch.where(coin((batch,), g, config.scale_share), integers((batch,), g, 3, 10), POINTS)
    place = torch.arange(POINTS, device=g.device)
    exists = place < levels[:, None]
    values = (place / (levels[:, None] - 1)).clamp(max=1.0)
    # A bump is a beta density at the grid's points, kept away from 0 and 1, where it may be infinite.
    inner = (values * (1 - 1e-2) + 5e-3)[:, None]
    # Centres are anywhere, or in half of the tables mostly near 0 and 1: means nearly as far apart as for yes/no.
    even = uniform(shape, g, 0.02, 0.98)
    centre = torch.where(coin((batch, 1, 1), g, 0.5), even, (0.5 * torch.pi * even).sin().square())
    size = log_uniform(shape, g, 0.4, 200.0)
    bump = (centre * size - 1) * inner.log() + ((1 - centre) * size - 1) * (1 - inner).log()
    bump = torch.softmax(bump.masked_fill(~exists[:, None], -torch.inf), -1)
    # Points are used in random order, so that two classes share a point only if there are fewer points than classes.
    order = torch.rand(batch, POINTS, generator=g, device=g.device).masked_fill(~exists, 2.0).argsort(-1)
    turn = torch.arange(groups, device=g.device) % levels[:, None]
    point = torch.nn.functional.one_hot(order.gather(1, turn), POINTS).to(values)
    rate = log_uniform(shape, g, 2.0, 40.0)
    skewed = torch.softmax((-rate * values[:, None]).masked_fill(~exists[:, None], -torch.inf), -1)
    zeros = uniform(shape, g)
    zero = torch.zeros_like(skewed)
    zero[..., 0] = 1.0
    skewed = zeros * zero + (1 - zeros) * skewed
    kind = integers((batch, 1, 1), g, 0, 3)
    kind = torch.where(kind == 3, integers(shape, g, 0, 2), kind)  # one kind for all classes, or one for each
    law = torch.where(kind == 0, point, torch.where(kind == 1, bump, skewed))
    return Classes(values, law, binary=False)


def draw_amounts(classes: Classes, which: Tensor, g: torch.Generator) -> Tensor:
    """(B, N) amounts of people in classes `which` (B, N)."""
    if classes.binary:
        return which.float()
    ladder = classes.law.cumsum(-1)  # (B, G, L)
    steps = ladder.gather(1, which[..., None].expand(*which.shape, ladder.shape[-1]))
    u = torch.rand(*which.shape, 1, generator=g, device=g.device) * steps[..., -1:]
    place = (steps <= u).sum(-1).clamp(max=ladder.shape[-1] - 1)
    return classes.values.gather(1, place)
