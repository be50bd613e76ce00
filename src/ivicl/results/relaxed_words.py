"""What a sensitivity curve means, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ivicl._shared.numbers import rounded_interval
from ivicl.methods.estimands import estimand
from ivicl.results.relaxed import Curves, Relaxation

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult


def breakdown_sentence(
    relaxation: Relaxation,
    binary: bool,
    at_zero: tuple[float, float],
    breakdown: float | None,
    breakdown_estimate: float | None,
    curves: Curves,
) -> str:
    """How far the assumption may fail before the sign is uncertain, for a reader."""
    effect = estimand(relaxation.estimand).short
    unless = relaxation.share if binary or not relaxation.amounts else relaxation.amounts
    side = "above" if at_zero[0] > 0 else "below"

    def amount(eps: float) -> str:
        return f"{100 * eps:.3g} %"

    if not curves.can_move:
        return (
            "Nobody was treated in one arm of the instrument, or everybody in the other, so there can be no defiers: "
            f"the {effect} stays where it is."
        )
    if breakdown == 0:
        said = (
            f"Even if {relaxation.holds}, the sign of the {effect} is not certain: the interval "
            f"{rounded_interval(*at_zero)} holds zero."
        )
        if breakdown_estimate:
            said += (
                " By the estimated bounds, without allowance for sampling error, it would be certain unless "
                f"{unless.format(amount=amount(breakdown_estimate))}."
            )
        return said
    if breakdown is None:
        return f"The {effect} is {side} zero, however far this assumption fails."
    said = f"The {effect} is {side} zero unless {unless.format(amount=amount(breakdown))}"
    if breakdown_estimate is not None and breakdown_estimate > breakdown:
        said += f" ({amount(breakdown_estimate)} by the estimated bounds, without allowance for sampling error)"
    return said + "."


def notes(result: BoundsResult, curves: Curves) -> tuple[str, ...]:
    """What to know about the curves."""
    said = []
    if curves.anchored:
        said.append(
            f"At zero the interval is the result's own for the {estimand(curves.relaxation.estimand).short}; from "
            "there it moves as the quantiles of the posterior of the bounds do."
        )
    else:
        said.append(
            "The interval comes from posterior draws of the law of treatment and outcome in the two arms, under a "
            "Dirichlet prior."
        )
    if result.covariates and curves.law.adjusted:
        said.append("The share holds at every value of the covariates, and the bounds are averaged over them.")
    elif result.covariates and curves.relaxation.within_covariates:
        said.append(
            "The share holds at every value of the covariates. How far the bounds move was computed at the law of each "
            f"person given them, which is estimated by {curves.learner}, and averaged."
        )
    elif result.covariates:
        said.append("How far the bounds move was computed without the covariates.")
    if curves.law.excess > 0:
        said.append(
            f"The sample contradicts the assumptions by {100 * curves.law.excess:.3g} % of an arm's people; the bounds "
            "are those of the nearest law that does not."
        )
    if not result.binary:
        said.append("The bounds are those that the means of the outcome allow.")
    return tuple(said)
