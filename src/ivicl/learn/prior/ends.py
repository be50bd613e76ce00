"""Balke-Pearl's eight lower and eight upper terms in torch, as two constant matrices, so that they export as matmuls.

The numpy form for users is `ivicl.methods.classical.balke_pearl`; a test holds the two together.
"""

from __future__ import annotations

from torch import Tensor


def _row(constant: float = 0.0, **coefficients: float) -> list[float]:
    """Coefficients by name `p{y}{t}_{z}`, as in the paper, into the order [z][t][y] and a constant."""
    row = [0.0] * 9
    for name, value in coefficients.items():
        y, t, z = int(name[1]), int(name[2]), int(name[4])
        row[4 * z + 2 * t + y] = value
    row[8] = constant
    return row


_LOWER = [
    _row(-1, p11_1=1, p00_0=1),
    _row(-1, p11_0=1, p00_1=1),
    _row(p01_1=-1, p10_1=-1),
    _row(p01_0=-1, p10_0=-1),
    _row(p11_0=1, p11_1=-1, p10_1=-1, p01_0=-1, p10_0=-1),
    _row(p11_1=1, p11_0=-1, p10_0=-1, p01_1=-1, p10_1=-1),
    _row(p00_1=1, p01_1=-1, p10_1=-1, p01_0=-1, p00_0=-1),
    _row(p00_0=1, p01_0=-1, p10_0=-1, p01_1=-1, p00_1=-1),
]
_UPPER = [
    _row(1, p01_1=-1, p10_0=-1),
    _row(1, p01_0=-1, p10_1=-1),
    _row(p11_1=1, p00_1=1),
    _row(p11_0=1, p00_0=1),
    _row(p01_0=-1, p01_1=1, p00_1=1, p11_0=1, p00_0=1),
    _row(p01_1=-1, p11_1=1, p00_1=1, p01_0=1, p00_0=1),
    _row(p10_1=-1, p11_1=1, p00_1=1, p11_0=1, p10_0=1),
    _row(p10_0=-1, p11_0=1, p00_0=1, p11_1=1, p10_1=1),
]


def sharp_terms(law: Tensor) -> tuple[Tensor, Tensor]:
    """(...,2,2,2) P(T=t, Y=y | Z=z) -> the lower terms (...,8) and the upper terms (...,8)."""
    flat = law.flatten(-3)
    lower, upper = flat.new_tensor(_LOWER), flat.new_tensor(_UPPER)
    return flat @ lower[:, :8].T + lower[:, 8], flat @ upper[:, :8].T + upper[:, 8]


def sharp_ends(law: Tensor) -> tuple[Tensor, Tensor]:
    """The two ends of the identified set of the average effect, each of law's leading shape."""
    lower, upper = sharp_terms(law)
    return lower.amax(-1), upper.amin(-1)
