"""The alarm: do the covariates act in a way that the law at the rows did not capture, so that the ends are off?

A law that misses something is harmless if the instrument is assigned with the same probability everywhere: the ends are
then only wider than they could be. The ends are off if a pattern is missed twice, in who is assigned and in how people
fare. So each pattern (a range of a covariate, a wave, a product of two or three, a region) is tested twice. Those that
are associated with the residuals Z - P(Z | x), beyond chance among all patterns, are tested against the residuals of
the ends' scores in both arms; the p-value is the smallest of these times their number. Given x and Z the two residuals
are independent, so the first test does not bias the second. The size is how far the ends would move if the law took in
the patterns found.

The law is leave-one-out, so that a person's own outcome is not in the prediction for this person. What a straight line
in the covariates explains is removed from the patterns: fits are shrunk, and the rest of a line is no news.
Shapes: N rows, D covariates, F patterns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from ivicl._shared.numbers import shown_p
from ivicl._shared.products import cross, times
from ivicl._shared.scaling import standardise
from ivicl.data.encoding import weighted_quantile
from ivicl.identification.end_scores import EFFECT_ENDS, end_scores
from ivicl.identification.mean_terms import MEAN_TERMS, mean_terms
from ivicl.methods.row_laws import RowLaws
from ivicl.results.diagnostics.records import Finding, HiddenPattern

LEVEL = 0.05
"""A pattern is believed to be missed if both of its p-values are smaller than this."""
WORTH_SAYING = 1.0
"""How many standard errors an end must be off, at least."""
BINS = 12
WAVES = 6
"""How often the fastest wave goes up and down along a covariate's ranks."""
MOST_PRODUCTS = 220
"""The most products of each order; if there are more, some are drawn, always the same."""
REGIONS = 64
FITTED = 16
"""The size is estimated from at most this many patterns, the most surprising ones."""
PATTERNS_AT_ONCE = 128
LEAST_ROWS = 40


def hidden_pattern(rows: RowLaws | None, names: tuple[str, ...] = (), span: float = 1.0) -> HiddenPattern | None:
    """The alarm, with sizes in outcome units; `span` is the length of the outcome's range.

    None if there is no law at the rows, if there are too few rows, or if no covariate has a pattern to look for.
    """
    if rows is None:
        return None
    if len(rows.w) < LEAST_ROWS or not (rows.x != rows.x[:1]).any():
        return None
    if len(names) != rows.x.shape[1]:
        names = tuple(f"covariate {k + 1}" for k in range(rows.x.shape[1]))
    scores = end_scores(rows.law, rows.propensity, rows.z, rows.t, rows.y, rows.w, which=EFFECT_ENDS)
    squares = scores.score**2 + scores.slope**2 * rows.v[:, None]
    total = rows.w.sum()
    errors = [span * float(se) for se in np.sqrt(cross(rows.w, squares)) / total]
    basis = _known(rows)
    away, spread = rows.w * (rows.z - rows.propensity), rows.w * rows.propensity * (1 - rows.propensity)
    number, labels, found, assigned = 0, list[str](), list[np.ndarray](), list[np.ndarray]()
    for names_here, raw in _patterns(rows, names):
        patterns = _freed(raw, basis, rows.w)
        p = _tail(cross(patterns, away), cross(patterns**2, spread))
        number += len(p)
        perhaps = p < LEVEL  # fewer will remain once the number of all patterns is known
        labels += [label for label, kept in zip(names_here, perhaps, strict=True) if kept]
        found.append(patterns[:, perhaps])
        assigned.append(p[perhaps])
    if not number:
        return None
    suspect = np.concatenate(assigned) * number < LEVEL
    if not suspect.any():
        return HiddenPattern(1.0, "", 0.0, 0.0, *errors)
    chosen = np.column_stack(found)[:, suspect]
    fared = np.minimum(_fared(chosen, rows, scores.score, squares) * chosen.shape[1], 1.0)
    best = int(fared.argmin())
    label = labels[int(np.flatnonzero(suspect)[best])]
    missed = chosen[:, np.argsort(fared)[: min(FITTED, int((fared < LEVEL).sum()))]]
    off = [span * size for size in _size(rows, missed)]
    return HiddenPattern(float(fared[best]), label, *off, *errors)


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
        f"The covariates act in a way that the method did not capture ({found.pattern}, {shown_p(found.p_value)}): the "
        f"ends may be off by about {off:.2g}."
    )
    remedy = "Give that pattern as a covariate of its own, or compare with another method that uses the covariates."
    return [Finding(name, "look", sentence, remedy)]


