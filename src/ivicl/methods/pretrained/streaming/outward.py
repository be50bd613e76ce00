"""How far out an end may lie: `learn.network.outward`, for one table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.methods.pretrained.streaming.constants import EVEN, NEAR, OUTWARD, SLACK, SURE

_SIDE = np.array(OUTWARD)


@dataclass(frozen=True)
class Limit:
    """Where the innermost steady ends lie (Q,), and how far that is to be relied on (Q,)."""

    place: np.ndarray
    trusted: np.ndarray

    @staticmethod
    def of(ends: np.ndarray, unit: np.ndarray, spread: float, fewest: float) -> Limit:
        """ends (.,Q) that are steady, units (Q,), spread of P(Z=1 | x), fewest people in an arm."""
        place = _SIDE * (ends * _SIDE).max(0)
        return Limit(place, _between(unit * fewest, *SURE) * _between(spread / unit, *EVEN))

    def damping(self, edges: np.ndarray, unit: np.ndarray) -> np.ndarray:
        """(Q,M) by how much log masses of cells between edges (Q,M+1) are lowered; unit (Q,)."""
        middle = 0.5 * (edges[:, 1:] + edges[:, :-1])
        outside = (self.place[:, None] - middle) * _SIDE[:, None] / (unit + SLACK)[:, None]
        lowered: np.ndarray = 0.5 * self.trusted[:, None] * np.maximum(outside - NEAR, 0) ** 2
        return lowered


def _between(value: np.ndarray | float, none: float, whole: float) -> np.ndarray:
    return np.clip((np.asarray(value) - none) / (whole - none), 0, 1)
