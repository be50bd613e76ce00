"""The report's sentences: the question, the answer, the assumptions, and a methods paragraph ready to paste."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ivicl._shared.numbers import rounded, rounded_interval
from ivicl.methods.assumptions import ASSUMPTIONS, denials, in_reading_order, own_sentences, uses_instrument
from ivicl.methods.estimands import estimand
from ivicl.methods.outcomes import COMBINATIONS
from ivicl.results.tables import covariate_names, covariates, lost_outcomes
from ivicl.results.wording import CITED, arm

if TYPE_CHECKING:
    from ivicl.data.encoding import Coding
    from ivicl.results.result import BoundsResult

LETTERS = {"instrument": "Z", "treatment": "T", "outcome": "Y"}
"""As the sentences of the findings call them."""


def name_of(result: BoundsResult, role: str) -> str:
    return f"the {role} '{result.codings[role].column}'" if role in result.codings else f"the {role}"


def question_sentence(result: BoundsResult) -> str:
    treatment, outcome = name_of(result, "treatment"), name_of(result, "outcome")
    question = estimand(result.estimand).question.format(treatment=treatment, outcome=outcome)
    if result.diagnostics.compliance.kind == "perfect":
        return f"{question} Everybody did as {name_of(result, 'instrument')} says."
    return (
        f"{question} People did not all do as {name_of(result, 'instrument')} says, and those who did may differ from "
        "those who did not. So the treated and the untreated cannot simply be compared, and the data alone leave a "
        "range of answers."
    )


def answer_sentence(result: BoundsResult) -> str:
    """The answer; if the design is graded stop, this is said first."""
    headline = result.diagnostics.headline
    return f"{headline} What the method says all the same: {_answer(result)}" if headline else _answer(result)


def _answer(result: BoundsResult) -> str:
    asked = estimand(result.estimand)
    unit = asked.unit(result.binary)
    ends = f"{rounded(result.lower, result.width)} and {rounded(result.upper, result.width)}"
    if result.interval_kind == "estimate":
        lead = f"The bounds on the {asked.short} are estimated as {ends}{f' ({unit})' if unit else ''}. "
        return lead + "They make no allowance for sampling error." + _place_of_zero(result, "bounds", "")
    lead = f"The {asked.short} lies between {ends} ({f'{unit}; ' if unit else ''}{result.level})."
    raises, lowers = (f": the treatment {verb} the outcome {asked.among}" for verb in ("raises", "lowers"))
    return lead + _place_of_zero(result, "interval", raises if result.lower > (asked.none or 0.0) else lowers)


def _place_of_zero(result: BoundsResult, what: str, verdict: str) -> str:
    """Where "no effect" lies; the verdict is for intervals that exclude it and allow for chance."""
    none = estimand(result.estimand).none
    if none is None:
        return ""
    if result.lower <= none <= result.upper:
        return f" An effect of {none:g} lies inside the {what}: these data and assumptions do not settle its sign."
    return f" An effect of {none:g} lies {'below' if result.lower > none else 'above'} the {what}{verdict}."


def _values(coding: Coding) -> str:
    """What 1 and 0 stand for; empty if there is nothing to explain: 0 and 1, or an amount."""
    plain = coding.zero in (None, 0) and coding.one in (None, 1)
    return "" if plain else f"{coding.one} is 1, {coding.zero} is 0"


def _told(coding: Coding) -> str:
    values = _values(coding)
    return f"'{coding.column}' ({values})" if values else f"'{coding.column}'"


def data_rows(result: BoundsResult) -> list[tuple[str, str]]:
    rows = []
    for role in ("instrument", "treatment", "outcome"):
        coding = result.codings.get(role)
        if coding:
            words = ": ".join(filter(None, (coding.column, _values(coding))))
            rows.append((f"{role.capitalize()} ({LETTERS[role]})", words))
    if not result.binary:
        low, high = result.outcome_range
        rows.append(("Outcome's range", f"{low:g} to {high:g}"))
    rows.append(("People", f"{result.n:,}" + (f" in {result.n_rows:,} rows" if result.n != result.n_rows else "")))
    stage = result.diagnostics.first_stage
    rows.append(("Arms", f"{stage.n_z0:,} with {arm(result, 0)}, {stage.n_z1:,} with {arm(result, 1)}"))
    rows.append(("Rows dropped", f"{result.n_dropped:,}"))
    rows += lost_outcomes(result)
    rows.append(("Covariates", covariates(result)))
    design = result.diagnostics.design
    return [*rows, ("Design", design.in_short())] if design else rows


def assumptions(result: BoundsResult) -> list[tuple[str, str, str]]:
    """(name, what is assumed, how it could fail)."""
    low, high = result.outcome_range
    given = " given the covariates" if result.adjusted else ""
    rows = []
    for key in in_reading_order(result.assumptions):
        known = ASSUMPTIONS.get(key)
        if known is None:
            rows.append((f"Of the method {result.label}", key, ""))
            continue
        failure = (
            "It holds by definition: the outcome is binary." if key == "bounded" and result.binary else known.failure
        )
        rows.append((known.title, known.meaning.format(given=given, low=low, high=high), failure))
    clauses = "; ".join(denials(result.assumptions))
    return [*rows, ("Not assumed", f"{clauses[0].upper()}{clauses[1:]}.", "Nothing rests on it.")] if clauses else rows


def methods_paragraph(result: BoundsResult) -> str:
    """For the methods section of a paper."""
    stage = result.diagnostics.first_stage
    text = f"We {'estimated bounds on' if result.interval_kind == 'estimate' else 'bounded'} "
    text += f"{estimand(result.estimand).meaning} "
    if uses_instrument(result.assumptions):
        text += f"with {name_of(result, 'instrument')} as an instrumental variable"
    else:
        text += f"without use of {name_of(result, 'instrument')}"
    text += (
        f" (N = {result.n:,}; treated {100 * stage.treated_if_z1:.1f} % with {arm(result, 1)}, "
        f"{100 * stage.treated_if_z0:.1f} % with {arm(result, 0)}). "
    )
    if result.codings:
        outcome, treatment = (_told(result.codings[role]) for role in ("outcome", "treatment"))
        text += f"The outcome is {outcome}, the treatment {treatment}. "
    model = f", model {result.model.name}, sha256 {result.model.sha256[:12]}" if result.model else ""
    cited = f"{CITED}; " if result.model else ""
    text += (
        f"The method is {result.procedure or result.label} ({cited}ivicl {result.version}, '{result.method}'{model}); "
    )
    text += (
        f"covariates were {', '.join(covariate_names(result))}. " if result.adjusted else "no covariates were used. "
    )
    text += f"{_kind(result)} {_design(result)}"
    losses = result.diagnostics.losses
    if losses is not None:
        rule = "could have any value in the range" if losses.free else "were left out"
        text += (
            f"Outcomes were missing for {losses.total:,} people ({100 * losses.share_z0:.1f} % with {arm(result, 0)}, "
            f"{100 * losses.share_z1:.1f} % with {arm(result, 1)}); they {rule}. "
        )
    cuts = result.thresholds
    if cuts is not None:
        between = f"The outcome, between {result.outcome_range[0]:g} and {result.outcome_range[1]:g}, was "
        if cuts.points or cuts.problems > 1:
            text += f"{between}turned into {cuts.problems} binary problems (combination '{cuts.combine}'). "
        else:
            text += f"{between}taken as it is (combination '{cuts.combine}'). "
        text += f"{COMBINATIONS[cuts.combine]} "
        if cuts.slack:
            text += f"Rounding moves the effect by at most {rounded(cuts.slack, result.width)}. "
    return f"{text}{_on_assumptions(result)} {result.diagnostics.headline}".strip()


def _design(result: BoundsResult) -> str:
    """How people were sampled and assigned, and what was made of it."""
    design = result.diagnostics.design
    if design is None:
        return ""
    text = "" if result.interval_kind == "estimate" else f"The interval allows for the design: {design.in_short()}. "
    if design.sampling_ratio is not None:
        text += "People count by their sampling weights, so that the answer is about the population they stand for. "
    return text


def _on_assumptions(result: BoundsResult) -> str:
    titles = [ASSUMPTIONS[key].title.lower() for key in in_reading_order(result.assumptions) if key in ASSUMPTIONS]
    text = f"Assumptions: {', '.join(titles)}. " if titles else ""
    text += "".join(f"{sentence} " for sentence in own_sentences(result.assumptions))
    not_assumed = denials(result.assumptions)
    if not_assumed:
        *most, last = not_assumed
        text += f"It was not assumed {', '.join(most)}{' or ' if most else ''}{last}."
    return text


def _kind(result: BoundsResult) -> str:
    shown = rounded_interval(result.lower, result.upper)
    if result.interval_kind == "estimate":
        return f"The bounds {shown} are point estimates, without allowance for sampling error."
    what = " for the identified set" if result.covers == "set" else " for the effect"
    text = f"The interval {shown} is a {100 * (1 - result.alpha):g} % {result.interval_kind} interval{what}"
    if not result.is_credible:
        return f"{text}."
    if result.covers == "effect":
        return f"{text}, from the quantiles of the posterior distribution of the effect."
    return (
        f"{text}: from the {50 * result.alpha:g} % quantile of its lower end to the {100 - 50 * result.alpha:g} % "
        "quantile of its upper end, by their posterior distributions."
    )
