"""The report's sentences: the question, the answer, the assumptions, and a methods paragraph ready to paste."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ivicl._shared.numbers import rounded, rounded_interval
from ivicl.methods.outcomes import COMBINATIONS
from ivicl.results.tables import level

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult

ESTIMAND = {
    "ATE": "the average effect of the treatment on everybody in the data (the sample average treatment effect)",
    "LATE": "the average effect of the treatment on compliers, those whom the instrument moves",
}


def name_of(result: BoundsResult, role: str) -> str:
    column = result.codings.get(role, {}).get("column")
    return f"the {role} '{column}'" if column else f"the {role}"


def question_sentence(result: BoundsResult) -> str:
    treatment, outcome = name_of(result, "treatment"), name_of(result, "outcome")
    return (
        f"By how much would the average of {outcome} differ if everybody had had {treatment} rather than nobody? "
        f"People did not all do as {name_of(result, 'instrument')} says, and those who did may differ from those who "
        "did not. So the treated and the untreated cannot simply be compared, and the data alone leave a range of "
        "answers."
    )


def answer_sentence(result: BoundsResult) -> str:
    unit = "as a difference of probabilities" if result.binary else "in units of the outcome"
    kind = level(result)
    lead = f"The {'average effect' if result.estimand == 'ATE' else 'effect among compliers'} lies between "
    lead += f"{rounded(result.lower, result.width)} and {rounded(result.upper, result.width)} ({unit}; {kind})."
    if result.lower > 0:
        verdict = " An effect of zero lies below the interval: the treatment raises the outcome on average."
    elif result.upper < 0:
        verdict = " An effect of zero lies above the interval: the treatment lowers the outcome on average."
    else:
        verdict = " An effect of zero lies inside the interval: these data and assumptions do not settle its sign."
    return lead + verdict


def data_rows(result: BoundsResult) -> list[tuple[str, str]]:
    rows = []
    for role in ("instrument", "treatment", "outcome"):
        coding = result.codings.get(role)
        if coding:
            values = f": {coding['one']} is 1, {coding['zero']} is 0" if "one" in coding else ""
            rows.append((role.capitalize(), f"{coding['column']}{values}"))
    if not result.binary:
        low, high = result.outcome_range
        rows.append(("Outcome's range", f"{low:g} to {high:g}"))
    rows.append(("People", f"{result.n:,}" + (f" in {result.n_rows:,} rows" if result.n != result.n_rows else "")))
    stage = result.diagnostics.get("first_stage")
    if stage:
        rows.append(("Arms", f"{stage['n_z0']:,} with Z = 0, {stage['n_z1']:,} with Z = 1"))
    rows.append(("Rows dropped", f"{result.n_dropped:,}"))
    rows.append(("Covariates", ", ".join(result.covariates) or "none"))
    return rows


def assumptions(result: BoundsResult) -> list[tuple[str, str, str]]:
    """(name, what is assumed, how it could fail)."""
    given = " given the covariates" if result.covariates else ""
    rows = [
        (
            "Exchangeable instrument",
            f"The instrument is as good as randomised{given}: it is independent of how each person would act and fare.",
            "Assignment that could be foreseen or chosen; a common cause of instrument and outcome that is not among "
            "the covariates; people lost from one arm more than from the other.",
        ),
        (
            "Exclusion",
            "The instrument changes the outcome only through the treatment.",
            "Being assigned has an effect of its own: encouragement, disappointment, other care, other follow-up.",
        ),
        (
            "No interference",
            "One person's treatment does not change another's outcome, and there is one version of the treatment.",
            "Contagion, shared classrooms or wards, places that run out, sites that deliver different treatments.",
        ),
        (
            "Bounded outcome",
            f"Every outcome, seen or not, lies between {result.outcome_range[0]:g} and {result.outcome_range[1]:g}.",
            "Outcomes beyond the range for people as they would have been under the other treatment."
            if not result.binary
            else "It holds by definition: the outcome is binary.",
        ),
    ]
    if result.posterior is not None:
        rows.append(
            (
                "Prior",
                "Before the data, the sixteen types of people (how they act, how they fare) are exchangeable and "
                "usually few of them are common.",
                "Between the ends of the identified set the data are silent: there the shape of the posterior, its "
                "median and the probability of a positive effect come from the prior, however many people there are.",
            )
        )
    if result.estimand == "LATE":
        rows.append(
            (
                "No defiers",
                "The instrument moves nobody against its direction.",
                "People who do the opposite of what they are asked; an instrument that helps some and hinders others.",
            )
        )
    else:
        rows.append(
            (
                "Not assumed",
                "That there are no defiers; that effects are equal; that compliers resemble the others.",
                "Nothing rests on it.",
            )
        )
    return rows


def methods_paragraph(result: BoundsResult) -> str:
    """For the methods section of a paper."""
    stage = result.diagnostics.get("first_stage", {})
    text = (
        f"We bounded {ESTIMAND.get(result.estimand, result.estimand)} with {name_of(result, 'instrument')} as an "
        f"instrumental variable for {name_of(result, 'treatment')} (N = {result.n:,}"
    )
    if stage:
        text += f"; treated {100 * stage['treated_if_z1']:.1f} % against {100 * stage['treated_if_z0']:.1f} %"
    text += "). "
    if result.method == "ivicl" and result.model:
        text += (
            f"Bounds are {_quantiles(result)}, computed by a pretrained "
            f"in-context network (ivicl {result.version}, model {result.model['name']}, sha256 "
            f"{result.model['sha256'][:12]}) that was trained on simulated instrumental-variable studies; "
        )
    else:
        text += f"Bounds were computed with the method '{result.method}' of ivicl {result.version}; "
    covariates = f"covariates were {', '.join(result.covariates)}" if result.covariates else "no covariates were used"
    text += f"{covariates}. The interval {rounded_interval(result.lower, result.upper)} is {_kind(result)}. "
    if not result.binary and "combine" in result.details:
        text += (
            f"The outcome, between {result.outcome_range[0]:g} and {result.outcome_range[1]:g}, was turned into "
            f"{result.details['n_binary_problems']} binary problems (combination '{result.details['combine']}'). "
            f"{COMBINATIONS[result.details['combine']]} "
        )
        if result.details.get("thresholds", {}).get("slack"):
            text += (
                f"Rounding moves the effect by at most {rounded(result.details['thresholds']['slack'], result.width)}. "
            )
    return text + "No assumption was made on defiers or on the homogeneity of effects."


def _quantiles(result: BoundsResult) -> str:
    if result.covers == "set":
        return (
            f"the {50 * result.alpha:g} % quantile of the lower and the {100 - 50 * result.alpha:g} % quantile of the "
            "upper end of the identified set, from their posterior distributions"
        )
    return "quantiles of the posterior distribution of the effect"


def _kind(result: BoundsResult) -> str:
    if result.is_credible:
        return f"a {100 * (1 - result.alpha):g} % credible interval"
    if result.details.get("sampling_error", True):
        return f"a {100 * (1 - result.alpha):g} % confidence interval"
    return "the formula's value in the sample, without allowance for sampling error"
