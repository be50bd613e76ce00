"""What the data say about the design before any bound: measurements, and findings graded ok, look or stop.

ok: nothing to do. look: read the sentence before you believe the bounds. stop: the data contradict an assumption.
"""

from __future__ import annotations

import math

from ivicl._shared.numbers import shown_p
from ivicl.data import IVData
from ivicl.identification.inequalities import Inequality
from ivicl.methods.inequalities import check
from ivicl.methods.row_laws import RowLaws
from ivicl.results.diagnostics.balance import SEPARATED, balance
from ivicl.results.diagnostics.covariates import positivity
from ivicl.results.diagnostics.designs import design_finding, survey_design
from ivicl.results.diagnostics.hidden_patterns import hidden_pattern, pattern_finding
from ivicl.results.diagnostics.losses import loss_finding, losses
from ivicl.results.diagnostics.measurements import compliance, first_stage, outcome
from ivicl.results.diagnostics.records import (
    GRADES,
    Balance,
    Compliance,
    Diagnostics,
    Finding,
    FirstStage,
    OutcomeRange,
    Positivity,
    Sample,
    percent,
)

PEOPLE_RANGE = (20, 100_000_000)
"""The smallest and largest tables that the shipped network is made for."""
MOST_COVARIATES = 64
"""The most covariates that the shipped network reads."""
WEAK_F = 10.0
TOP_WORTH_SAYING, HEAVY_TOP = 0.2, 0.4
"""If the top per cent makes up more than these shares of the width, it is mentioned, or worth a look: a normally
distributed outcome is below both."""
LARGE_DIFFERENCE = 0.25
"""In standard deviations: a covariate that differs more than this between the arms is worth a look if chance does not
explain it. In a small trial, one of many covariates always differs as much."""
CHANCE_P = 0.05
"""Above this p-value, the arms may well differ in their covariates by chance."""
VIOLATED_P = 0.01
"""Bonferroni over the four inequalities: below this, one of them fails by more than chance."""


def diagnose(data: IVData, row_laws: RowLaws | None = None) -> Diagnostics:
    """All measurements and findings; `findings` have grades, and `grade` is the worst of them.

    `row_laws` is the law that a method found at each row, whose fit is then checked too.

    Examples:
        >>> from ivicl import IVData
        >>> found = diagnose(IVData.from_counts([199, 0, 1, 0, 0, 199, 0, 1]))
        >>> found.grade, [finding.name for finding in found.findings if finding.grade == "stop"]
        ('stop', ['instrumental inequalities'])
    """
    everybody = data.filled()  # includes people whose lost outcome may have been anything
    stage, who, inequalities = first_stage(everybody), compliance(data), tuple(check(data))
    chances, differences, lost = positivity(everybody), balance(everybody), losses(data)
    sample = Sample(everybody.n, data.report.n_rows, data.report.n_dropped, len(data.covariates))
    outcomes, survey = outcome(data), survey_design(everybody)
    span = data.outcome_range[1] - data.outcome_range[0]
    pattern = hidden_pattern(row_laws, data.covariates, span)
    others = (
        _compliance_finding(who, stage),
        _inequality_finding(inequalities),
        *_positivity_finding(chances),
        *_balance_finding(differences, stage, clustered=survey is not None and survey.clusters is not None),
        _sample_finding(sample, stage),
        *(Finding(odd.name, "look", odd.sentence, odd.remedy) for odd in data.report.oddities),
        *design_finding(survey),
        *loss_finding(lost, span),
        _outcome_finding(outcomes, data.binary),
        *pattern_finding(pattern),
    )
    findings = (_first_stage_finding(stage, stopped=any(other.grade == "stop" for other in others)), *others)
    grade = max((finding.grade for finding in findings), key=GRADES.index)
    return Diagnostics(
        stage, who, inequalities, chances, differences, sample, outcomes, findings, grade, lost, survey, pattern
    )


