"""Risk ratio and relative lift of a method that has a separate posterior for each estimand.

A ratio needs the joint posterior of its parts. Each part keeps its own posterior, and the parts depend on each other as
in joint draws of the law: the k-th largest draw of a part is replaced by the k-th largest quantile of its posterior. So
the ratio is not computed from another estimand's interval, and it agrees with its parts: a lift is above zero if the
effect on the treated is. Shapes: D draws, after the estimate.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ivicl.identification.amounts import MeanEnds
from ivicl.identification.estimands import Ends, relative_lift, risk_ratio
from ivicl.posterior import BinnedPosterior, IdentifiedSet


def ratios(heads: Mapping[str, IdentifiedSet], drawn: Mapping[str, Ends], mean_treated: np.ndarray) -> dict[str, Ends]:
    """RR and LIFT, as far as their parts are known.

    Args:
        heads: posteriors of the ends of EY1, EY0 and ATT, in outcome units.
        drawn: joint draws (1 + D,) of their ends, from the law.
        mean_treated: (1 + D,) E[Y | T=1] in the same draws.
    """
    found = {}
    if {"EY1", "EY0"} <= set(heads) & set(drawn):
        found["RR"] = risk_ratio(MeanEnds(*_parts(heads["EY1"], drawn["EY1"]), *_parts(heads["EY0"], drawn["EY0"])))
    if "ATT" in set(heads) & set(drawn):
        lower, upper = _parts(heads["ATT"], drawn["ATT"])
        nothing = np.zeros_like(lower)
        # The treated would have had this much without the treatment.
        without = MeanEnds(nothing, nothing, mean_treated - upper, mean_treated - lower)
        found["LIFT"] = relative_lift(without, mean_treated, nothing)
    return found


def _parts(posterior: IdentifiedSet, drawn: Ends) -> Ends:
    low, high = posterior.means
    return _in_its_order(posterior.lower, low, drawn[0]), _in_its_order(posterior.upper, high, drawn[1])


def _in_its_order(posterior: BinnedPosterior, mean: float, drawn: np.ndarray) -> np.ndarray:
    """The mean, followed by the posterior's quantiles in the order of the draws."""
    order = np.argsort(drawn[1:], kind="stable")
    levels = (np.arange(len(order)) + 0.5) / len(order)
    found = np.empty(len(drawn))
    found[0] = mean
    found[1:][order] = posterior.quantile(levels)
    return found
