"""`plugin`: mean over the rows of the Balke-Pearl bounds at the estimated p(y, t | z, x).

This is the simplest estimator and the weakest: its error is that of the classifier, it has no standard error, and the
maximum of noisy terms pulls both bounds inward.
"""

from __future__ import annotations

from ivicl.methods.base import Method
from ivicl.methods.baselines.parts.options import NuisanceOptions

METHOD = Method(
    name="plugin",
    label="Plug-in",
    load="ivicl.methods.baselines.parts.plugin:bounds",
    interval="estimate",
    summary="Balke-Pearl at a classifier's estimate of the law given the covariates, averaged",
    procedure="the bounds of Balke and Pearl (1997) at an estimate of the law given the covariates, averaged over "
    "people",
    reads_design=True,
    uses_covariates=True,
    options=NuisanceOptions,
    extra="baselines",
    colour="#785ef0",
    paper_name="Plug-in",
)
