"""The ladder: the same data under more and more assumptions, side by side, to show what each assumption buys."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ivicl._shared.records import Record, json_safe
from ivicl.data import IVData
from ivicl.methods.answers import answers
from ivicl.methods.assumptions import in_short
from ivicl.methods.base import Covers, IntervalKind, Method, MethodBounds, Request
from ivicl.methods.estimand_bounds import EstimandBounds
from ivicl.methods.estimands import AVERAGE
from ivicl.methods.registry import shipped
from ivicl.results.wording import interval, level, number

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult


@dataclass(frozen=True)
class Rung(Record):
    """One method's interval and what it rests on.

    Examples:
        >>> from ivicl import IVBounds
        >>> rung = IVBounds("manski").fit_counts([158, 14, 0, 0, 52, 12, 23, 78]).ladder.get("late")
        >>> rung.estimand, round(rung.estimate, 4), Rung.from_dict(rung.to_dict()) == rung
        ('LATE', 0.7581, True)
    """

    method: str
    label: str
    assumption: str
    """Its assumptions in words, without those that every method needs."""
    lower: float
    upper: float
    estimand: str
    interval: IntervalKind
    """What kind of interval it is; "estimate" is a formula applied to the sample."""
    alpha: float
    """The level of an interval that allows for sampling error."""
    covers: Covers = "set"
    """What lower and upper are meant to hold: the whole identified "set", or the "effect"."""
    adjusted: bool = False
    """It uses the covariates."""
    estimate_lower: float | None = None
    estimate_upper: float | None = None
    classical: bool = False
    """Its ends are given by a closed formula of the observed data."""

    def __post_init__(self) -> None:
        if self.upper is None:  # this is how a ratio without an upper limit is saved
            object.__setattr__(self, "upper", math.inf)

    @classmethod
    def of(cls, result: BoundsResult, label: str) -> Rung:
        """A finished result as a rung, under the given label."""
        point = result.estimates
        return cls(
            method=result.method,
            label=label,
            assumption=in_short(result.assumptions, result.adjusted),
            lower=result.lower,
            upper=result.upper,
            estimand=result.estimand,
            interval=result.interval_kind,
            alpha=result.alpha,
            covers=result.covers,
            adjusted=result.adjusted,
            estimate_lower=point.lower if point else None,
            estimate_upper=point.upper if point else None,
        )

    @property
    def sampling_error(self) -> bool:
        """The interval allows for sampling error."""
        return self.interval != "estimate"

    @property
    def estimate(self) -> float | None:
        """The point estimate, if the two ends are equal."""
        return self.estimate_lower if self.estimate_lower == self.estimate_upper else None

    @property
    def another_estimand(self) -> bool:
        """Whether it answers another question than the other rungs."""
        return self.estimand != AVERAGE

    @property
    def level(self) -> str:
        """What kind of interval it is, in a few words."""
        words = level(self.interval, self.alpha, self.covers)
        words += f", of the {self.estimand}" if self.another_estimand else ""
        return f"{words}, {self.covariates}"

    @property
    def covariates(self) -> str:
        """Whether covariates were used, in a word or two."""
        return "adjusted" if self.adjusted else "no covariates"

    @property
    def cells(self) -> list[str]:
        """Its line in a table, under HEADINGS."""
        low, high = self.estimate_lower, self.estimate_upper
        point = "" if low is None else number(low) if low == high else interval(low, math.inf if high is None else high)
        words = [self.estimand] * self.another_estimand + ["estimated"] * (not self.sampling_error) + [self.covariates]
        # An estimate is not repeated as an interval: it would be taken for one at the level named above the table.
        held = "" if point and not self.sampling_error else interval(self.lower, self.upper)
        return [self.label, point, held, ", ".join(words)]

    def to_dict(self) -> dict[str, Any]:
        """The rung as plain values."""
        return super().to_dict() | {"sampling_error": self.sampling_error, "estimate": self.estimate}


HEADINGS = ("", "Estimate", "Interval", "")


@dataclass(frozen=True)
class Ladder:
    """The rungs, from few assumptions to many.

    Examples:
        >>> from ivicl import IVBounds
        >>> ladder = IVBounds("manski").fit_counts([158, 14, 0, 0, 52, 12, 23, 78]).ladder
        >>> [rung.method for rung in ladder], ladder.sharp.method
        (['manski', 'manski-iv', 'balke-pearl', 'late'], 'balke-pearl')
        >>> round(ladder.get("balke-pearl").estimate_lower, 4), Ladder.from_dict(ladder.to_dict()) == ladder
        (0.3913, True)
    """

    rungs: tuple[Rung, ...]

    def __iter__(self) -> Iterator[Rung]:
        return iter(self.rungs)

    def __len__(self) -> int:
        return len(self.rungs)

    def get(self, method: str) -> Rung | None:
        """The rung of a method, by its name; if there are several, the last, which uses the covariates."""
        return next((rung for rung in reversed(self.rungs) if rung.method == method), None)

    @property
    def sharp(self) -> Rung | None:
        """The last closed formula for the same effect: the classical answer."""
        closed = (rung for rung in self.rungs if rung.classical or not rung.sampling_error)
        formulas = [rung for rung in closed if not rung.another_estimand]
        return formulas[-1] if formulas else None

    def to_dict(self) -> list[dict[str, Any]]:  # a list, because JSON holds the list of rungs
        """The rungs as plain values."""
        return [json_safe(rung.to_dict()) for rung in self.rungs]

    @classmethod
    def from_dict(cls, saved: list[dict[str, Any]]) -> Ladder:
        """The inverse of `to_dict`."""
        return cls(tuple(Rung.from_dict(rung) for rung in saved))

    def lines(self) -> list[str]:
        """Lines of text for the summary."""
        intervals = [interval(rung.lower, rung.upper) for rung in self.rungs]
        wide, wider = max(len(rung.label) for rung in self.rungs), max(map(len, intervals))
        return [
            f"{rung.label:<{wide}}  {text:<{wider}}  {rung.level}"
            for rung, text in zip(self.rungs, intervals, strict=True)
        ]


def climb(
    data: IVData, method: Method, found: MethodBounds, request: Request, estimands: Mapping[str, EstimandBounds]
) -> Ladder:
    """The ladder of one fit: each rung is an estimate and an interval at the same level.

    All rungs except the method's own are cheap: closed formulas, or one pass over eight counts. `estimands` are the
    method's own answers.
    """
    bare = data.without_covariates()
    own = [_rung(method, found, data, request, estimands.get(found.estimand))]
    if own[0].adjusted and method.rung_without_covariates:
        plain = method.bounds(bare, request)
        own.insert(0, replace(_rung(method, plain, bare, request, None), label=f"{method.label}, no covariates"))
    rungs: list[Rung] = []
    known = [m for m in shipped().values() if m.rung is not None and (m.moments or data.v is None)]
    for other in sorted(known, key=lambda m: m.rung or 0):
        itself = other.name == method.name and not own[0].adjusted
        rungs += own if itself else [_closed(other, bare, request)]
        if other.name == method.name and own[0].adjusted:
            adjusted = own
        else:
            adjusted = [_closed(other, data, request)] if other.uses_covariates and data.covariates else []
        rungs += [replace(rung, label=f"{rung.label}, adjusted") for rung in adjusted if rung.adjusted]
    if all(rung.method != method.name for rung in rungs):
        # It comes after those that answer the same question and assume less; other estimands come last.
        others = [i for i, rung in enumerate(rungs) if rung.another_estimand and not own[0].another_estimand]
        place = others[0] if others else len(rungs)
        rungs[place:place] = own
    asked = request.estimand
    if asked is not None and asked != found.estimand and asked in estimands:
        answer = replace(_rung(method, found, data, request, estimands[asked]), label=f"{method.label}: {asked}")
        rungs.append(replace(answer, estimand=asked))
    return Ladder(tuple(rungs))


def _closed(method: Method, data: IVData, request: Request) -> Rung:
    """The rung of another method, computed with the outcome scaled to [0, 1], as squares of 1e200 would overflow."""
    plain = Request(alpha=request.alpha, random_state=request.random_state, own=method.options())
    unit = replace(data, y=data.y01, outcome_range=(0.0, 1.0))
    found = method.bounds(unit, plain)
    only = replace(method, estimands=(found.estimand,))
    rung = _rung(method, found, unit, request, answers(only, found, unit, plain).get(found.estimand))
    span = data.outcome_range[1] - data.outcome_range[0]
    low, high = rung.estimate_lower, rung.estimate_upper
    return replace(
        rung,
        lower=span * rung.lower,
        upper=span * rung.upper,
        estimate_lower=None if low is None else span * low,
        estimate_upper=None if high is None else span * high,
    )


def _rung(method: Method, found: MethodBounds, data: IVData, request: Request, answer: EstimandBounds | None) -> Rung:
    """The method's answer as a rung; `answer` allows for sampling error even if the method itself only estimates."""
    adjusted = method.adjusted(found, data) if answer is None else answer.adjusted
    point = found.estimates
    rung = Rung(
        method=method.name,
        label=method.label,
        assumption=in_short(method.assumptions if answer is None else answer.assumes, adjusted),
        lower=found.lower,
        upper=found.upper,
        estimand=found.estimand,
        interval=method.interval,
        alpha=request.alpha,
        covers=found.covers,
        adjusted=adjusted,
        estimate_lower=point.lower if point else None,
        estimate_upper=point.upper if point else None,
        classical=method.interval == "estimate" and method.means is not None,
    )
    if answer is None:
        return rung
    return replace(
        rung,
        lower=answer.lower,
        upper=math.inf if answer.upper is None else answer.upper,
        interval=answer.interval,
        covers=answer.covers,
        estimate_lower=answer.estimate_lower,
        estimate_upper=answer.estimate_upper,
    )
