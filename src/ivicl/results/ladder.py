"""The ladder: the same data under more and more assumptions, side by side. What does each assumption buy?"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ivicl.data import IVData
from ivicl.methods.base import MethodBounds, MethodOptions
from ivicl.methods.registry import resolve

RUNGS: dict[str, tuple[str, str]] = {
    "manski": ("Manski, no instrument", "The outcome lies in its range; nothing else."),
    "manski-iv": (
        "Manski with the instrument",
        "Each mean potential outcome is the same in both arms of the instrument.",
    ),
    "balke-pearl": (
        "Balke-Pearl, no covariates",
        "The instrument is independent of everybody's type, and acts through the treatment alone.",
    ),
    "late": (
        "LATE: compliers only",
        "The same, and the instrument moves nobody against its direction. Another estimand: the compliers' effect.",
    ),
}
"""Method -> label, and the assumption in words; in the order shown; another method comes before LATE."""


@dataclass(frozen=True)
class Rung:
    """One method's interval and what it rests on."""

    method: str
    label: str
    assumption: str
    lower: float
    upper: float
    estimand: str
    sampling_error: bool
    """The interval allows for sampling error; otherwise it is a formula applied to the sample."""
    estimate: float | None = None
    """The point estimate, for LATE."""


def ladder(data: IVData, method: str, found: MethodBounds, options: MethodOptions) -> list[dict[str, Any]]:
    """The rungs as dictionaries, for `BoundsResult.details['ladder']`. All but the method's own are closed formulas."""
    names = list(RUNGS)
    if method not in names:
        names.insert(names.index("late"), method)
    label, assumption = RUNGS.get(method, _own(method, found, data, options))
    own = _rung(method, label, assumption, found)
    rungs = [own if name == method else _classical(name, data, options) for name in names]
    return [asdict(rung) for rung in rungs]


def _own(method: str, found: MethodBounds, data: IVData, options: MethodOptions) -> tuple[str, str]:
    level = f"{100 * (1 - options.alpha):g} %"
    if method == "ivicl":
        within = "given the covariates" if data.covariates else "as for Balke-Pearl"
        return f"Network, {level}", f"The instrument is valid {within}; with a prior, and allowing for sampling error."
    kind = "with a prior" if found.is_credible else "allowing for sampling error"
    return f"{method}, {level}", f"The instrument is valid; {kind}."


def _classical(name: str, data: IVData, options: MethodOptions) -> Rung:
    """On the outcome scaled to [0, 1], and back: amounts of 1e200 have squares that no float can hold."""
    plain = MethodOptions(alpha=options.alpha, random_state=options.random_state)
    unit = replace(data, y=data.y01, outcome_range=(0.0, 1.0))
    rung = _rung(name, *RUNGS[name], resolve(name)(unit, plain))
    span = data.outcome_range[1] - data.outcome_range[0]
    estimate = None if rung.estimate is None else span * rung.estimate
    return replace(rung, lower=span * rung.lower, upper=span * rung.upper, estimate=estimate)


def _rung(method: str, label: str, assumption: str, found: MethodBounds) -> Rung:
    allows = bool(found.details.get("sampling_error", True))
    estimate = found.details.get("estimate")
    lower, upper = min(found.lower, found.upper), max(found.lower, found.upper)
    return Rung(method, label, assumption, lower, upper, found.estimand, allows, estimate)


def table(rungs: list[dict[str, Any]]) -> list[str]:
    """Lines of text for the summary."""
    from ivicl.results.tables import interval

    width = max(len(rung["label"]) for rung in rungs)
    lines = []
    for rung in rungs:
        note = "" if rung["sampling_error"] else "  (estimated)"
        lines.append(f"{rung['label']:<{width}}  {interval(rung['lower'], rung['upper'])}{note}")
    return lines
