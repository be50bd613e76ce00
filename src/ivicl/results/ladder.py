"""The ladder: the same data under more and more assumptions, side by side. What does each assumption buy?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ivicl._shared.records import Record, json_safe
from ivicl.data import IVData
from ivicl.methods.assumptions import in_short
from ivicl.methods.base import Covers, IntervalKind, Method, MethodBounds, Request
from ivicl.methods.estimands import AVERAGE
from ivicl.methods.registry import shipped
from ivicl.results.wording import interval, level

if TYPE_CHECKING:
    from ivicl.results.result import BoundsResult


@dataclass(frozen=True)
class Rung(Record):
    """One method's interval and what it rests on."""

    method: str
    label: str
    assumption: str
    """In words; what every method needs is left out."""
    lower: float
    upper: float
    estimand: str
    interval: IntervalKind
    """How the interval is meant; "estimate" is a formula applied to the sample."""
    alpha: float
    """The level of an interval that allows for sampling error."""
    covers: Covers = "set"
    """What lower and upper are meant to hold: the whole identified "set", or the "effect"."""
    adjusted: bool = False
    """It uses the covariates."""
    estimate_lower: float | None = None
    estimate_upper: float | None = None

    @classmethod
    def of(cls, result: BoundsResult, label: str) -> Rung:
        """A finished result as a rung, under a label of its own."""
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
        """The point estimate, where the two ends are one number."""
        return self.estimate_lower if self.estimate_lower == self.estimate_upper else None

    @property
    def another_estimand(self) -> bool:
        """It does not answer what the other rungs answer."""
        return self.estimand != AVERAGE

    @property
    def level(self) -> str:
        """What kind of interval it is, in a few words."""
        words = level(self.interval, self.alpha, self.covers)
        words += ", given the covariates" if self.adjusted else ""
        return f"{words}, of the {self.estimand}" if self.another_estimand else words

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"sampling_error": self.sampling_error, "estimate": self.estimate}


@dataclass(frozen=True)
class Ladder:
    """The rungs, from few assumptions to many."""

    rungs: tuple[Rung, ...]

    def __iter__(self) -> Iterator[Rung]:
        return iter(self.rungs)

    def __len__(self) -> int:
        return len(self.rungs)

    def get(self, method: str) -> Rung | None:
        """The rung of a method, by its name."""
        return next((rung for rung in self.rungs if rung.method == method), None)

    @property
    def sharp(self) -> Rung | None:
        """The last rung of the ladder that is an estimate of the same effect: the classical answer."""
        estimates = [rung for rung in self.rungs if not rung.sampling_error and not rung.another_estimand]
        return estimates[-1] if estimates else None

    def to_dict(self) -> list[dict[str, Any]]:  # what JSON holds is the list of rungs
        return [json_safe(rung.to_dict()) for rung in self.rungs]

    @classmethod
    def from_dict(cls, saved: list[dict[str, Any]]) -> Ladder:
        return cls(tuple(Rung.from_dict(rung) for rung in saved))

    def lines(self) -> list[str]:
        """Lines of text for the summary."""
        intervals = [interval(rung.lower, rung.upper) for rung in self.rungs]
        wide, wider = max(len(rung.label) for rung in self.rungs), max(map(len, intervals))
        return [
            f"{rung.label:<{wide}}  {text:<{wider}}  {rung.level}"
            for rung, text in zip(self.rungs, intervals, strict=True)
        ]


def climb(data: IVData, method: Method, found: MethodBounds, request: Request) -> Ladder:
    """The ladder of one fit. All rungs but the method's own are closed formulas."""
    rungs = sorted((m for m in shipped().values() if m.rung is not None), key=lambda m: m.rung or 0)
    own = _rung(method, found, data, request)
    done = [own if m.name == method.name else _classical(m, data, request) for m in rungs]
    if all(rung.method != method.name for rung in done):
        # After what answers the same question and assumes less; other estimands stand last.
        others = [i for i, rung in enumerate(done) if rung.another_estimand and not own.another_estimand]
        done.insert(others[0] if others else len(done), own)
    return Ladder(tuple(done))


def _classical(method: Method, data: IVData, request: Request) -> Rung:
    """On the outcome scaled to [0, 1], and back: amounts of 1e200 have squares that no float can hold."""
    plain = Request(alpha=request.alpha, random_state=request.random_state, own=method.options())
    unit = replace(data, y=data.y01, outcome_range=(0.0, 1.0))
    rung = _rung(method, method.bounds(unit, plain), unit, request)
    span = data.outcome_range[1] - data.outcome_range[0]
    low, high = rung.estimate_lower, rung.estimate_upper
    return replace(
        rung,
        lower=span * rung.lower,
        upper=span * rung.upper,
        estimate_lower=None if low is None else span * low,
        estimate_upper=None if high is None else span * high,
    )


def _rung(method: Method, found: MethodBounds, data: IVData, request: Request) -> Rung:
    adjusted = method.adjusted(found, data)
    return Rung(
        method=method.name,
        label=method.label,
        assumption=in_short(method.assumptions, adjusted),
        lower=found.lower,
        upper=found.upper,
        estimand=found.estimand,
        interval=method.interval,
        alpha=request.alpha,
        covers=found.covers,
        adjusted=adjusted,
        estimate_lower=found.estimates.lower if found.estimates else None,
        estimate_upper=found.estimates.upper if found.estimates else None,
    )
