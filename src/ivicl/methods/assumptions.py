"""What methods assume, in words for a reader: what each assumption means and how it could fail. Methods use the keys.

A method from elsewhere may assume something that is not listed here: it then gives a sentence instead of a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Assumption:
    """One assumption. In its texts {given} becomes " given the covariates" if they were used."""

    title: str
    meaning: str
    """{low} and {high} are the ends of the outcome's range."""
    failure: str
    clause: str = ""
    """A phrase for the ladder; empty for what every method needs."""
    denial: str = ""
    """How a reader is told that it is not assumed: "that ..."; empty if nobody would expect the assumption."""
    implies: tuple[str, ...] = ()
    """Keys of assumptions that follow from it, and so are made too."""
    instrument: bool = False
    """It is about the instrument: a method without any such assumption makes no use of the instrument."""


ASSUMPTIONS = {
    "exchangeable": Assumption(
        "Exchangeable instrument",
        "The instrument is as good as randomised{given}: it is independent of how each person would act and fare.",
        "Assignment that could be foreseen or chosen; a common cause of instrument and outcome that is not among "
        "the covariates; people lost from one arm more than from the other.",
        clause="an instrument as good as randomised{given}",
        implies=("mean-independent",),
        denial="that the instrument is independent of how each person would act and fare",
        instrument=True,
    ),
    "mean-independent": Assumption(
        "Mean-independent instrument",
        "Each mean potential outcome is the same in both arms of the instrument{given}.",
        "Assignment that could be foreseen or chosen; people lost from one arm more than from the other.",
        clause="equal mean potential outcomes in both arms of the instrument{given}",
        denial="that mean potential outcomes are equal in both arms of the instrument",
        instrument=True,
    ),
    "exclusion": Assumption(
        "Exclusion",
        "The instrument changes the outcome only through the treatment.",
        "Being assigned has an effect of its own: encouragement, disappointment, other care, other follow-up.",
        clause="no effect of the instrument but through the treatment",
        denial="that the instrument acts through the treatment alone",
        instrument=True,
    ),
    "no-defiers": Assumption(
        "No defiers",
        "The instrument moves nobody against its direction.",
        "People who do the opposite of what they are asked; an instrument that helps some and hinders others.",
        clause="nobody moved against the instrument's direction",
        denial="that there are no defiers",
        instrument=True,
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
        clause="an outcome in its range",
    ),
    "lost-at-random": Assumption(
        "Lost like the others",
        "Those whose outcome is missing, and who were left out, fare like the others with the same instrument and "
        "treatment{given}, and leaving them out does not change who is treated in which arm.",
        "People who drop out because they fare badly, or well; a follow-up that is better in one arm. With "
        "missing_outcome='bounds' nothing is assumed about them.",
    ),
    "equal-effects": Assumption(
        "Equal effects",
        "The treatment does the same to everybody{given}.",
        "People whom it helps more than others, in ways that go with who takes it.",
        clause="equal effects{given}",
        implies=("compliers-alike",),
        denial="that effects are equal",
    ),
    "compliers-alike": Assumption(
        "Compliers like the others",
        "The average effect among compliers is that of everybody{given}.",
        "People who comply because they expect to gain, or who are easier to reach.",
        clause="compliers like the others{given}",
        denial="that compliers resemble the others",
    ),
    "prior": Assumption(
        "Prior",
        "Before the data, the types of people (how they act, how they fare) are exchangeable and usually few of them "
        "are common.",
        "Between the ends of the identified set the data are silent: there the shape of the posterior, its median and "
        "the probability of a positive effect come from the prior, however many people there are.",
        clause="a prior on the types of people",
    ),
    "gaussian-process": Assumption(
        "Prior",
        "Before the data, what is fitted is a smooth random function of the covariates (a Gaussian process).",
        "A law that jumps or depends on many covariates at once; an approximate posterior, which is too sure.",
        clause="a Gaussian-process prior",
    ),
    "large-sample": Assumption(
        "Large sample",
        "There are so many people that estimates are close to normal; what is learnt from covariates is learnt well.",
        "Few people in a cell; covariates that act in a way the learners do not capture.",
        clause="a large sample",
    ),
}
"""Key -> assumption, in the order in which a reader meets them."""

NO_DEFIERS = "no-defiers"
"""The key of the assumption that users may grant by `assume=`, for methods that check for it."""


def in_reading_order(assumed: Sequence[str]) -> list[str]:
    """Known keys first, in the order of ASSUMPTIONS; then the method's own sentences."""
    return [key for key in ASSUMPTIONS if key in assumed] + own_sentences(assumed)


def own_sentences(assumed: Sequence[str]) -> list[str]:
    """The assumptions that a method gives as sentences."""
    return [text for text in assumed if text not in ASSUMPTIONS]


def uses_instrument(assumed: Sequence[str]) -> bool:
    """False if all assumptions are known keys, and none of them is about the instrument."""
    return not assumed or any(key not in ASSUMPTIONS or ASSUMPTIONS[key].instrument for key in assumed)


def in_short(assumed: Sequence[str], adjusted: bool) -> str:
    """A line for the ladder: what is assumed, except for what every method needs."""
    given = " given the covariates" if adjusted else ""
    phrases = [ASSUMPTIONS[key].clause.format(given=given) for key in ASSUMPTIONS if key in assumed]
    listed = "; ".join(phrase for phrase in phrases if phrase)
    sentences = [f"{listed[0].upper()}{listed[1:]}."] if listed else []
    return " ".join(sentences + own_sentences(assumed))


def denials(assumed: Sequence[str]) -> list[str]:
    """What a reader may expect to be assumed but is not: "that ..." clauses.

    Empty if a method gives an assumption as a sentence, because it is then unknown what follows from it.
    """
    if own_sentences(assumed) or not assumed:
        return []
    held = {*assumed, *(implied for key in assumed for implied in ASSUMPTIONS[key].implies)}
    return [a.denial for key, a in ASSUMPTIONS.items() if a.denial and key not in held]
