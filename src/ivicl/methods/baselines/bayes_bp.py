"""`bayes-bp`: see `parts.gp_methods`."""

from __future__ import annotations

from ivicl.methods.base import Method
from ivicl.methods.baselines.parts.options import GPOptions
from ivicl.methods.estimands import AVERAGE, FROM_ARMS

METHOD = Method(
    name="bayes-bp",
    label="Bayes-BP",
    load="ivicl.methods.baselines.parts.gp_methods:bounds_of_ends",
    interval="credible",
    summary="Gaussian-process posterior of the law, Balke-Pearl on each draw",
    procedure="the bounds of Balke and Pearl (1997) at draws of a Gaussian-process posterior of the law given the "
    "covariates",
    estimands=(AVERAGE, *FROM_ARMS),
    assumptions=("exchangeable", "exclusion", "no-interference", "bounded", "gaussian-process"),
    covers=("set",),
    uses_covariates=True,
    options=GPOptions,
    extra="baselines",
    colour="#ffb000",
    paper_name="Bayes-BP",
    paper_alpha=0.1,
    takes_minutes=True,
)
