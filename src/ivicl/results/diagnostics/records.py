"""What is measured about the design, as typed records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ivicl._shared.records import KeyedRecord
from ivicl.data.lost import LostPeople
from ivicl.identification.inequalities import Inequality

Grade = Literal["ok", "look", "stop"]
GRADES: tuple[Grade, ...] = ("ok", "look", "stop")
"""ok: nothing to do. look: read the sentence before you believe the bounds. stop: the data contradict an assumption."""


@dataclass(frozen=True)
class FirstStage(KeyedRecord):
    """The effect of the instrument on the treatment."""

    treated_if_z0: float
    treated_if_z1: float
    difference: float
    se: float
    f: float | None
    """F statistic; None if the treatment does not vary within the arms: it is infinite, which JSON cannot hold."""
    correlation: float | None
    """Correlation of instrument and treatment; None if the treatment does not vary."""
    n_z0: int
    n_z1: int
    partial_f: float | None = None
    """F statistic given the covariates, by least squares; None without any, or if they determine the instrument."""


@dataclass(frozen=True)
class Compliance(KeyedRecord):
    """Who did as the instrument said."""

    people: tuple[tuple[int, int], tuple[int, int]]
    """People by [z][t]."""
    kind: str
    """perfect, one-sided, two-sided or no variation."""
    counts: tuple[tuple[tuple[int, int], tuple[int, int]], tuple[tuple[int, int], tuple[int, int]]] | None = None
    """People by [z][t][y], for a binary outcome."""


@dataclass(frozen=True)
class Positivity(KeyedRecord):
    """The range of P(Z=1 | X)."""

    range: tuple[float, float]
    central_98_percent: tuple[float, float]
    share_z1: float


@dataclass(frozen=True)
class Balance(KeyedRecord):
    """How far the arms differ in their covariates."""

    standardised_differences: dict[str, float]
    largest: float
    largest_column: str
    p_value: float
    """P-value of one test of all covariates together."""


@dataclass(frozen=True)
class Sample(KeyedRecord):
    """How much data there is."""

    n: int
    n_rows: int
    n_dropped: int
    d: int
    """Number of covariates."""


@dataclass(frozen=True)
class OutcomeRange(KeyedRecord):
    """The possible range, the observed one, and where nearly all outcomes lie."""

    range: tuple[float, float]
    observed: tuple[float, float]
    central_98_percent: tuple[float, float] | None
    """None if outcomes were merged into means."""
    mean: float
    top_percent_of_width: float | None = None
    """The share of the estimated bounds' width that goes away if outcomes are cut off at their 99 % quantile; None if
    they are binary, or were merged into means."""


@dataclass(frozen=True)
class Losses(KeyedRecord):
    """People whose outcome, and nothing else, is missing."""

    people: LostPeople
    """People by [z][t]."""
    share_z0: float
    """Their share of the people with Z = 0."""
    share_z1: float
    p_arms: float
    """P-value of the test that the share is the same in both arms of the instrument."""
    p_treatment: float
    """P-value of the test that, in each arm, it is the same among treated and untreated."""
    free: bool
    """Their outcomes may have been anything in the range; otherwise they were left out, as if they were like others."""
    lower_move: float
    """How far the estimated lower end falls if the lost outcomes may have been anything, in outcome units."""
    upper_move: float
    """How far the upper end rises."""

    @property
    def total(self) -> int:
        return sum(map(sum, self.people))

    def in_short(self) -> str:
        shares = f"{percent(self.share_z0)} with Z = 0, {percent(self.share_z1)} with Z = 1"
        what = "each may have been anything in the range" if self.free else "left out, as if they were like the others"
        return f"{self.total:,} ({shares}): {what}"


@dataclass(frozen=True)
class SurveyDesign(KeyedRecord):
    """How many people the data are worth, given clusters, strata and sampling weights."""

    design_effect_lower: float
    """Variance of the estimated lower end of the identified set, divided by that with as many independent people."""
    design_effect_upper: float
    effective_people: float
    """This many independent people would tell as much about the end that is known worse."""
    clusters: tuple[int, int] | None
    """Clusters with Z = 0 and with Z = 1; None without clusters. A cluster with people of both counts in both."""
    n_clusters: int | None
    """Clusters in all."""
    assigned: str | None
    """Whole clusters share an arm ("by cluster"), or people within them differ ("within clusters")."""
    strata: int | None
    sampling_ratio: float | None
    """The largest sampling weight divided by the smallest."""

    def in_short(self) -> str:
        parts = []
        if self.clusters is not None:
            zero, one = self.clusters
            parts.append(f"{zero:,} clusters with Z = 0, {one:,} with Z = 1, assigned {self.assigned}")
        if self.strata is not None:
            parts.append(f"{self.strata:,} strata")
        if self.sampling_ratio is not None:
            parts.append(f"sampling weights 1 to {self.sampling_ratio:,.3g}")
        effects = f"design effect {self.design_effect_lower:.2f} and {self.design_effect_upper:.2f}"
        return f"{'; '.join(parts)}; {effects}, worth {self.effective_people:,.0f} independent people"


@dataclass(frozen=True)
class HiddenPattern(KeyedRecord):
    """How the covariates act beyond the law that a method found at the rows."""

    p_value: float
    """P-value: that the most surprising pattern is associated with both instrument and outcome by chance alone."""
    pattern: str
    """That pattern, in words; empty if none is associated with the instrument."""
    lower_off: float
    """How far the lower end may be off, in outcome units."""
    upper_off: float
    se_lower: float
    """The lower end's standard error at that law."""
    se_upper: float


