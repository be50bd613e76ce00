"""`levis`: efficient one-step bounds, following Levis, Bonvini, Zeng, Keele and Kennedy (2025, arXiv 2301.12106).

There are two forms. "margin" takes, at each x, the term that is largest by the out-of-fold estimate: valid if the
largest term is clearly the largest for almost every x. "smooth" replaces the maximum by log-sum-exp, which needs no
margin but overshoots by up to log(8)/s; the bounds are moved outward by that much unless corrected=False.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.methods.base import Method, MethodBounds, Request
from ivicl.methods.baselines.parts.options import OneStepOptions
from ivicl.methods.estimands import AVERAGE, FROM_ARMS

FORMS = ("margin", "smooth")


@dataclass(frozen=True)
class LevisOptions(OneStepOptions):
    """The form of the estimator, and how its nuisances are fitted."""

    form: str = "margin"
    """"margin" takes the largest term at each x, "smooth" takes the log-sum-exp of all terms."""
    sharpness: float | None = None
    """s of the smooth form; n^(1/4) log n when None."""
    corrected: bool = True
    """Move the smooth form's bounds outward by log(8)/s, the most by which they can be too narrow."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form not in FORMS:
            raise InputError(f'form is "{self.form}"; it must be "margin" or "smooth".')
        if self.sharpness is not None and not self.sharpness > 0.0:
            raise InputError(f"sharpness is {self.sharpness}; it must be positive.")


def bounds(data: IVData, request: Request) -> MethodBounds:
    from ivicl.methods.baselines.parts.one_step import one_step_bounds
    from ivicl.methods.baselines.parts.scores import N_TERMS, default_sharpness

    own: LevisOptions = request.own
    if own.form == "margin":
        return one_step_bounds(data, request, "margin", None)
    sharpness = float(own.sharpness or default_sharpness(data.n))
    correction = math.log(N_TERMS) / sharpness if own.corrected else 0.0
    return one_step_bounds(data, request, "logsumexp", sharpness, correction)


METHOD = Method(
    name="levis",
    label="Levis et al.",
    load=bounds,
    interval="confidence",
    summary="efficient one-step bounds, following Levis et al. (2025)",
    procedure="the efficient one-step estimator of covariate-adjusted bounds, following Levis et al. (2025)",
    estimands=(AVERAGE, *FROM_ARMS),
    assumptions=("exchangeable", "exclusion", "no-interference", "bounded", "large-sample"),
    covers=("effect", "set"),
    reads_design=True,
    uses_covariates=True,
    options=LevisOptions,
    extra="baselines",
    colour="#2a9d8f",
    paper_name="Levis et al.",
    paper_alpha=0.05,
)
