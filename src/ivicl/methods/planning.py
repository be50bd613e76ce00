"""What a study of a given design can be expected to say: its bounds, their width and the chance to tell the sign.

This takes two steps. Simulated studies say where the estimated ends fall, which needs only closed forms. The network's
intervals for a few of these studies say how far an interval reaches beyond the estimated ends, in standard errors, and
this is used for the other studies (for an amount, the posterior of the ends at the expected table says it). So a
hundred designs take seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ivicl._shared.records import Record
from ivicl._shared.special import t_quantiles
from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.identification.balke_pearl import LOWER_TABLE, UPPER_TABLE, sharp_ends, terms
from ivicl.identification.inequalities import nearest_law
from ivicl.identification.strata import cell_pseudo_count
from ivicl.methods.base import MethodBounds, Request
from ivicl.methods.estimated_law import EstimatedLaw
from ivicl.methods.registry import resolve

N_DRAWS = 2000
"""Draws from the posterior at the expected counts."""
N_STUDIES = 2500
"""Simulated studies of each design."""
LEAST_IN_ARM = 4
"""The network is only asked if at least this many people are expected in each arm."""
AT_ONCE = 20
"""How many designs are computed together."""
ASKED = 12
"""How many studies of each design the network is asked about, for each end."""
NOT_WORTH = 0.1
"""More people are no longer worth it if they would take less than this share off the width."""


@dataclass(frozen=True)
class Design(Record):
    """One way to run a study. Outcomes and effects are in units of the outcome."""

    n: int
    """People in both arms."""
    takeup: float
    """P(T=1 | Z=1)."""
    takeup_control: float
    """P(T=1 | Z=0)."""
    untreated: float
    """Mean outcome, or rate, of people without the treatment; the same for those who comply and those who do not."""
    treated: float
    """The same with the treatment."""
    sd_untreated: float | None = None
    """Standard deviation of the outcome; None for a yes/no outcome, for which it follows from the rate."""
    sd_treated: float | None = None
    share: float = 0.5
    """P(Z=1)."""
    clusters: int | None = None
    """How many groups there are, whose people get the same Z; None if each person gets their own."""
    icc: float = 0.0
    """Intraclass correlation within these groups."""
    outcome_range: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        low, high = self.outcome_range
        if not low < high:
            raise InputError(f"the outcome's range must be LOW below HIGH, but is {low:g}, {high:g}.")
        if self.n != int(self.n) or self.n < 8:
            raise InputError(
                f"n must be a whole number of at least 8, but is {self.n:g}; give the people of both arms together."
            )
        for name, least, most in (
            ("takeup", 0.0, 1.0),
            ("takeup_control", 0.0, 1.0),
            ("icc", 0.0, 1.0),
            ("untreated", low, high),
            ("treated", low, high),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                remedy = (
                    "; write 0.7 for 70 %" if (least, most) == (0, 1) else "; correct it, or widen the outcome's range"
                )
                shown = {"untreated": "the first mean or rate", "treated": "the second mean or rate"}.get(name, name)
                raise InputError(f"{shown} must lie between {least:g} and {most:g}, but is {value:g}{remedy}.")
        if not 0 < self.share < 1:
            raise InputError(
                f"share must lie between 0 and 1, but is {self.share:g}; write 0.5 for half of the people."
            )
        if min(self.n * self.share, self.n * (1 - self.share)) < 2:
            raise InputError(
                f"share {self.share:g} of {self.n:,} people leaves fewer than two in an arm; plan for more people, or "
                "for a share nearer to 0.5."
            )
        for mean, sd in ((self.untreated, self.sd_untreated), (self.treated, self.sd_treated)):
            most = math.sqrt((mean - low) * (high - mean))
            if sd is not None and not 0 < sd <= most * (1 + 1e-9):
                raise InputError(
                    f"sd must lie above 0 and at most at {most:g}, the largest that a mean of {mean:g} between {low:g} "
                    f"and {high:g} allows, but is {sd:g}."
                )
        if self.clusters is not None and (self.clusters != int(self.clusters) or not 4 <= self.clusters <= self.n):
            raise InputError(
                f"clusters must be a whole number from 4 to the {self.n:,} people, but is {self.clusters:g}."
            )

    @property
    def design_effect(self) -> float:
        """How many clustered people are worth one independent one."""
        return 1.0 if self.clusters is None else 1 + max(self.n / self.clusters - 1, 0.0) * self.icc

    @property
    def effective_n(self) -> float:
        return self.n / self.design_effect

    def stretch(self, alpha: float) -> float:
        """By how much few clusters widen the interval: Student's quantile divided by the normal one."""
        if self.clusters is None:
            return 1.0
        student = float(t_quantiles(np.array([1 - alpha / 2]), self.clusters - 2)[0])
        return student / NormalDist().inv_cdf(1 - alpha / 2)

    @property
    def span(self) -> float:
        return self.outcome_range[1] - self.outcome_range[0]

    def law(self) -> EstimatedLaw:
        """The expected table, counted in effective people."""
        low = self.outcome_range[0]
        takeup = np.array([self.takeup_control, self.takeup])
        arms = self.effective_n * np.array([1 - self.share, self.share])
        people = arms[:, None] * np.stack([1 - takeup, takeup], axis=-1)
        mean = (np.array([self.untreated, self.treated]) - low) / self.span
        yes_no = mean * (1 - mean)
        variance = [
            (sd / self.span) ** 2 if sd is not None else v
            for sd, v in zip((self.sd_untreated, self.sd_treated), yes_no, strict=True)
        ]
        worth = people * np.divide(yes_no, variance, out=np.ones(2), where=np.array(variance) > 0)
        means = np.broadcast_to(mean, (2, 2))
        return EstimatedLaw(np.ones(1), np.array([self.share]), people[None], means[None], worth[None])