def _first_stage_finding(stage: FirstStage, stopped: bool) -> Finding:
    """A weak instrument makes bounds wide, not wrong; but beside a finding of grade stop nothing is excused."""
    name = "first stage"
    before, after = percent(stage.treated_if_z0), percent(stage.treated_if_z1)
    moved = f"The instrument changes the share treated from {before} to {after}"
    if stage.f is None and stage.difference == 0:
        return Finding(name, "look", f"{moved}: not at all, so that it tells nothing about the treatment.")
    if stage.f is None:
        return Finding(name, "ok", f"{moved}.")
    if stage.f < WEAK_F:
        cost = "" if stopped else "; bounds need no strong one, but will be wide"
        return Finding(name, "look", f"{moved} (F = {stage.f:.1f}): a weak instrument{cost}.")
    return Finding(name, "ok", f"{moved} (F = {stage.f:,.0f}).")


def _compliance_finding(found: Compliance, stage: FirstStage) -> Finding:
    (_, treated_0), (untreated_1, _) = found.people
    if found.kind == "perfect":
        sentence = "Everybody did as the instrument says: the data are those of a trial with perfect compliance."
        return Finding("compliance", "ok", sentence)
    if found.kind == "no variation":
        sentence = "The data cannot answer: everybody has the same treatment, so that its effect cannot be learnt."
        return Finding("compliance", "stop", sentence)
    if found.kind == "one-sided":
        arm = 0 if 0 in found.people[0] else 1
        who = "nobody" if found.people[arm][1] == 0 else "everybody"
        swapped = _perhaps_swapped(found)
        if swapped is not None:
            return swapped
        return Finding("compliance", "ok", f"One-sided non-compliance: {who} with Z = {arm} is treated.")
    if stage.difference < 0:
        remedy = "If that surprises you, check which value means 1."
        return Finding("compliance", "look", "The instrument lowers the treatment.", remedy)
    sentence = f"Two-sided non-compliance: {treated_0:,} treated with Z = 0, {untreated_1:,} untreated with Z = 1."
    return Finding("compliance", "ok", sentence)


def _perhaps_swapped(found: Compliance) -> Finding | None:
    """If all untreated people have Z = 0, perhaps the column of what was taken is named as the instrument."""
    (untreated_0, treated_0), (untreated_1, _) = found.people
    if untreated_1 or treated_0 < max(10, 0.05 * (untreated_0 + treated_0)):
        return None
    sentence = (
        f"One-sided non-compliance: everybody with Z = 1 is treated, and {treated_0:,} of {untreated_0 + treated_0:,} "
        "with Z = 0 are too: so it looks when instrument and treatment are swapped."
    )
    return Finding(
        "compliance", "look", sentence, "Check that the instrument is what was assigned, not what was taken."
    )


def _inequality_finding(inequalities: tuple[Inequality, ...]) -> Finding:
    name = "instrumental inequalities"
    worst = min(inequalities, key=lambda i: i.p_value)
    if not worst.violated:
        return Finding(name, "ok", "The sample does not contradict the instrument: all four inequalities hold.")
    what = f"{worst.name()} fails by {worst.excess:.3f} in the sample (one-sided {shown_p(worst.p_value)})"
    if worst.p_value < VIOLATED_P / len(inequalities):
        remedy = "Check how the data are coded; if it is as you think, the instrument is not valid."
        sentence = f"The data contradict the instrument: {what}, more than chance explains."
        return Finding(name, "stop", sentence, remedy)
    return Finding(name, "look", f"{what}: chance can explain it, but a valid instrument never implies it.")


def _positivity_finding(found: Positivity | None) -> list[Finding]:
    if found is None:
        return []
    low, high = found.central_98_percent
    what = f"given the covariates, the chance of Z = 1 lies between {low:.2f} and {high:.2f} for 98 % of the people"
    if min(low, 1 - high) < 0.01 < min(found.share_z1, 1 - found.share_z1):
        sentence = (
            f"The data contradict that both arms are possible for everybody: {what}; for some, one arm is all but "
            "impossible, and nothing is learnt about them."
        )
        return [Finding("positivity", "stop", sentence)]
    what = what[0].upper() + what[1:]
    if min(low, 1 - high) < 0.05:
        return [Finding("positivity", "look", f"{what}: for some, one arm is rare.")]
    return [Finding("positivity", "ok", f"{what}: both arms are possible for everybody.")]