@dataclass(frozen=True)
class Finding(KeyedRecord):
    """One thing to know about the design, in a sentence for a trialist.

    Examples:
        >>> from ivicl import IVBounds
        >>> finding = IVBounds("manski").fit_counts([158, 14, 0, 0, 52, 12, 23, 78]).findings[0]
        >>> finding.name, finding.grade
        ('first stage', 'ok')
    """

    name: str
    grade: Grade
    sentence: str
    remedy: str = ""
    """What to do about it; empty if there is nothing to do."""

    @property
    def text(self) -> str:
        """The sentence, and what to do."""
        return f"{self.sentence} {self.remedy}".strip()


@dataclass(frozen=True)
class Diagnostics(KeyedRecord):
    """Everything that the data say about the design before any bound.

    Examples:
        >>> from ivicl import IVBounds
        >>> found = IVBounds("manski").fit_counts([158, 14, 0, 0, 52, 12, 23, 78]).diagnostics
        >>> found.grade, found.compliance.kind, round(found.first_stage.difference, 4), found.headline
        ('ok', 'one-sided', 0.6121, '')
    """

    first_stage: FirstStage
    compliance: Compliance
    inequalities: tuple[Inequality, ...]
    positivity: Positivity | None
    """None without covariates that vary."""
    balance: Balance | None
    sample: Sample
    outcome: OutcomeRange
    findings: tuple[Finding, ...]
    grade: Grade
    """The worst grade of the findings."""
    losses: Losses | None = None
    """Lost outcomes of people whose instrument and treatment are known; None if there are none."""
    design: SurveyDesign | None = None
    """Clusters, strata and sampling weights; None if there are none."""
    hidden_pattern: HiddenPattern | None = None
    """What the method's law at the rows did not capture; None for a method that finds no such law."""

    @property
    def worth_reading(self) -> tuple[Finding, ...]:
        """The findings that are not ok."""
        return tuple(finding for finding in self.findings if finding.grade != GRADES[0])

    @property
    def headline(self) -> str:
        """What comes before any bound, in every format: the findings of grade stop. Empty if there are none."""
        return " ".join(finding.text for finding in self.findings if finding.grade == "stop")

    @property
    def worst_inequality(self) -> Inequality:
        return min(self.inequalities, key=lambda i: i.p_value)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"
