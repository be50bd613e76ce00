"""Bounds for every estimand that a method declares: its own answers, and the rest from draws of the law or from scores.

Without covariates the law of the observed data is drawn from its posterior, and each estimand is computed at each draw
by the method's own formula for E Y(1) and E Y(0). With covariates the same means come from doubly robust scores, and
are drawn from the normal law that they have in large samples. No estimand is computed from another one's interval; a
ratio of quantities for which the method has posteriors uses these posteriors (`head_ratios`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ivicl.data import IVData
from ivicl.identification.estimands import Ends, Seen, by_name
from ivicl.identification.law_posterior import CellMoments, draw_laws, settled, spread_laws
from ivicl.identification.laws import law_of
from ivicl.methods.arm_effects import ArmEffects
from ivicl.methods.assumptions import NO_DEFIERS
from ivicl.methods.base import Method, MethodBounds, Request
from ivicl.methods.design.factors import design_factors
from ivicl.methods.estimand_bounds import EstimandBounds
from ivicl.methods.estimands import AVERAGE, NEVER_NEGATIVE
from ivicl.methods.head_ratios import ratios
from ivicl.methods.joint_draws import MeanDraws
from ivicl.methods.one_step_means import adjusted_means, ends_of
from ivicl.posterior import IdentifiedSet

N_DRAWS = 2000
"""Draws of a law that is not nearly normal: the ends of a 95 % interval have a Monte Carlo error of a sixteenth of a
standard error."""
TOGETHER = 32
"""How many data sets' draws are computed together: few enough to stay in a core's cache."""
NOBODY = 1e-12
"""A share of people that is rounding."""
ONE_STEP = ("exchangeable", "exclusion", "no-interference", "bounded", "large-sample")
"""What the adjusted means rest on."""
RANDOMISED = ("exchangeable", "no-interference")
"""What the intention-to-treat effect rests on."""

Answers = dict[str, EstimandBounds]
Heads = Mapping[str, IdentifiedSet]


def answers(method: Method, found: MethodBounds, data: IVData, request: Request) -> Answers:
    """What the method says about each estimand that it declares, by name."""
    return answers_of_many(method, [found], [data], request)[0]


def answers_of_many(
    method: Method, found: Sequence[MethodBounds], data: Sequence[IVData], request: Request
) -> list[Answers]:
    """The same for many data sets: formulas are computed together, but each data set has the draws it has alone."""
    own = [_own(method, one, each, request.alpha) for one, each in zip(found, data, strict=True)]
    # If lost outcomes may have been anything, only the method itself knows what that does to its ends.
    missing = [
        i for i, each in enumerate(data) if each.lost is None and any(name not in own[i] for name in method.estimands)
    ]
    plain, filled = [], dict[int, Answers]()
    for i in missing:
        adjusted = _from_scores(method, found[i], data[i], request) if method.adjusted(found[i], data[i]) else None
        if adjusted is None:
            plain.append(i)
        else:
            filled[i] = adjusted
    # What the method has answered itself is not computed again from draws.
    wanted = {name for i in plain for name in method.estimands if name not in own[i]}
    drawn = from_laws(method, [data[i] for i in plain], [found[i] for i in plain], request, wanted)
    filled |= dict(zip(plain, drawn, strict=True))
    return [_together(method, found[i], own[i], filled.get(i, {})) for i in range(len(data))]


def _own(method: Method, found: MethodBounds, data: IVData, alpha: float) -> Answers:
    """What the method answered itself; an estimate without an interval is left to the draws if there is a formula."""
    own = dict(found.estimands)
    if found.draws is not None:
        own |= _from_joint_draws(method, found.draws, data, alpha)
    if found.estimand not in own and (method.interval != "estimate" or method.means is None or data.lost is not None):
        adjusted, point = method.adjusted(found, data), found.estimates
        own[found.estimand] = EstimandBounds(
            found.lower,
            found.upper,
            point.lower if point else None,
            point.upper if point else None,
            method.assumptions,
            method.interval,
            found.covers,
            adjusted,
        )
    return own


def _together(method: Method, found: MethodBounds, own: Answers, filled: Answers) -> Answers:
    """All answers in the order of the method's list; for the method's own estimand the estimate is the method's own."""
    known, point = filled | own, found.estimates
    if found.estimand not in own and point is not None and found.estimand in known:
        entry = known[found.estimand]
        upper = None if entry.upper is None else max(entry.upper, point.upper)
        known[found.estimand] = replace(
            entry,
            lower=min(entry.lower, point.lower),
            upper=upper,
            estimate_lower=point.lower,
            estimate_upper=point.upper,
        )
    return {name: known[name] for name in dict.fromkeys((*method.estimands, *known)) if name in known}


