"""Graph schema 2: merged rows go in, with amounts as they are; posteriors of eleven quantities come out.

The effect is on 1,024 bins. Each quantity has its own grid, with edges at anchor + unit * REACH * sinh(s) for s in
equal steps from -SPAN to SPAN, cut to the quantity's possible range. B tables, N rows, Q quantities, M cells, K bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ivicl.methods.pretrained.stacks import Stack
from ivicl.posterior import EFFECT_EDGES, BinnedPosterior

SCHEMA = 2
CELLS = 128
"""M, the number of cells of a quantity's grid."""
REACH, SPAN = 0.8, 5.0
OFFSETS = REACH * np.sinh(np.linspace(-SPAN, SPAN, CELLS + 1))
"""(M+1,) edges of the cells, in units from the anchor: a fifteenth of a unit apart in the middle, reaching 60 units."""
PAIRS = ("ATE", "EY1", "EY0", "ATT", "ATU")
"""Estimands that are bounded: each has a lower and an upper end."""
MEANS = ("EY1", "EY0")
"""Those that are means of outcomes; the others are differences."""
POINT = "LATE"
"""Identified only if there are no defiers, which the network is told; without that it means nothing."""
LOWEST = (-1.0, -1.0, 0.0, 0.0, 0.0, 0.0, -1.0, -1.0, -1.0, -1.0, -1.0)
"""(Q,) the smallest possible value of each quantity, for an outcome in [0, 1]; the largest is 1."""
QUANTITIES = (*(f"{name} {end}" for name in PAIRS for end in ("lower", "upper")), POINT)
"""The Q names, in the order of the graph."""

ABOUT = {
    "quantities": list(QUANTITIES),
    "grid": {"cells": CELLS, "reach": REACH, "span": SPAN, "lowest": list(LOWEST)},
}
"""What the model file says about its outputs, for programs in other languages."""


@dataclass(frozen=True)
class RowLaw:
    """What the network knows about one table's rows."""

    law: np.ndarray
    """(N,2,2,2) E[soft cell of (t, y) | z, x], by fits that are leave-one-out at the row's own arm."""
    propensity: np.ndarray
    """(N,) P(Z=1 | x), leave-one-out."""
    places: np.ndarray | None = None
    """(N,) places of these rows in the table; None if they are all of its rows."""


@dataclass(frozen=True)
class Posteriors:
    """The posteriors of B tables."""

    effect: np.ndarray
    """(B,K) probabilities of the effect on uniform bins of [-1, 1]."""
    anchor: np.ndarray
    """(B,Q) anchors of the quantities' grids."""
    unit: np.ndarray
    """(B,Q) units of the quantities' grids."""
    mass: np.ndarray
    """(B,Q,M) probabilities of the grids' cells."""
    rows: tuple[RowLaw | None, ...]
    """(B,) the law at each table's rows, if known."""

    def __len__(self) -> int:
        return len(self.effect)

    def of(self, name: str, table: int = 0) -> BinnedPosterior:
        """One posterior: the effect's, one of QUANTITIES, or lower and upper for the effect's two ends."""
        if name == "effect":
            return BinnedPosterior(EFFECT_EDGES, self.effect[table])
        place = QUANTITIES.index({"lower": "ATE lower", "upper": "ATE upper"}.get(name, name))
        edges = self.anchor[table, place] + self.unit[table, place] * OFFSETS
        return BinnedPosterior.on_cells(np.clip(edges, LOWEST[place], 1.0), self.mass[table, place])

    def take(self, tables: slice | np.ndarray) -> Posteriors:
        chosen = np.arange(len(self))[tables]
        effect, anchor, unit, mass = (part[tables] for part in (self.effect, self.anchor, self.unit, self.mass))
        return Posteriors(effect, anchor, unit, mass, tuple(self.rows[i] for i in chosen))

    @classmethod
    def joined(cls, parts: Sequence[Posteriors]) -> Posteriors:
        names = ("effect", "anchor", "unit", "mass")
        effect, anchor, unit, mass = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        return cls(effect, anchor, unit, mass, tuple(row for part in parts for row in part.rows))


class Graph:
    """What a graph of this schema takes and returns."""

    outputs: tuple[str, ...] = ("effect", "anchor", "unit", "mass", "law", "propensity")
    estimands: tuple[str, ...] = (*PAIRS, POINT)
    assumptions: tuple[str, ...] = ("no-defiers",)

    def feed(self, stack: Stack) -> dict[str, np.ndarray]:
        size = len(stack.w)
        spread = np.zeros(stack.w.shape) if stack.v is None else stack.v
        told = np.zeros(size) if stack.no_defiers is None else stack.no_defiers
        design = np.ones((size, len(QUANTITIES))) if stack.design is None else stack.design
        narrow = {"z": stack.z, "t": stack.t, "y": stack.y, "v": spread, "w": stack.w}
        narrow |= {"no_defiers": np.reshape(told, (size, 1)), "design": design}
        return {"x": np.asarray(stack.x, np.float64)} | {k: np.asarray(v, np.float32) for k, v in narrow.items()}

    def read(self, found: Sequence[np.ndarray]) -> Posteriors:
        effect, anchor, unit, mass, law, propensity = (part.astype(np.float64) for part in found)
        rows = tuple(RowLaw(*each) for each in zip(law, propensity, strict=True))
        return Posteriors(_shares(effect), anchor, unit, _shares(mass), rows)


def _shares(logs: np.ndarray) -> np.ndarray:
    """Probabilities from log probabilities that sum to one up to float32."""
    found = np.exp(logs)
    shares: np.ndarray = found / found.sum(-1, keepdims=True)
    return shares
