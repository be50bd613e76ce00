"""Effective people: what a table is worth for each end, by the graph's input for it or by the rows' weights.

Each end has a factor of its own (`methods.design.factors`). A graph that takes amounts has an input for it. Today's has
none: there the factor goes through the weights of the rows, and a table passes once for each end, unless the two are
nearly the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ivicl.data import IVData
from ivicl.identification.end_scores import QUANTITIES
from ivicl.methods.design.factors import design_factors
from ivicl.methods.pretrained.runtime import Model, Posteriors
from ivicl.methods.pretrained.stacks import Table
from ivicl.posterior import BinnedPosterior, IdentifiedSet

NEARLY_THE_SAME = 1.1
"""Factors of the two ends whose ratio is below this pass as one table, by the smaller: at most 5 % of one margin."""


@dataclass(frozen=True)
class Worth:
    """One table for each end, or one for both, and what is known of the factors."""

    tables: list[Table]
    factors: np.ndarray
    """Of the lower and the upper end, as used; then those of the other quantities, on a graph that has them."""
    degrees: np.ndarray
    """Of freedom, of the same."""

    def read(self, posteriors: Posteriors) -> tuple[BinnedPosterior, IdentifiedSet]:
        """The effect and the ends, each from the table of its own factor."""
        last = len(self.tables) - 1
        careful = 0 if last == 0 or self.factors[0] <= self.factors[1] else 1
        lower, upper = posteriors.of("lower", 0), posteriors.of("upper", last)
        ends = IdentifiedSet(lower.stretched(float(self.degrees[0])), upper.stretched(float(self.degrees[1])))
        return posteriors.of("effect", careful), ends


def worth(table: Table, data: IVData, model: Model) -> Worth:
    """The table of `data` for this graph, with what its people are worth."""
    if model.graph.takes_amounts:
        every = design_factors(data, tuple(range(len(QUANTITIES))), yes_no=False)
        # Leave-one-out removes one whole person: nobody may weigh more, so that the factors take over the rest.
        most = max(float((data.mass / data.w).max()), 1.0) if table.varies else 1.0
        told = table if data.design is None else replace(table, w=table.w / most, design=every.factor * most)
        return Worth([told], every.factor, every.degrees)
    found = design_factors(data)
    factors = found.factor
    if data.binary and table.varies:
        # Leave-one-out removes one whole person, so that with covariates whoever weighs more would leak.
        factors = np.minimum(factors, 1 / float((data.mass / data.w).max()))
    if factors.max() < NEARLY_THE_SAME * factors.min():
        factors = np.full(2, factors.min())
        return Worth([_scaled(table, float(factors[0]))], factors, found.degrees)
    return Worth([_scaled(table, float(factor)) for factor in factors], factors, found.degrees)


def _scaled(table: Table, factor: float) -> Table:
    return table if factor == 1 else replace(table, w=table.w * factor)