def _from_joint_draws(method: Method, draws: MeanDraws, data: IVData, alpha: float) -> Answers:
    """From a method's own posterior draws. Estimates are means, but medians for ratios, which need not have a mean."""
    low, span = data.outcome_range[0], _span(data)
    found: Answers = {}
    for name in draws.estimands:
        if name == AVERAGE or name not in method.estimands or (name in NEVER_NEGATIVE and low != 0):
            continue
        factor, shift = (1.0, 0.0) if name == "RR" else (span, low if name in ("EY1", "EY0") else 0.0)
        lower, upper = draws.of(name)
        middle = np.median if name in ("RR", "LATE") else np.mean
        first, second = (np.r_[middle(end), end][:, None] * factor + shift for end in (lower, upper))
        assumes = (*RANDOMISED, "prior") if name == "ITT" else method.assumptions
        if name == "LATE" and NO_DEFIERS not in assumes:  # a user may have granted it
            assumes = (*assumes, NO_DEFIERS)
        entry = EstimandBounds.from_draws(first, first if lower is upper else second, alpha, assumes)[0]
        if entry is not None:
            found[name] = entry
    return found


def from_laws(
    method: Method,
    data: Sequence[IVData],
    answered_by: Sequence[MethodBounds],
    request: Request,
    wanted: Collection[str],
) -> list[Answers]:
    """Without covariates: the method's formula at the sample's law, and at draws of it, for the estimands `wanted`.

    Data sets whose law is nearly normal are computed together, at evenly spread points; for the others laws are drawn.
    """
    cells = [_cells(each) for each in data]
    even = [settled(each) for each in cells]
    answered: dict[int, Answers] = {}
    for kind in (True, False):
        every = [i for i, one in enumerate(even) if one is kind]
        for start in range(0, len(every), TOGETHER):
            here = every[start : start + TOGETHER]
            chosen, seed = [cells[i] for i in here], request.random_state
            laws = spread_laws(chosen, seed) if kind else _drawn(chosen, seed)
            heads = [answered_by[i].heads for i in here]
            found = _at_laws(method, chosen, laws, [data[i] for i in here], heads, request, wanted)
            answered |= dict(zip(here, found, strict=True))
    return [answered[i] for i in range(len(data))]


def _drawn(cells: Sequence[CellMoments], seed: int) -> np.ndarray:
    return np.stack([draw_laws(each, N_DRAWS, np.random.default_rng(seed)) for each in cells], axis=1)


def _at_laws(
    method: Method,
    cells: list[CellMoments],
    drawn: np.ndarray,
    data: Sequence[IVData],
    heads: Sequence[Heads],
    request: Request,
    wanted: Collection[str],
) -> list[Answers]:
    """The answers for B data sets, from draws (D, B, 2, 2, 2) of their laws."""
    joined = CellMoments.stack(cells)
    laws = np.concatenate([law_of(joined.soft_counts)[None], drawn])
    share = joined.share_z1
    low, high = np.array([each.outcome_range for each in data]).T
    found: dict[str, Ends] = {}
    seen = None
    at = None if set(wanted) <= {"ITT", "LATE"} else method.mean_ends(laws, share)
    if at is not None:
        ends, possible = at
        seen = Seen.of(possible, share)
        found = _of_somebody(by_name(ends, seen, low, high), seen)
    itt = (high - low) * (laws[..., 1, :, 1].sum(axis=-1) - laws[..., 0, :, 1].sum(axis=-1))
    assumes = dict.fromkeys(found, method.assumptions) | {"ITT": RANDOMISED}
    named = {name: ends for name, ends in (found | {"ITT": (itt, itt)}).items() if name in wanted}
    answered = _intervals(method, named, request.alpha, assumes, len(data))
    for k, own in enumerate(heads):
        if seen is not None:
            answered[k] |= _ratios(method, answered[k], own, found, seen, k, data[k], request.alpha)
    if "LATE" in wanted:
        for answer, moments, each in zip(answered, cells, data, strict=True):
            answer["LATE"] = ArmEffects.of_moments(moments).late(request.alpha, _span(each))
    return answered