@dataclass(frozen=True)
class Expectation(Record):
    """What a design can be expected to say about the average effect, in outcome units."""

    set_lower: float
    """The lower end of the identified set, which unlimited data would give."""
    set_upper: float
    lower: float
    """The mean lower end of the interval over studies."""
    upper: float
    width: float
    not_identified: float
    """Width of the set: no number of people takes it away."""
    not_enough_data: float
    """The rest of the width."""
    excludes_zero: float
    """Chance that the interval lies on one side of zero."""
    enough_n: int | None
    """Beyond this, more people take less than a tenth off the width; None if the effect is (nearly) identified."""


def expect(designs: Sequence[Design], alpha: float, rng: np.random.Generator) -> list[Expectation]:
    """What each design can be expected to say."""
    found: list[Expectation] = []
    for start in range(0, len(designs), AT_ONCE):
        found += _expect(designs[start : start + AT_ONCE], alpha, rng)
    return found


def _expect(designs: Sequence[Design], alpha: float, rng: np.random.Generator) -> list[Expectation]:
    laws = [design.law() for design in designs]
    people, mean, worth = (np.concatenate([getattr(law, name) for law in laws]) for name in ("people", "mean", "worth"))
    table = EstimatedLaw(np.ones(len(laws)), np.array([d.share for d in designs]), people, mean, worth)
    truth = np.stack(sharp_ends(table.law()))
    drawn = sharp_ends(table.draws(N_DRAWS, rng))
    middle = _smoothed(people, mean)
    reach = np.stack([np.quantile(drawn[0], alpha / 2, axis=1), np.quantile(drawn[1], 1 - alpha / 2, axis=1)])
    reach -= np.stack(sharp_ends(middle))
    studies = _studies(table, rng)
    ends, arms = np.stack(sharp_ends(studies)), people.sum(axis=-1)
    errors = _standard_errors(studies, arms[:, None])
    expected = _standard_errors(middle, arms)
    amounts = [design.sd_untreated is not None for design in designs]
    errors[:, amounts] = expected[:, amounts, None]  # an amount's spread is given, not estimated from its rate
    beyond = (reach / expected)[..., None] * errors
    for i, design in enumerate(designs):
        if not amounts[i] and arms[i].min() >= LEAST_IN_ARM:
            beyond[:, i] = _by_the_network(studies[i], arms[i], ends[:, i], errors[:, i], alpha)
        beyond[:, i] *= design.stretch(alpha)
    lower, upper = np.clip(ends + beyond, -1.0, 1.0)
    upper = np.maximum(lower, upper)
    chance = ((lower > 0) | (upper < 0)).mean(axis=1)
    return [
        _expectation(design, truth[:, i], float(lower[i].mean()), float(upper[i].mean()), float(chance[i]))
        for i, design in enumerate(designs)
    ]


