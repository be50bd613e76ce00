"""`bayes`: see `parts.gp_methods`."""

from __future__ import annotations

from ivicl.methods.base import Method
from ivicl.methods.baselines.parts.options import GPOptions

METHOD = Method(
    name="bayes",
    label="Bayes",
    load="ivicl.methods.baselines.parts.gp_methods:bounds_of_effect",
    interval="credible",
    summary="Gaussian-process posterior of the strata, read as an effect: too narrow",
    rests_on="The instrument is valid given the covariates; with a Gaussian-process prior on the strata.",
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
