"""The least and the largest E Y(1) and E Y(0) as maxima of terms that are linear in the law: the dual of the program.

A soft law (..., 2, 2, 2) [z][t][y] has an amount's means (`laws.soft_law`); a binary outcome is the special case. Its
ends are those of `amounts.mean_ends`, which takes no maximum of terms: here are the terms, because the coefficients of
the largest one are what the data must be averaged by, and their variance is how well the end is known.
"""

from __future__ import annotations

import numpy as np


def _mean_terms(t: int, y: int) -> np.ndarray:
    """P(Y(t)=y) is at least each of four functions of the law: (4, 8) coefficients in the order [z][t][y].

    What is seen of it in either arm; and what is seen in arm 0, less the people of arm 1 with T=t and the other
    outcome, plus the excess of one outcome among those with the other treatment in arm 0.
    """
    rows = np.zeros((4, 2, 2, 2))
    rows[0, 1, t, y] = rows[1, 0, t, y] = 1
    for row, other in ((2, 0), (3, 1)):
        rows[row, 0, t, y], rows[row, 1, t, 1 - y] = 1, -1
        rows[row, 0, 1 - t, other], rows[row, 1, 1 - t, other] = 1, -1
    return rows.reshape(4, 8)


MEAN_TERMS = np.stack([_mean_terms(t, y) for t, y in ((1, 1), (1, 0), (0, 1), (0, 0))])
"""(4, 4, 8): behind the least E Y(1), the least 1 - E Y(1), the least E Y(0), the least 1 - E Y(0)."""
MEAN_TERMS.setflags(write=False)


def mean_terms(law: np.ndarray) -> np.ndarray:
    """Soft laws (..., 2, 2, 2) to (..., 4, 4): the terms of each of MEAN_TERMS."""
    terms: np.ndarray = np.einsum("...c,kjc->...kj", law.reshape(*law.shape[:-3], 8), MEAN_TERMS)
    return terms
