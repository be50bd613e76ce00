"""The graph on which the chains of the exact posterior move: the cells of strata that the data can tell apart.

With K outcome levels there are 4 K^2 strata. Those that differ only in an unobserved outcome enter the law as a sum:

    a_k   always-takers with Y(1) = k (their Y(0) is never seen)      K strata each
    n_j   never-takers with Y(0) = j (their Y(1) is never seen)       K strata each
    c_jk  compliers with Y(0) = j, Y(1) = k                           one
    d_jk  defiers with Y(0) = j, Y(1) = k                             one

Every cell shows up in one observed (t, y) of each arm, so it is an edge between an observed cell of arm 0 and one of
arm 1, and the graph is bipartite. The law is the sum of the edges at each node. The smallest sets of cells that can
change while the law stays the same are the cycles, whose edges grow and shrink in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np


@dataclass(frozen=True, eq=False)
class StrataGraph:
    """The M cells of K levels."""

    levels: int
    defiers: bool
    """Whether there may be defiers."""
    names: tuple[str, ...]
    """Names of the cells: a0, ..., n0, ..., c00, c01, ..., d00, ..."""
    shown: np.ndarray
    """(2, M) the observed cell in which each cell appears in each arm: an index of [z][t][level]."""
    incidence: np.ndarray
    """(4 K, M) the same as zeros and ones."""
    members: tuple[np.ndarray, ...]
    """The cells that appear in each observed one."""
    strata: np.ndarray
    """(M,) the number of strata in each cell."""
    levels_of: np.ndarray
    """(M, 2) Y(0) and Y(1) of each cell; -1 if it is not observed."""
    transfers: np.ndarray
    """(R, 4) pairs of cells that look alike in one arm, and the observed cells of the two in the other arm."""

    @property
    def size(self) -> int:
        """M."""
        return len(self.names)


@lru_cache(maxsize=16)
def strata_graph(levels: int, defiers: bool = True) -> StrataGraph:
    """The graph for this many outcome levels."""
    cells: list[tuple[str, int, int, int, tuple[int, int]]] = []
    observed = np.arange(4 * levels).reshape(2, 2, levels)
    for k in range(levels):
        cells.append((f"a{k}", observed[0, 1, k], observed[1, 1, k], levels, (-1, k)))
    for j in range(levels):
        cells.append((f"n{j}", observed[0, 0, j], observed[1, 0, j], levels, (j, -1)))
    for j, k in np.ndindex(levels, levels):
        cells.append((f"c{j}{k}", observed[0, 0, j], observed[1, 1, k], 1, (j, k)))
    for j, k in np.ndindex(levels, levels) if defiers else ():
        cells.append((f"d{j}{k}", observed[0, 1, k], observed[1, 0, j], 1, (j, k)))
    names, first, second, strata, levels_of = zip(*cells, strict=True)
    shown = np.array([first, second])
    incidence = (shown[:, None] == np.arange(4 * levels)[:, None]).any(axis=0).astype(np.float64)
    members = tuple(np.flatnonzero(row) for row in incidence)
    transfers = [
        (one, other, shown[arm, one], shown[arm, other])
        for node, found in enumerate(members)
        for arm in [1 if node < 2 * levels else 0]
        for one, other in combinations(found, 2)
    ]
    return StrataGraph(
        levels, defiers, names, shown, incidence, members, np.array(strata), np.array(levels_of), np.array(transfers)
    )
