"""What the data say about the design before any bound: the first stage and the instrumental inequalities."""

from __future__ import annotations

from typing import Any

import numpy as np

from ivicl.classical.inequalities import check
from ivicl.data import IVData


def first_stage(data: IVData) -> dict[str, float]:
    """The effect of the instrument on the treatment, with its standard error and F statistic."""
    shares, sizes = [], []
    for arm in (0.0, 1.0):
        here = data.z == arm
        sizes.append(data.w[here].sum())
        shares.append(data.w[here] @ data.t[here] / sizes[-1])
    variance = sum(s * (1 - s) / n for s, n in zip(shares, sizes, strict=True))
    difference = shares[1] - shares[0]
    return {
        "treated_if_z0": float(shares[0]),
        "treated_if_z1": float(shares[1]),
        "difference": float(difference),
        "se": float(np.sqrt(variance)),
        # With no variation inside the arms the F statistic is infinite, which JSON cannot hold: report it as None.
        "f": float(difference**2 / variance) if variance > 0 else None,  # type: ignore[dict-item]
        "n_z0": int(sizes[0]),  # type: ignore[dict-item]
        "n_z1": int(sizes[1]),  # type: ignore[dict-item]
    }


def diagnose(data: IVData) -> dict[str, Any]:
    """Everything, as a dictionary that JSON can hold."""
    return {"first_stage": first_stage(data), "inequalities": [i.to_dict() for i in check(data)]}
