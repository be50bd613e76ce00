"""The sixteen principal strata of a binary instrument, treatment and outcome: their coding and the law they imply.

Stratum s = 8 T(0) + 4 T(1) + 2 Y(0) + Y(1). The coding is defined only here; torch code makes tensors of these arrays.
Observed cells are in the order [z][t][y] (`laws.cell_index`).
"""

from __future__ import annotations

from itertools import product

import numpy as np

from ivicl.identification.laws import cell_index

GAMMA = 0.1
"""The default concentration of the Dirichlet prior on the strata, as in the paper."""

N_STRATA = 16
STRATA = np.array(list(product((0, 1), repeat=4)))
"""(16, 4) columns T(0), T(1), Y(0), Y(1)."""
TREATMENT = STRATA[:, :2].T
"""(2, 16) the treatment that each stratum takes at Z = 0 and at Z = 1."""
OUTCOME = STRATA[:, 2:].T
"""(2, 16) the outcome that each stratum has at T = 0 and at T = 1."""
EFFECT = (OUTCOME[1] - OUTCOME[0]).astype(np.float64)
"""(16,) Y(1) - Y(0)."""

PAIRS = tuple(
    (8 * t0 + 4 * t1 + (2 - t0) * seen, 8 * t0 + 4 * t1 + (2 - t0) * seen + (1 + t0))
    for t0, t1 in ((1, 1), (0, 0))
    for seen in (0, 1)
)
"""Pairs of strata that differ only in an unseen outcome: always-takers with Y(1)=0, 1; never-takers with Y(0)=0, 1."""


def observe(stratum: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Treatment and outcome by consistency: T = T(Z), Y = Y(T); whole numbers in, whole numbers out."""
    t = TREATMENT[z, stratum]
    return t, OUTCOME[t, stratum]


def _cells() -> np.ndarray:
    z = np.arange(2)[:, None]
    t, y = observe(np.arange(N_STRATA)[None], z)
    return cell_index(z, t, y)


CELL = _cells()
"""(2, 16) the observed cell in which each stratum appears at each z."""
LAW = (CELL.T[:, :, None] == np.arange(8)).any(axis=1).astype(np.float64)
"""(16, 8) which of the eight cells each stratum appears in: one in each arm."""
PER_CELL = 4
"""How many strata appear in each cell."""


def _swaps() -> np.ndarray:
    rows = []
    for swapped in product((False, True), repeat=len(PAIRS)):
        order = list(range(N_STRATA))
        for (a, b), swap in zip(PAIRS, swapped, strict=True):
            if swap:
                order[a], order[b] = order[b], order[a]
        rows.append(order)
    return np.array(rows)


SWAPS = _swaps()
"""(16, 16) the strata's order after each combination of the four swaps; row 0 is the identity."""


def cell_pseudo_count(gamma: float = GAMMA) -> float:
    """Dirichlet(gamma) on the strata is Dirichlet(4 gamma) on the four cells of an arm: 0.4 with the paper's gamma."""
    return PER_CELL * gamma


def law_of(strata: np.ndarray) -> np.ndarray:
    """(..., 16) strata probabilities to (..., 2, 2, 2) = P(T=t, Y=y | Z=z)."""
    law: np.ndarray = strata @ LAW
    return law.reshape(*strata.shape[:-1], 2, 2, 2)


def effect_of(strata: np.ndarray) -> np.ndarray:
    """(..., 16) strata probabilities to the average effect."""
    effect: np.ndarray = strata @ EFFECT
    return effect
