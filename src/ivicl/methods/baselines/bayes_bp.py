"""`bayes-bp`: see `parts.gp_methods`."""

from __future__ import annotations

from ivicl.methods.base import Method
from ivicl.methods.baselines.parts.options import GPOptions

METHOD = Method(
    name="bayes-bp",
    label="Bayes-BP",
    load="ivicl.methods.baselines.parts.gp_methods:bounds_of_ends",
    interval="credible",
    summary="Gaussian-process posterior of the law, Balke-Pearl on each draw",
    rests_on="The instrument is valid given the covariates; with a Gaussian-process prior on the law.",
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
