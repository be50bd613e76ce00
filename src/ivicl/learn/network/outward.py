"""How far out an end of the average effect may lie, or one of a mean outcome: no learning.

Whoever chooses beforehand which term of the formula to average at each x gets less than the average of the largest
terms, whatever the law. So steady ends err outward without limit, but inward only by chance, which their standard error
tells, and by errors of P(Z=1 | x), which are hardly more than that where it varies by no more than a few standard
errors. Where both can be relied on, the true end is not far outside of the innermost steady end, however far apart the
others are. What the network believes beyond is damped. B tables, Q quantities, M cells.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from ivicl.methods.pretrained.streaming.constants import EVEN, NEAR, OUTWARD, SLACK, SURE


class Limit(NamedTuple):
    """Where the innermost steady ends lie, and how far that is to be relied on; float64, (B,Q) each."""

    place: Tensor
    trusted: Tensor
    """From 0 to 1."""

    @staticmethod
    def of(ends: Tensor, unit: Tensor, spread: Tensor, fewest: Tensor) -> Limit:
        """ends (B,.,Q) that are steady, units (B,Q), spread (B,1) of P(Z=1 | x), fewest (B,1) people in an arm."""
        side = ends.new_tensor(OUTWARD)
        place = side * (ends * side).amax(1)
        return Limit(place, _between(unit * fewest, *SURE) * _between(spread / unit, *EVEN))

    def damping(self, edges: Tensor, unit: Tensor) -> Tensor:
        """(B,Q,M) by how much log masses of cells between edges (B,Q,M+1) are lowered; unit (B,Q)."""
        middle = 0.5 * (edges[..., 1:] + edges[..., :-1])
        side = edges.new_tensor(OUTWARD).unsqueeze(-1)
        outside = (self.place.unsqueeze(-1) - middle) * side / (unit + SLACK).unsqueeze(-1)
        return 0.5 * self.trusted.unsqueeze(-1) * (outside - NEAR).clamp(min=0).square()


def _between(value: Tensor, none: float, whole: float) -> Tensor:
    """0 at `none`, 1 at `whole`, whichever of the two is larger."""
    return ((value - none) / (whole - none)).clamp(0, 1)