def _fared(patterns: np.ndarray, rows: RowLaws, score: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """(F,) p-values of patterns against the scores of both ends, with both arms together."""
    surprise = np.zeros((patterns.shape[1], 2))
    for arm in (0, 1):
        here = (rows.w * (rows.z == arm))[:, None]
        sums, variance = cross(patterns, here * score), cross(patterns**2, here * squares)
        surprise += sums**2 / np.where(variance > 0, variance, np.inf)
    found: np.ndarray = np.minimum(2 * np.exp(-surprise.max(axis=1) / 2), 1.0)  # chi-squared, two arms; two ends
    return found


def _tail(sums: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Two-sided p-values of sums that are normal with this variance; 1 if nothing varies."""
    wide = variance > 1e-9 * max(float(variance.max(initial=0.0)), 1e-12)
    size = np.abs(sums) / np.sqrt(np.where(wide, variance, 1.0))
    tails = np.vectorize(lambda value: math.erfc(value / math.sqrt(2)), otypes=[np.float64])(size)
    return np.where(wide, tails, 1.0)


def _known(rows: RowLaws) -> np.ndarray:
    """(N, k) what is no news: a line in the covariates, but not the fits, which could hide part of a pattern."""
    columns, w = np.column_stack([np.ones(len(rows.w)), standardise(rows.x, rows.w)]), rows.w[:, None]
    values, vectors = np.linalg.eigh(cross(columns * w, columns))
    told = values > 1e-12 * values[-1]
    basis: np.ndarray = times(columns, vectors[:, told] / np.sqrt(values[told])) * np.sqrt(w)
    return basis


def _freed(patterns: np.ndarray, basis: np.ndarray, w: np.ndarray) -> np.ndarray:
    root = np.sqrt(w)[:, None]
    weighted = patterns * root
    free: np.ndarray = (weighted - times(basis, cross(basis, weighted))) / root
    return free


def _patterns(rows: RowLaws, names: tuple[str, ...]) -> Iterator[tuple[list[str], np.ndarray]]:
    """Labels and columns (N, at most PATTERNS_AT_ONCE), block by block."""
    x = np.clip(standardise(rows.x, rows.w), -3.0, 3.0)
    varying = np.flatnonzero(np.ptp(rows.x, axis=0) > 0)
    labels: list[str] = []
    columns: list[np.ndarray] = []
    for label, column in _one_by_one(x, rows, varying, names):
        labels.append(label)
        columns.append(column)
        if len(labels) == PATTERNS_AT_ONCE:
            yield labels, np.column_stack(columns)
            labels, columns = [], []
    if labels:
        yield labels, np.column_stack(columns)


def _one_by_one(
    x: np.ndarray, rows: RowLaws, varying: np.ndarray, names: tuple[str, ...]
) -> Iterator[tuple[str, np.ndarray]]:
    rng = np.random.default_rng(0)  # the same patterns for the same table
    halves = {}
    for k in varying:
        values = rows.x[:, k]
        levels = np.unique(values)
        cuts = (
            levels[1:]
            if len(levels) <= BINS
            else np.unique(weighted_quantile(values, rows.w, np.arange(1, BINS) / BINS))
        )
        place = np.searchsorted(cuts, values, side="right")
        halves[k] = np.where(values >= cuts[len(cuts) // 2], 1.0, -1.0)
        if len(levels) > 2:
            yield f"{names[k]} squared", x[:, k] ** 2
            for step in range(len(cuts) + 1):
                yield f"a range of {names[k]}", (place == step).astype(np.float64)
        if len(levels) > BINS:
            rank = np.searchsorted(levels, values) / len(levels)
            for turns in range(1, WAVES + 1):
                yield f"a wave along {names[k]}", np.sin(2 * np.pi * turns * rank)
                yield f"a wave along {names[k]}", np.cos(2 * np.pi * turns * rank)
    for order in (2, 3):
        for chosen in _some(varying, order, rng):
            label = " times ".join(names[k] for k in chosen)
            if order == 2:
                yield label, x[:, chosen[0]] * x[:, chosen[1]]
            yield label, np.prod([halves[k] for k in chosen], axis=0)
    for _ in range(REGIONS if len(varying) > 1 else 0):
        chosen = tuple(rng.choice(varying, 2, replace=False))
        sides = [rows.x[:, k] > weighted_quantile(rows.x[:, k], rows.w, rng.uniform(0.2, 0.8)) for k in chosen]
        yield f"a region of {names[chosen[0]]} and {names[chosen[1]]}", (sides[0] & sides[1]).astype(np.float64)


def _some(varying: np.ndarray, order: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    if math.comb(len(varying), order) <= MOST_PRODUCTS:
        return list(combinations(varying.tolist(), order))
    drawn = {tuple(sorted(rng.choice(varying, order, replace=False).tolist())) for _ in range(MOST_PRODUCTS)}
    return sorted(drawn)


def _size(rows: RowLaws, chosen: np.ndarray) -> tuple[float, float]:
    """How far both ends move if the law takes in patterns (N, F) that it missed, to the extent that the arms differ.

    What counts is the mean of the changes over everybody: within an arm their mean is zero, so that without a
    difference between the arms nothing moves.
    """
    if chosen.shape[1] == 0:
        return 0.0, 0.0
    arm = rows.z.astype(np.intp)
    cells = np.zeros((len(rows.w), 2, 2))
    place = np.arange(len(rows.w)), rows.t.astype(np.intp)
    cells[(*place, 0)], cells[(*place, 1)] = 1 - rows.y, rows.y
    residual = (cells - rows.law[np.arange(len(arm)), arm]).reshape(-1, 4)
    lower, upper = _coefficients(rows.law)
    share = rows.w / rows.w.sum()
    moved = np.zeros(2)
    for z in (0, 1):
        here = rows.w * (arm == z)
        features = np.column_stack([np.ones(len(here)), chosen])
        weighted = features * here[:, None]
        gram = cross(weighted, features)
        ridge = np.diag(np.r_[1e-9, np.full(chosen.shape[1], 1.0)]) * max(1.0, 1e-3 * float(np.trace(gram)) / len(gram))
        change = times(features, np.linalg.solve(gram + ridge, cross(weighted, residual)))
        for q, end in enumerate((lower, upper)):
            moved[q] += share @ (change * end[:, z]).sum(axis=1)
    return float(abs(moved[0])), float(abs(moved[1]))


def _coefficients(law: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(N, 2, 4) coefficients of both ends of the effect on the law at each row, from the terms that bind there."""
    largest = mean_terms(law).argmax(axis=-1)  # (N, 4)
    signed = MEAN_TERMS[np.arange(4), largest] * np.array([1.0, -1.0, 1.0, -1.0])[:, None]  # (N, 4, 8)
    least_1, most_1, least_0, most_0 = np.moveaxis(signed.reshape(len(law), 4, 2, 4), 1, 0)
    return least_1 - most_0, most_1 - least_0
