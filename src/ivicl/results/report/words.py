"""The report's sentences: the question, the answer, the assumptions, and a methods paragraph ready to paste."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ivicl._shared.numbers import rounded, rounded_interval
from ivicl.methods.assumptions import ASSUMPTIONS, denials
from ivicl.methods.outcomes import COMBINATIONS
from ivicl.results.tables import level

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult

ESTIMAND = {
    "ATE": "the average effect of the treatment on everybody in the data (the sample average treatment effect)",
    "LATE": "the average effect of the treatment on compliers, those whom the instrument moves",
}


def name_of(result: BoundsResult, role: str) -> str:
    return f"the {role} '{result.codings[role].column}'" if role in result.codings else f"the {role}"


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
            values = f": {coding.one} is 1, {coding.zero} is 0" if coding.one is not None else ""
            rows.append((role.capitalize(), f"{coding.column}{values}"))
    if not result.binary:
        low, high = result.outcome_range
        rows.append(("Outcome's range", f"{low:g} to {high:g}"))
    rows.append(("People", f"{result.n:,}" + (f" in {result.n_rows:,} rows" if result.n != result.n_rows else "")))
    stage = result.diagnostics.first_stage
    rows.append(("Arms", f"{stage.n_z0:,} with Z = 0, {stage.n_z1:,} with Z = 1"))
    rows.append(("Rows dropped", f"{result.n_dropped:,}"))
    rows.append(("Covariates", ", ".join(result.covariates) or "none"))
    return rows


def assumptions(result: BoundsResult) -> list[tuple[str, str, str]]:
    """(name, what is assumed, how it could fail)."""
    low, high = result.outcome_range
    given = " given the covariates" if result.adjusted else ""
    rows = []
    for key in result.assumptions:
        known = ASSUMPTIONS.get(key)
        if known is None:  # of a method from elsewhere: its own words
            rows.append((key, key, ""))
            continue
        failure = (
            "It holds by definition: the outcome is binary." if key == "bounded" and result.binary else known.failure
        )
        rows.append((known.title, known.meaning.format(given=given, low=low, high=high), failure))
    clauses = "; ".join(denials(result.assumptions))
    return [*rows, ("Not assumed", f"{clauses[0].upper()}{clauses[1:]}.", "Nothing rests on it.")]


def methods_paragraph(result: BoundsResult) -> str:
    """For the methods section of a paper."""
    stage = result.diagnostics.first_stage
    text = (
        f"We bounded {ESTIMAND.get(result.estimand, result.estimand)} with {name_of(result, 'instrument')} as an "
        f"instrumental variable for {name_of(result, 'treatment')} (N = {result.n:,}; treated "
        f"{100 * stage.treated_if_z1:.1f} % against {100 * stage.treated_if_z0:.1f} %). "
    )
    if result.model:
        text += (
            f"Bounds are {_quantiles(result)}, computed by a pretrained "
            f"in-context network (ivicl {result.version}, model {result.model.name}, sha256 "
            f"{result.model.sha256[:12]}) that was trained on simulated instrumental-variable studies; "
        )
    else:
        text += f"Bounds were computed with the method '{result.method}' of ivicl {result.version}; "
    covariates = f"covariates were {', '.join(result.covariates)}" if result.adjusted else "no covariates were used"
    text += f"{covariates}. The interval {rounded_interval(result.lower, result.upper)} is {_kind(result)}. "
    cuts = result.thresholds
    if cuts is not None:
        text += (
            f"The outcome, between {result.outcome_range[0]:g} and {result.outcome_range[1]:g}, was turned into "
            f"{cuts.problems} binary problems (combination '{cuts.combine}'). {COMBINATIONS[cuts.combine]} "
        )
        if cuts.slack:
            text += f"Rounding moves the effect by at most {rounded(cuts.slack, result.width)}. "
    return text + _on_defiers(result)


def _on_defiers(result: BoundsResult) -> str:
    if "no-defiers" in result.assumptions:
        return (
            "It was assumed that the instrument moves nobody against its direction (no defiers); nothing was assumed "
            "on the homogeneity of effects."
        )
    return "No assumption was made on defiers or on the homogeneity of effects."


def _quantiles(result: BoundsResult) -> str:
    if result.covers == "set":
        return (
            f"the {50 * result.alpha:g} % quantile of the lower and the {100 - 50 * result.alpha:g} % quantile of the "
            "upper end of the identified set, from their posterior distributions"
        )
    return "quantiles of the posterior distribution of the effect"


def _kind(result: BoundsResult) -> str:
    if result.interval_kind == "estimate":
        return "the formula's value in the sample, without allowance for sampling error"
    return f"a {100 * (1 - result.alpha):g} % {result.interval_kind} interval"