def _balance_finding(found: Balance | None, stage: FirstStage, clustered: bool) -> list[Finding]:
    """A large difference is worth a look if it is beyond chance, in the joint test or, among people, by itself."""
    if found is None:
        return []
    size, column = found.largest, found.largest_column
    if size >= SEPARATED:
        sentence = (
            f"The data cannot answer given the covariates: '{column}' has one value in each arm, so nobody in one arm "
            "has a counterpart in the other."
        )
        remedy = "Leave it out: it is the instrument once more, or was made from it."
        return [Finding("balance", "stop", sentence, remedy)]
    what = f"the largest difference between the arms is {size:.2f} standard deviations, in '{column}'"
    # Among many covariates the joint test may miss one that differs much. Clusters differ more than people.
    alone = math.erfc(size / math.sqrt(2 * (1 / stage.n_z0 + 1 / stage.n_z1))) * len(found.standardised_differences)
    beyond_chance = found.p_value < CHANCE_P or (not clustered and alone < CHANCE_P)
    large = size > LARGE_DIFFERENCE
    if (large and beyond_chance) or (size > 0.1 and found.p_value < 0.001):
        remedy = (
            "If assignment was meant to be random, find out why; if not, the bounds rely on the covariates to explain "
            "it."
        )
        return [Finding("balance", "look", f"The arms differ in their covariates: {what}.", remedy)]
    if large:
        return [Finding("balance", "ok", f"The arms differ in their covariates no more than chance explains: {what}.")]
    return [Finding("balance", "ok", f"The arms are alike in their covariates: {what}.")]


def _sample_finding(sample: Sample, stage: FirstStage) -> Finding:
    name, n, d = "sample", sample.n, sample.d
    smaller = min(stage.n_z0, stage.n_z1)
    if n < PEOPLE_RANGE[0] or smaller < 10:
        sentence = f"{n:,} people, {smaller:,} in the smaller arm: so few that the prior speaks louder than the data."
        return Finding(name, "look", sentence)
    if n > PEOPLE_RANGE[1]:
        sentence = f"{n:,} people are beyond the range that the network is made for; they count as {PEOPLE_RANGE[1]:,}."
        return Finding(name, "look", sentence)
    if d > MOST_COVARIATES:
        sentence = f"{d} covariates: the network reads the {MOST_COVARIATES} that go most with Z, T and Y."
        return Finding(name, "look", sentence)
    rows = sample.n_rows + sample.n_dropped
    if sample.n_dropped > 0.1 * rows:
        sentence = f"{sample.n_dropped:,} of {rows:,} rows were dropped."
        return Finding(name, "look", sentence, "Find out whether those with missing values are like the others.")
    covariates = f"{d} covariate{'' if d == 1 else 's'}" if d else "no covariates"
    return Finding(name, "ok", f"{n:,} people and {covariates}: within the range that the network is made for.")


def _outcome_finding(found: OutcomeRange, binary: bool) -> Finding:
    low, high = found.range
    if binary:
        if found.mean in (0.0, 1.0):
            return Finding("outcome", "look", f"The outcome is {found.mean:.0f} for everybody.")
        return Finding("outcome", "ok", f"The outcome is binary, with {percent(found.mean)} ones.")
    if found.central_98_percent is None:
        sentence = (
            f"The possible range of the outcome is {low:g} to {high:g}; outcomes were merged into means, so that it is "
            "not known whether a few extreme values make much of the width."
        )
        return Finding("outcome", "ok", sentence)
    central_low, central_high = found.central_98_percent
    share = (central_high - central_low) / (high - low)
    what = (
        f"98 % of the outcomes lie between {central_low:g} and {central_high:g}, "
        f"the possible range is {low:g} to {high:g}"
    )
    top = found.top_percent_of_width or 0.0
    if share < 0.5 or top > HEAVY_TOP:
        sentence = f"{what}: bounds grow with the range, so that a few extreme values make much of the width"
        sentence += f"; {100 * top:.0f} % of it comes from the top per cent." if top >= TOP_WORTH_SAYING else "."
        remedy = (
            f"If less is possible, give outcome_range=({low:g}, ...) (--range {low:g},HIGH); or bound the effect on "
            f"the outcome cut off at its 99 % quantile, {central_high:g}: cap='99%' (--cap 99%)."
        )
        return Finding("outcome", "look", sentence, remedy)
    return Finding("outcome", "ok", f"{what}.")
