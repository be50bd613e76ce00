"""What the people of a table are worth, for each end: the graph has an input for it (`methods.design.factors`)."""

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
    """The table as the graph is told of it, and what is known of the factors."""

    table: Table
    degrees: np.ndarray
    """(Q,) of freedom of the design's variances: few clusters have long tails."""

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
    # Leave-one-out removes one whole person: nobody may weigh more, so that the factors take over the rest.
    most = max(float((data.mass / data.w).max()), 1.0) if table.varies else 1.0
    return Worth(replace(table, w=table.w / most, design=every.factor * most), every.degrees)
