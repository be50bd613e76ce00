"""What the network says besides the effect: other estimands, each by its own head, and the law at the rows."""

from __future__ import annotations

import numpy as np

from ivicl.data import IVData
from ivicl.methods.pretrained.schema_2 import MEANS, PAIRS, POINT, QUANTITIES, Posteriors
from ivicl.methods.pretrained.stacks import Table
from ivicl.methods.row_laws import RowLaws
from ivicl.posterior import IdentifiedSet


def ends_by_estimand(
    posteriors: Posteriors, data: IVData, no_defiers: bool, degrees: np.ndarray | None = None
) -> dict[str, IdentifiedSet]:
    """Posteriors of both ends by estimand, in outcome units; without averages over nobody, and without the LATE unless
    `no_defiers` says that it is identified.

    `degrees` are degrees of freedom of a design's variances, one for each of QUANTITIES: few clusters mean long tails.
    """
    low, high = data.outcome_range
    every = {}
    for place, name in enumerate(QUANTITIES):
        one = posteriors.of(name)
        every[name] = one if degrees is None else one.stretched(float(degrees[place]))
    found = {}
    for name in PAIRS:
        ends = IdentifiedSet(every[f"{name} lower"], every[f"{name} upper"])
        found[name] = ends.scaled(high - low, low if name in MEANS else 0.0)
    if no_defiers:
        late = every[POINT].scaled(high - low)
        found[POINT] = IdentifiedSet(late, late)
    nobody = {"ATT": not data.t.any(), "ATU": bool(data.t.all())}
    return {name: ends for name, ends in found.items() if not nobody.get(name)}


def rows_seen(table: Table, posteriors: Posteriors) -> RowLaws | None:
    """The table's rows (some of them, if it is large) with the law at each; None if no covariate makes them differ."""
    known = posteriors.rows[0]
    if not table.varies or known is None:
        return None
    v = 0 * table.w if table.v is None else table.v
    columns = (table.x, table.z, table.t, table.y, v, table.w)
    if known.places is not None:
        x, z, t, y, v, w = (column[known.places] for column in columns)
        return RowLaws(x, z, t, y, v, w, known.law, known.propensity)
    return RowLaws(*columns, known.law[: table.rows], known.propensity[: table.rows])
