"""What the network believes without any limit, and what a damping of it changes at the truth."""

from typing import NamedTuple

import torch
from errors import SIDE, truth_of
from torch import Tensor

from ivicl.learn.network.grids import Grid, edges
from ivicl.learn.network.model import IVNetwork
from ivicl.learn.training.kept import KeptTables

OUTER = (0.005, 0.025, 0.1)


class Change(NamedTuple):
    density: Tensor
    """Log density at the truth."""
    beyond: list[Tensor]
    """For each level of OUTER: how far that quantile on the outer side lies beyond the true end, in units."""


class Undamped(NamedTuple):
    """Ends of the ATE, E Y(1) and E Y(0) of B tables: log masses (B,6,M) between edges, units and true ends (B,6)."""

    masses: Tensor
    edges: Tensor
    unit: Tensor
    truth: Tensor

    @staticmethod
    @torch.no_grad()
    def of(network: IVNetwork, kept: KeptTables) -> "Undamped":
        free = kept.reading._replace(spread=kept.reading.spread + 1e6)  # P(Z=1 | x) varies so much that nothing is damped
        found = network.from_reading(free, kept.moments)
        unit, anchor = found.grid.unit[:, :6], found.grid.anchor
        cut = edges(Grid(anchor[:, :6], unit), network.lowest(anchor)[:6])
        return Undamped(found.masses[:, :6].double(), cut, unit, truth_of(kept)[:, :6])

    def outside(self, place: Tensor, slack: float) -> Tensor:
        """(B,6,M) units of the cells' middles from a place (B,6) outwards."""
        middle = 0.5 * (self.edges[..., 1:] + self.edges[..., :-1])
        return (place[:, :6, None] - middle) * SIDE.view(1, -1, 1) / (self.unit + slack).unsqueeze(-1)

    def lowered(self, by: Tensor) -> Change:
        mass, width = (self.masses - by).log_softmax(-1), self.edges.diff(dim=-1)
        lowest, highest = self.edges[..., 0] + 1e-9, self.edges[..., -1] - 1e-9
        inside = torch.minimum(torch.maximum(self.truth, lowest), highest).unsqueeze(-1)
        at = (torch.searchsorted(self.edges.contiguous(), inside, right=True) - 1).clamp(0, width.shape[-1] - 1)
        density = (mass - width.clamp(min=1e-12).log()).gather(-1, at).squeeze(-1)
        outer = (quantile(mass.exp(), self.edges, torch.where(SIDE > 0, level, 1 - level)) for level in OUTER)
        return Change(density, [(self.truth - one) * SIDE / self.unit for one in outer])


def quantile(mass: Tensor, cut: Tensor, level: Tensor) -> Tensor:
    """(B,6) of masses (B,6,M) between edges (B,6,M+1), at a level for each column."""
    above, level = mass.cumsum(-1), level.view(1, -1, 1)
    cell = (above < level).sum(-1, keepdim=True).clamp(max=mass.shape[-1] - 1)
    inside = (level - above.gather(-1, cell)) / mass.gather(-1, cell).clamp(min=1e-12) + 1
    low, high = cut.gather(-1, cell), cut.gather(-1, cell + 1)
    return (low + (high - low) * inside.clamp(0, 1)).squeeze(-1)


def shown(change: Change, before: Change, here: Tensor) -> str:
    """Cells of a table: the gain in log density with its standard error, shares missed, and the mean reach (60 at most)."""
    gain = (change.density - before.density)[here]
    missed = (f"{100 * (beyond[here] < 0).double().mean():.2f} %" for beyond in change.beyond)
    reach = change.beyond[0][here].clamp(max=60).mean()
    return f"{gain.mean():+.4f} ({gain.std() / len(gain) ** 0.5:.4f}) | {' | '.join(missed)} | {reach:.2f}"
