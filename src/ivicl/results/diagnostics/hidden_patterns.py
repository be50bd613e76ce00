"""The alarm: do the covariates act in a way that the law at the rows did not capture, so that the ends are off?

A law that misses something is harmless if the instrument is assigned with the same probability everywhere: the ends are
then only wider than they could be. The ends are off if a pattern is missed twice, in who is assigned and in how people
fare. The one-step estimate of an end adds the mean of scores, which are residuals over e = P(Z | x). If the truth is
e + de(x), the estimate moves by the mean of score times -de / (e + de), which is nothing where e or the law is right.
For people who are alike both factors are means of residuals, and their product, without a person's own residuals
multiplied with each other, has the right expectation. So the move can be estimated for any grouping of people, however
irregular the pattern.

Many groupings are looked at (`groupings`). Those in which who is assigned is most surprising, beyond chance among all
groupings, are tested: given x and Z, the residuals of the outcomes do not depend on how these were chosen, so that the
first test does not bias the second.

The law is leave-one-out, so that a person's own outcome is not in the prediction for this person.
Shapes: N rows, D covariates, G groups, two ends.
"""

from __future__ import annotations

import math

import numpy as np

from ivicl._shared.numbers import shown_p
from ivicl._shared.products import cross
from ivicl.identification.end_scores import EFFECT_ENDS, end_scores
from ivicl.methods.row_laws import RowLaws
from ivicl.results.diagnostics.groupings import groupings
from ivicl.results.diagnostics.records import Finding, HiddenPattern

LEVEL = 0.05
"""A pattern is believed to be missed if both of its p-values are smaller than this."""
WORTH_SAYING = 1.0
"""How many standard errors an end must be off, at least."""
SUSPECTS = 3
"""At most so many groupings, without a covariate in common, are tested against the outcome."""
LEAST_ROWS = 40


def hidden_pattern(rows: RowLaws | None, names: tuple[str, ...] = (), span: float = 1.0) -> HiddenPattern | None:
    """The alarm, with sizes in outcome units; `span` is the length of the outcome's range.

    None if there is no law at the rows, if there are too few rows, or if no covariate varies.
    """
    if rows is None or len(rows.w) < LEAST_ROWS:
        return None
    away, spread = rows.w * (rows.z - rows.propensity), rows.w * rows.propensity * (1 - rows.propensity)
    chances = [(chosen, _log_chance(group, away, spread)) for chosen, group in groupings(rows.x, rows.w)]
    if not chances:
        return None
    if len(names) != rows.x.shape[1]:
        names = tuple(f"covariate {k + 1}" for k in range(rows.x.shape[1]))
    scores = end_scores(rows.law, rows.propensity, rows.z, rows.t, rows.y, rows.w, which=EFFECT_ENDS)
    squares = scores.score**2 + scores.slope**2 * rows.v[:, None]
    errors = [span * float(se) for se in np.sqrt(cross(rows.w, squares)) / rows.w.sum()]
    suspects = _suspects(chances)
    if not suspects:
        return HiddenPattern(1.0, "", 0.0, 0.0, *errors)
    # Made once more: hundreds of groupings, kept until the most surprising were known, would be much memory.
    tested = [
        (*_off(group, rows, scores.score, squares), chosen)
        for place, (chosen, group) in enumerate(groupings(rows.x, rows.w))
        if place in suspects
    ]
    sizes, surest, chosen = max(tested, key=lambda each: each[1])
    p = min(1.0, math.erfc(surest / math.sqrt(2)) * sizes.size * len(tested))
    lower, upper = span * np.abs(sizes) if p < LEVEL else np.zeros(2)
    return HiddenPattern(p, "groups by " + ", ".join(names[k] for k in chosen), float(lower), float(upper), *errors)


def fires(found: HiddenPattern) -> bool:
    """Whether the pattern is beyond chance, and an end is off by at least as much as it is uncertain."""
    ends = ((found.lower_off, found.se_lower), (found.upper_off, found.se_upper))
    return found.p_value < LEVEL and any(off > 0 and off >= WORTH_SAYING * se for off, se in ends)


def pattern_finding(found: HiddenPattern | None) -> list[Finding]:
    """The finding about a pattern; none if patterns were not looked for."""
    name = "fit to the covariates"
    if found is None:
        return []
    if not fires(found):
        sentence = "Nothing that was looked for in the covariates goes with both instrument and outcome unnoticed."
        return [Finding(name, "ok", sentence)]
    off = max(found.lower_off, found.upper_off)
    sentence = (
        f"The covariates act in a way that the method did not capture (seen in {found.pattern}; "
        f"{shown_p(found.p_value)}): the ends may be off by about {off:.2g}."
    )
    remedy = "Give such groups as a covariate of their own, or compare with another method that uses the covariates."
    return [Finding(name, "look", sentence, remedy)]


def _suspects(chances: list[tuple[tuple[int, ...], float]]) -> set[int]:
    """Places of the groupings to be tested against the outcome."""
    found, used = set[int](), set[int]()
    for place in sorted(range(len(chances)), key=lambda each: chances[each][1]):
        chosen, chance = chances[place]
        if len(found) == SUSPECTS or chance + math.log(len(chances)) >= math.log(LEVEL):
            break
        if used.isdisjoint(chosen):
            found.add(place)
            used.update(chosen)
    return found


def _log_chance(group: np.ndarray, away: np.ndarray, spread: np.ndarray) -> float:
    """Logarithm of a bound on the p-value of who is assigned in the groups: sums of residuals with these variances.

    By Chernoff, P(chi-squared with k degrees of freedom > s) is at most exp((k - s + k log(s / k)) / 2). It tells the
    more surprising of two groupings even where both p-values are zero in floating point.
    """
    sums, variance = np.bincount(group, away), np.bincount(group, spread)
    told = variance > 0
    degrees = int(told.sum())
    total = float((sums[told] ** 2 / variance[told]).sum())
    return 0.0 if total <= degrees else 0.5 * (degrees - total + degrees * math.log(total / degrees))


def _off(group: np.ndarray, rows: RowLaws, score: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, float]:
    """How far both ends would move, by this grouping, and the larger of the two in standard errors of that estimate."""
    e, w = rows.propensity, rows.w
    away = rows.z - e
    assigned, people = (np.bincount(group, each)[group] for each in (w * away, w))
    # What the others in the group say about who is assigned: a person's own residual is left out.
    missed = np.where(people > 1, (assigned - away) / np.maximum(people - 1, 1), 0.0)
    seen = np.clip(e + missed, e / 2, (1 + e) / 2)  # small groups must not send anybody's chance to zero
    weight = w * missed * np.where(rows.z == 1, 1 / seen, -1 / (1 - seen))
    sizes = cross(weight, score) / w.sum()
    errors = np.sqrt(cross(weight**2 / w, squares)) / w.sum()
    return sizes, float(np.max(np.abs(sizes) / np.where(errors > 0, errors, np.inf)))
