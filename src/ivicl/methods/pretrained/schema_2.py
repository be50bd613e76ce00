"""Graph schema 2: merged rows in, amounts as they are; posteriors of eleven quantities out.

The effect is on 1,024 bins, the quantities on grids of their own: edges at anchor + unit * REACH * sinh(s) for s in
equal steps from -SPAN to SPAN, cut to what the quantity can be. B tables, N rows, Q quantities, M cells, K bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ivicl.methods.pretrained.stacks import Stack
from ivicl.posterior import EFFECT_EDGES, BinnedPosterior

SCHEMA = 2
CELLS = 128
"""M."""
REACH, SPAN = 0.8, 5.0
OFFSETS = REACH * np.sinh(np.linspace(-SPAN, SPAN, CELLS + 1))
"""(M+1,) edges of the cells in units from the anchor: a fifteenth of a unit apart in the middle, sixty units out."""
PAIRS = ("ATE", "EY1", "EY0", "ATT", "ATU")
"""Estimands that are bounded: each has a lower and an upper end."""
MEANS = ("EY1", "EY0")
"""Those that are means of outcomes; the others are differences."""
POINT = "LATE"
"""Identified by the assumption that the network is told of; it means nothing without it."""
LOWEST = (-1.0, -1.0, 0.0, 0.0, 0.0, 0.0, -1.0, -1.0, -1.0, -1.0, -1.0)
"""(Q,) the least that each can be, for an outcome in [0, 1]; the most is 1."""
QUANTITIES = (*(f"{name} {end}" for name in PAIRS for end in ("lower", "upper")), POINT)
"""Q names, in the order of the graph."""

ABOUT = {
    "quantities": list(QUANTITIES),
    "grid": {"cells": CELLS, "reach": REACH, "span": SPAN, "lowest": list(LOWEST)},
}
"""What stands in the file, for readers in other languages."""


@dataclass(frozen=True)
class RowLaw:
    """What the network knows of one table's rows."""

    law: np.ndarray
    """(N,2,2,2) E[soft cell of (t, y) | z, x], by fits that are leave-one-out at the row's own arm."""
    propensity: np.ndarray
    """(N,) P(Z=1 | x), leave-one-out."""
    places: np.ndarray | None = None
    """(N,) of these rows in the table; None are all of them."""


@dataclass(frozen=True)
class Posteriors:
    """Of B tables."""

    effect: np.ndarray
    """(B,K) probabilities on uniform bins of [-1, 1]."""
    anchor: np.ndarray
    """(B,Q)."""
    unit: np.ndarray
    """(B,Q)."""
    mass: np.ndarray
    """(B,Q,M) probabilities."""
    rows: tuple[RowLaw | None, ...]
    """(B,) where asked for."""

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
    """What its graph takes and gives."""

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