def _by_the_network(
    studies: np.ndarray, arms: np.ndarray, ends: np.ndarray, errors: np.ndarray, alpha: float
) -> np.ndarray:
    """(2, S) how far the default method's interval reaches beyond the ends of yes/no studies (S, 2, 2, 2).

    The method is asked about some of the studies, and its reach in standard errors is interpolated for the others. It
    is not constant: where another term of the bounds is about to take over, the posterior of an end has a longer tail.
    """
    method = resolve("ivicl")
    request = Request(alpha=alpha, own=method.own_options({}))
    ranks = np.rint(np.linspace(0.01, 0.99, ASKED) * (len(studies) - 1)).astype(np.intp)
    chosen = np.argsort(ends, axis=1, kind="stable")[:, ranks]  # (2, ASKED)
    people = (arms + 4 * cell_pseudo_count())[:, None, None]
    counts = np.maximum(np.rint(studies[chosen.ravel()] * people - cell_pseudo_count()), 0)
    found = method.bounds_of_many([IVData.from_counts(table) for table in counts], request)
    reach = np.empty_like(ends)
    for side in (0, 1):
        known = [
            (k, (each.lower, each.upper)[side])
            for k, each in zip(chosen[side], found[side * ASKED :][:ASKED], strict=True)
            if isinstance(each, MethodBounds)
        ]
        places, bounds = np.array([k for k, _ in known]), np.array([bound for _, bound in known])
        units = (bounds - ends[side, places]) / errors[side, places]
        reach[side] = errors[side] * np.interp(ends[side], ends[side, places], units)
    return reach


def _standard_errors(laws: np.ndarray, arms: np.ndarray) -> np.ndarray:
    """(2, ...) standard errors of both ends of laws (..., 2, 2, 2) with arms (..., 2), from the terms that bind."""
    lower, upper = terms(laws)
    errors = []
    for table, binding in ((LOWER_TABLE, lower.argmax(axis=-1)), (UPPER_TABLE, upper.argmin(axis=-1))):
        chosen = table[binding]
        mean = (chosen * laws).sum(axis=(-2, -1))
        variance = (chosen**2 * laws).sum(axis=(-2, -1)) - mean**2
        errors.append(np.sqrt(np.maximum((variance / arms).sum(axis=-1), 1e-12)))
    return np.stack(errors)


def _studies(table: EstimatedLaw, rng: np.random.Generator) -> np.ndarray:
    """(M, S, 2, 2, 2) smoothed laws of simulated studies."""
    arms = np.maximum(np.rint(table.people.sum(axis=-1)), 1).astype(np.int64)[:, None]
    shares = (table.people / table.people.sum(axis=-1, keepdims=True))[:, None]
    treated = rng.binomial(arms, shares[..., 1], (len(arms), N_STUDIES, 2))
    people = np.stack([arms - treated, treated], axis=-1)
    mean = np.broadcast_to(table.mean[:, None], people.shape)
    seen = np.maximum(people, 1)
    yes_no = rng.binomial(people, mean) / seen
    # How many times better an amount's mean is known than a rate; one if the outcome is yes or no.
    better = np.divide(table.worth, table.people, out=np.ones_like(table.worth), where=table.people > 0)[:, None]
    amount = mean + rng.standard_normal(people.shape) * np.sqrt(mean * (1 - mean) / (better * seen))
    means = np.where(np.isclose(better, 1.0), yes_no, np.clip(amount, 0.0, 1.0))
    return _smoothed(people, means)


def _smoothed(people: np.ndarray, mean: np.ndarray) -> np.ndarray:
    return nearest_law(np.stack([people * (1 - mean), people * mean], axis=-1) + cell_pseudo_count())


def _expectation(design: Design, truth: np.ndarray, lower: float, upper: float, chance: float) -> Expectation:
    span = design.span
    width, unknown = span * (upper - lower), span * float(truth[1] - truth[0])
    unknown = min(unknown, width)
    rest = width - unknown
    # The rest shrinks with the square root of n; it may be at most a tenth of the whole width.
    allowed = unknown * NOT_WORTH / (1 - NOT_WORTH)
    enough = _two_figures(design.n * (rest / allowed) ** 2) if allowed > 1e-6 * span else None
    return Expectation(
        set_lower=span * float(truth[0]),
        set_upper=span * float(truth[1]),
        lower=span * lower,
        upper=span * upper,
        width=width,
        not_identified=unknown,
        not_enough_data=rest,
        excludes_zero=chance,
        enough_n=enough,
    )


def _two_figures(n: float) -> int:
    """The number of people, rounded up to two significant figures."""
    unit: int = 10 ** max(math.floor(math.log10(max(n, 1.0))) - 1, 0)
    return math.ceil(n / unit) * unit