def _cells(data: IVData) -> CellMoments:
    """Moments of the population that the people stand for, with as many people as they are worth under the design."""
    people = data.population()
    cells = CellMoments.of(people.z, people.t, people.y01, people.w, people.binary, people.v)
    if data.design is None:
        return cells
    worth = float(min(1.0, design_factors(data).factor.min()))
    return replace(cells, people=worth * cells.people, total=worth * cells.total, squares=worth * cells.squares)


def _from_scores(method: Method, answered_by: MethodBounds, data: IVData, request: Request) -> Answers | None:
    """The answers adjusted for covariates; None if there is nothing to adjust for."""
    means = adjusted_means(data)
    if means is None:
        return None
    effects = means.effects()
    found = {"ITT": effects.itt(request.alpha, _span(data)), "LATE": effects.late(request.alpha, _span(data))}
    if method.means is not None:
        drawn = means.draws(N_DRAWS, np.random.default_rng(request.random_state))[:, None]
        low, high = (np.array([end]) for end in data.outcome_range)
        ends, seen = ends_of(drawn)
        named = _of_somebody(by_name(ends, seen, low, high), seen)
        found |= {
            name: replace(entry, interval="confidence", adjusted=True)
            for name, entry in _intervals(method, named, request.alpha, dict.fromkeys(named, ONE_STEP), 1)[0].items()
        }
        own = _ratios(method, found, answered_by.heads, named, seen, 0, data, request.alpha)
        found |= {name: replace(entry, adjusted=True) for name, entry in own.items()}
    return {name: entry for name, entry in found.items() if name in method.estimands}


def _ratios(
    method: Method,
    known: Answers,
    heads: Heads,
    named: Mapping[str, Ends],
    seen: Seen,
    k: int,
    data: IVData,
    alpha: float,
) -> Answers:
    """For the k-th data set: ratios of what the method itself has posteriors of, to replace those from the law."""
    if not heads:
        return {}
    low, span = data.outcome_range[0], _span(data)
    drawn = {name: (lower[:, k], upper[:, k]) for name, (lower, upper) in named.items() if name in heads}
    mean_treated = low + span * seen.outcome_treated[:, k] / np.maximum(seen.treated[:, k], 1e-300)
    found = ratios(heads, drawn, mean_treated)
    entries = {
        name: EstimandBounds.from_draws(lower[:, None], upper[:, None], alpha, method.assumptions)[0]
        for name, (lower, upper) in found.items()
        if name in known
    }
    return {name: entry for name, entry in entries.items() if entry is not None}


def _of_somebody(named: dict[str, Ends], seen: Seen) -> dict[str, Ends]:
    """The same with nan as the estimate of an average over nobody, which leaves it out.

    By division alone it would be nan only if the law had none of them exactly, but the most likely law that a valid
    instrument allows has them up to rounding.
    """
    treated = seen.treated[0]
    for name, share in (("ATT", treated), ("LIFT", treated), ("ATU", 1 - treated)):
        named[name][0][0] = np.where(share > NOBODY, named[name][0][0], np.nan)
    return named


def _intervals(
    method: Method, named: Mapping[str, Ends], alpha: float, assumes: Mapping[str, tuple[str, ...]], number: int
) -> list[Answers]:
    """For a number of data sets, from arrays (1 + draws, number) with the estimate first; leaves out averages over
    nobody."""
    known = {name: ends for name, ends in named.items() if name in method.estimands}
    answered: list[Answers] = [{} for _ in range(number)]
    for name, ends in known.items():
        for answer, entry in zip(answered, EstimandBounds.from_draws(*ends, alpha, assumes[name]), strict=True):
            if entry is not None:
                answer[name] = entry
    return answered


def _span(data: IVData) -> float:
    return data.outcome_range[1] - data.outcome_range[0]
