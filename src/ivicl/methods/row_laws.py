"""What a method knows about the law at each row, for checks of fit, subgroups and relaxations to build on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class RowLaws:
    """The rows that a method saw, merged, and its law at each of them. The outcome is scaled to [0, 1]."""

    x: np.ndarray
    """(N,D)."""
    z: np.ndarray
    """(N,), like t, y, v and w."""
    t: np.ndarray
    y: np.ndarray
    """Mean outcome of the row's people."""
    v: np.ndarray
    """Variance of the outcome among them."""
    w: np.ndarray
    """How many people the row stands for."""
    law: np.ndarray
    """(N,2,2,2) [z][t][y]: E[1{T=t} (1-Y) | z, x] and E[1{T=t} Y | z, x], by fits that are leave-one-out at the row's
    own z."""
    propensity: np.ndarray
    """(N,) P(Z=1 | x), leave-one-out."""
