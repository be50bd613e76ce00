"""What methods assume, in words for a reader: what it means and how it could fail. Methods name them by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Assumption:
    """One assumption. In `meaning`, {given} becomes " given the covariates" where there are some."""

    title: str
    meaning: str
    failure: str
    denial: str = ""
    """How a reader is told that it is not assumed: "that ..."; empty for what no method can do without."""


ASSUMPTIONS = {
    "exchangeable": Assumption(
        "Exchangeable instrument",
        "The instrument is as good as randomised{given}: it is independent of how each person would act and fare.",
        "Assignment that could be foreseen or chosen; a common cause of instrument and outcome that is not among "
        "the covariates; people lost from one arm more than from the other.",
    ),
    "mean-independent": Assumption(
        "Mean-independent instrument",
        "Each mean potential outcome is the same in both arms of the instrument{given}.",
        "Assignment that could be foreseen or chosen; people lost from one arm more than from the other.",
    ),
    "exclusion": Assumption(
        "Exclusion",
        "The instrument changes the outcome only through the treatment.",
        "Being assigned has an effect of its own: encouragement, disappointment, other care, other follow-up.",
    ),
    "no-interference": Assumption(
        "No interference",
        "One person's treatment does not change another's outcome, and there is one version of the treatment.",
        "Contagion, shared classrooms or wards, places that run out, sites that deliver different treatments.",
    ),
    "bounded": Assumption(
        "Bounded outcome",
        "Every outcome, seen or not, lies between {low:g} and {high:g}.",
        "Outcomes beyond the range for people as they would have been under the other treatment.",
    ),
    "no-defiers": Assumption(
        "No defiers",
        "The instrument moves nobody against its direction.",
        "People who do the opposite of what they are asked; an instrument that helps some and hinders others.",
        denial="that there are no defiers",
    ),
    "prior": Assumption(
        "Prior",
        "Before the data, the sixteen types of people (how they act, how they fare) are exchangeable and usually few "
        "of them are common.",
        "Between the ends of the identified set the data are silent: there the shape of the posterior, its median and "
        "the probability of a positive effect come from the prior, however many people there are.",
    ),
    "gaussian-process": Assumption(
        "Prior",
        "Before the data, what is fitted is a smooth random function of the covariates (a Gaussian process).",
        "A law that jumps or depends on many covariates at once; an approximate posterior, which is too sure.",
    ),
}
"""Key -> assumption, in the order in which a reader meets them."""

NEVER_ASSUMED = ("that effects are equal", "that compliers resemble the others")
"""What no method here assumes."""


def denials(assumed: Sequence[str]) -> list[str]:
    """What a reader may expect to be assumed and is not: "that ..." clauses."""
    return [a.denial for key, a in ASSUMPTIONS.items() if a.denial and key not in assumed] + list(NEVER_ASSUMED)
