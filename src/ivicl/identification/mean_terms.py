"""The least and the largest E Y(1) and E Y(0) as maxima of terms that are linear in the law: the dual of the program.

A soft law (..., 2, 2, 2) [z][t][y] has an amount's means (`laws.soft_law`); a binary outcome is the special case. The
ends are the same as in `amounts.mean_ends`, which computes them without terms. The terms are needed because the end is
an average over the data of the largest term's coefficients, whose variance says how well the end is known.
"""

from __future__ import annotations

import numpy as np


def _mean_terms(t: int, y: int) -> np.ndarray:
    """P(Y(t)=y) is at least each of four functions of the law: (4, 8) coefficients in the order [z][t][y].

    Two are P(T=t, Y=y) in either arm. The other two are P(T=t, Y=y) in arm 0, minus P(T=t, Y=1-y) in arm 1, plus the
    amount by which arm 0 exceeds arm 1 in people with the other treatment and one of the two outcomes.
    """
    rows = np.zeros((4, 2, 2, 2))
    rows[0, 1, t, y] = rows[1, 0, t, y] = 1
    for row, other in ((2, 0), (3, 1)):
        rows[row, 0, t, y], rows[row, 1, t, 1 - y] = 1, -1
        rows[row, 0, 1 - t, other], rows[row, 1, 1 - t, other] = 1, -1
    return rows.reshape(4, 8)


MEAN_TERMS = np.stack([_mean_terms(t, y) for t, y in ((1, 1), (1, 0), (0, 1), (0, 0))])
"""(4, 4, 8): the terms of the least E Y(1), the least 1 - E Y(1), the least E Y(0), the least 1 - E Y(0)."""
MEAN_TERMS.setflags(write=False)


def mean_terms(law: np.ndarray) -> np.ndarray:
    """From soft laws (..., 2, 2, 2) to the values (..., 4, 4) of MEAN_TERMS."""
    terms: np.ndarray = np.einsum("...c,kjc->...kj", law.reshape(*law.shape[:-3], 8), MEAN_TERMS)
    return terms
