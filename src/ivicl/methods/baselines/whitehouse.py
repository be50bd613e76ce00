"""`whitehouse`: softmax-smoothed one-step bounds, following Whitehouse, Austern and Syrgkanis (2025, arXiv 2507.11780).

The maximum of the eight terms is replaced by their mean under softmax weights. It falls short of the maximum by at
most 0.973 / beta, so both bounds err outward, and it is smooth, so normal intervals hold with or without a margin as
beta grows.
"""

from __future__ import annotations

from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.methods.base import MethodBounds, MethodOptions
from ivicl.methods.baselines.one_step import one_step_bounds
from ivicl.methods.baselines.scores import SOFTMAX_GAP, default_sharpness

OWN_OPTIONS = {"beta": None, "interval": "imbens-manski"}


def bounds(data: IVData, options: MethodOptions) -> MethodBounds:
    """Options: beta (default n^(1/4) log n), interval ("imbens-manski", "z"), and NuisanceConfig's."""
    given = options.extra.get("beta")
    beta = default_sharpness(data.n) if given is None else float(given)
    if not beta > 0.0:
        raise InputError(f"beta is {beta}; it must be positive.")
    largest_gap = SOFTMAX_GAP / beta * (data.outcome_range[1] - data.outcome_range[0])
    return one_step_bounds(
        data, options, "whitehouse", OWN_OPTIONS, "softmax", beta, extra_details={"largest_smoothing_gap": largest_gap}
    )
