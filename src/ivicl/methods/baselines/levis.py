"""`levis`: efficient one-step bounds, following Levis, Bonvini, Zeng, Keele and Kennedy (2025, arXiv 2301.12106).

Two forms. "margin" takes, at each x, the term that is largest by the out-of-fold estimate: right when the largest
term is clearly the largest for almost every x. "smooth" replaces the maximum by log-sum-exp, which needs no margin
but overshoots by up to log(8)/s; the bounds are moved outward by that much unless corrected=False.
"""

from __future__ import annotations

import numpy as np

from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.methods.base import MethodBounds, MethodOptions
from ivicl.methods.baselines.one_step import one_step_bounds
from ivicl.methods.baselines.scores import N_TERMS, default_sharpness

OWN_OPTIONS = {"form": "margin", "interval": "imbens-manski", "sharpness": None, "corrected": True}


def bounds(data: IVData, options: MethodOptions) -> MethodBounds:
    """Options: form (margin, smooth), interval (imbens-manski, z), sharpness s, corrected, and NuisanceConfig's."""
    form = options.extra.get("form", "margin")
    if form not in ("margin", "smooth"):
        raise InputError(f'form is "{form}"; it must be "margin" or "smooth".')
    if form == "margin":
        return one_step_bounds(data, options, "levis", OWN_OPTIONS, "margin", None)
    sharpness = float(options.extra.get("sharpness") or default_sharpness(data.n))
    if not sharpness > 0.0:
        raise InputError(f"sharpness is {sharpness}; it must be positive.")
    correction = np.log(N_TERMS) / sharpness if options.extra.get("corrected", True) else 0.0
    return one_step_bounds(data, options, "levis", OWN_OPTIONS, "logsumexp", sharpness, float(correction))
