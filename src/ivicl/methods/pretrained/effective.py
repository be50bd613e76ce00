"""How many people a table is worth, for each end (`methods.design.factors`): the graph has an input for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ivicl.data import IVData
from ivicl.identification.end_scores import EFFECT_ENDS, QUANTITIES
from ivicl.methods.design.factors import design_factors
from ivicl.methods.pretrained.schema_2 import Posteriors
from ivicl.methods.pretrained.stacks import Table
from ivicl.posterior import BinnedPosterior, IdentifiedSet


@dataclass(frozen=True)
class Worth:
    """The table with its design as the graph takes it, and how well the design's variances are known."""

    table: Table
    degrees: np.ndarray
    """(Q,) degrees of freedom of the design's variances: few clusters mean long tails."""

    def read(self, posteriors: Posteriors) -> tuple[BinnedPosterior, IdentifiedSet]:
        """The effect and the two ends of its identified set."""
        below, above = (float(self.degrees[place]) for place in EFFECT_ENDS)
        ends = IdentifiedSet(posteriors.of("lower").stretched(below), posteriors.of("upper").stretched(above))
        return posteriors.of("effect"), ends


def worth(table: Table, data: IVData) -> Worth:
    """The table of `data`, with what its people are worth."""
    every = design_factors(data, tuple(range(len(QUANTITIES))))
    if data.design is None:
        return Worth(table, every.degrees)
    # Leave-one-out removes one whole person, so nobody may weigh more than one: the factors make up for the rest.
    most = max(float((data.mass / data.w).max()), 1.0) if table.varies else 1.0
    return Worth(replace(table, w=table.w / most, design=every.factor * most), every.degrees)
