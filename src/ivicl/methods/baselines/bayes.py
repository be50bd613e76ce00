"""`bayes`: see `parts.gp_methods`."""

from __future__ import annotations

from ivicl.methods.base import Method
from ivicl.methods.baselines.parts.options import GPOptions
from ivicl.methods.estimands import AVERAGE, FROM_ARMS

METHOD = Method(
    name="bayes",
    label="Bayes",
    load="ivicl.methods.baselines.parts.gp_methods:bounds_of_effect",
    interval="credible",
    summary="Gaussian-process posterior of the strata, read as an effect: too narrow",
    procedure="a Gaussian-process posterior of the shares of the sixteen types of people given the covariates",
    estimands=(AVERAGE, *FROM_ARMS),
    assumptions=("exchangeable", "exclusion", "no-interference", "bounded", "gaussian-process"),
    covers=("effect",),
    uses_covariates=True,
    options=GPOptions,
    extra="baselines",
    colour="#9e9e9e",
    paper_name="Bayes",
    paper_alpha=0.01,
    takes_minutes=True,
)
