"""`whitehouse`: softmax-smoothed one-step bounds, following Whitehouse, Austern and Syrgkanis (2025, arXiv 2507.11780).

The maximum of the eight terms is replaced by their mean under softmax weights. It falls short of the maximum by at
most 0.973 / beta, so both bounds err outward, and it is smooth, so normal intervals hold with or without a margin as
beta grows.
"""

from __future__ import annotations

from dataclasses import dataclass

from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.methods.base import Method, MethodBounds, Request
from ivicl.methods.baselines.parts.options import OneStepOptions
from ivicl.methods.estimands import AVERAGE, FROM_ARMS


@dataclass(frozen=True)
class WhitehouseOptions(OneStepOptions):
    """How sharp the softmax is, and how the nuisances are fitted."""

    beta: float | None = None
    """Sharpness of the softmax; n^(1/4) log n when None."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta is not None and not self.beta > 0.0:
            raise InputError(f"beta is {self.beta}; it must be positive.")


def bounds(data: IVData, request: Request) -> MethodBounds:
    from ivicl.methods.baselines.parts.one_step import one_step_bounds
    from ivicl.methods.baselines.parts.scores import SOFTMAX_GAP, default_sharpness

    given = request.own.beta
    beta = default_sharpness(data.n) if given is None else float(given)
    largest_gap = SOFTMAX_GAP / beta * (data.outcome_range[1] - data.outcome_range[0])
    return one_step_bounds(data, request, "softmax", beta, extra_details={"largest_smoothing_gap": largest_gap})


METHOD = Method(
    name="whitehouse",
    label="Whitehouse et al.",
    load=bounds,
    interval="confidence",
    summary="softmax-smoothed one-step bounds, following Whitehouse et al. (2025)",
    procedure="the softmax-smoothed one-step estimator of covariate-adjusted bounds, following Whitehouse et al. "
    "(2025)",
    estimands=(AVERAGE, *FROM_ARMS),
    assumptions=("exchangeable", "exclusion", "no-interference", "bounded", "large-sample"),
    covers=("effect", "set"),
    reads_design=True,
    uses_covariates=True,
    options=WhitehouseOptions,
    extra="baselines",
    colour="#8d6e63",
    paper_name="Whitehouse et al.",
    paper_alpha=0.05,
)
