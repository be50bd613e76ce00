"""Clusters, strata and sampling weights: how many people the data are worth under them, and what to know about them."""

from __future__ import annotations

import numpy as np

from ivicl.data import IVData
from ivicl.methods.design.factors import design_factors
from ivicl.methods.design.variance import Draws
from ivicl.results.diagnostics.records import Finding, SurveyDesign

FEW_CLUSTERS = 20
"""With fewer in the smaller arm (or in all, if clusters have people of both arms) the t interval is a rough guide."""
LARGE_RATIO = 100.0
"""If the largest sampling weight is more than this many times the smallest, a few people decide much of the answer."""


def survey_design(data: IVData) -> SurveyDesign | None:
    """What the design does to the data; None if people were drawn and assigned independently."""
    design = data.design
    if design is None:
        return None
    factors = design_factors(data).factor
    clusters, assigned = None, None
    if design.cluster is not None:
        arms = [len(np.unique(design.cluster[data.z == arm])) for arm in (0, 1)]
        clusters = (arms[0], arms[1])
        assigned = "by cluster" if Draws.of(data).by_cluster else "within clusters"
    ratio = None if design.sampling is None else float(design.sampling.max() / design.sampling.min())
    return SurveyDesign(
        design_effect_lower=float(1 / factors[0]),
        design_effect_upper=float(1 / factors[1]),
        effective_people=float(data.n * factors.min()),
        clusters=clusters,
        n_clusters=None if design.cluster is None else len(np.unique(design.cluster)),
        assigned=assigned,
        strata=None if design.strata is None else len(np.unique(design.strata)),
        sampling_ratio=ratio,
    )


def design_finding(found: SurveyDesign | None) -> list[Finding]:
    if found is None:
        return []
    sentence = f"The design: {found.in_short()}."
    if found.clusters is not None and _fewest(found) < FEW_CLUSTERS:
        sentence += f" With {_fewest(found)} clusters it is hardly known how much clusters differ"
        sentence += "; the interval uses Student's t, and is a rough guide."
        return [Finding("design", "look", sentence, "More clusters would help; more people in each hardly do.")]
    if found.sampling_ratio is not None and found.sampling_ratio > LARGE_RATIO:
        sentence += " A few people with large sampling weights decide much of the answer."
        return [Finding("design", "look", sentence, "See how it changes when the largest weights are cut.")]
    return [Finding("design", "ok", sentence)]


def _fewest(found: SurveyDesign) -> int:
    """How many clusters the variance is estimated from: those of the smaller arm, or all if each has people of both."""
    if found.clusters is None or found.n_clusters is None:
        return 0
    return min(found.clusters) if found.assigned == "by cluster" else found.n_clusters
