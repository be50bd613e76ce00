"""Balke and Pearl's sharp bounds for a binary instrument, treatment and outcome, in closed form.

They hold when Z is independent of the strata (T(0), T(1), Y(0), Y(1)) jointly. Terms 1-4 need only independence of
each Y(t) by itself; terms 5-8 need the joint form, which is the one assumed here.
"""

from __future__ import annotations

import numpy as np

# The terms are linear in the law. Each entry has the constant and the signed probabilities p_yt.z of one term, in the
# order of the paper's appendix.
_LOWER = (
    (-1, "+11.1 +00.0"),
    (-1, "+11.0 +00.1"),
    (0, "-01.1 -10.1"),
    (0, "-01.0 -10.0"),
    (0, "+11.0 -11.1 -10.1 -01.0 -10.0"),
    (0, "+11.1 -11.0 -10.0 -01.1 -10.1"),
    (0, "+00.1 -01.1 -10.1 -01.0 -00.0"),
    (0, "+00.0 -01.0 -10.0 -01.1 -00.1"),
)
_UPPER = (
    (1, "-01.1 -10.0"),
    (1, "-01.0 -10.1"),
    (0, "+11.1 +00.1"),
    (0, "+11.0 +00.0"),
    (0, "-01.0 +01.1 +00.1 +11.0 +00.0"),
    (0, "-01.1 +11.1 +00.1 +01.0 +00.0"),
    (0, "-10.1 +11.1 +00.1 +11.0 +10.0"),
    (0, "-10.0 +11.0 +00.0 +11.1 +10.1"),
)


def _coefficients(rows: tuple[tuple[int, str], ...]) -> tuple[np.ndarray, np.ndarray]:
    """(8,) constants and an (8, 2, 2, 2) array of coefficients on p[z][t][y]."""
    constants = np.array([constant for constant, _ in rows], dtype=np.float64)
    table = np.zeros((8, 2, 2, 2))
    for j, (_, row) in enumerate(rows):
        for entry in row.split():
            y, t, z = int(entry[1]), int(entry[2]), int(entry[4])
            table[j, z, t, y] = 1.0 if entry[0] == "+" else -1.0
    return constants, table


LOWER_CONSTANTS, LOWER_TABLE = _coefficients(_LOWER)
UPPER_CONSTANTS, UPPER_TABLE = _coefficients(_UPPER)


def terms(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The eight lower and the eight upper terms, each (..., 8), of laws p (..., 2, 2, 2) indexed [z][t][y]."""
    p = np.asarray(p, dtype=np.float64)
    lower = LOWER_CONSTANTS + np.einsum("...zty,jzty->...j", p, LOWER_TABLE)
    upper = UPPER_CONSTANTS + np.einsum("...zty,jzty->...j", p, UPPER_TABLE)
    return lower, upper


def sharp_ends(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two ends of the identified set of the average effect, for laws p (..., 2, 2, 2) = P(T=t, Y=y | Z=z)."""
    lower, upper = terms(p)
    return lower.max(axis=-1), upper.min(axis=-1)
