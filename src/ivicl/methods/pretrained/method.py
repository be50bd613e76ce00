"""`method="ivicl"`: from a data set to the network's bounds, in three steps that batches of studies share.

`pose` turns a data set into tables, `predict_tables` runs them, `settle` makes bounds of the posteriors.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ivicl._shared.progress import progress_bar
from ivicl.data import IVData
from ivicl.errors import InputError, ModelFileError
from ivicl.methods.assumptions import NO_DEFIERS
from ivicl.methods.base import Covers, Estimates, Method, MethodBounds, ModelInfo, Request
from ivicl.methods.estimand_bounds import EstimandBounds
from ivicl.methods.estimands import ALL, AVERAGE
from ivicl.methods.outcomes import Thresholds, average_draws, combine_thresholds
from ivicl.methods.pretrained.batching import in_stages, predict_tables
from ivicl.methods.pretrained.effective import Worth, worth
from ivicl.methods.pretrained.heads import ends_by_estimand, rows_seen
from ivicl.methods.pretrained.large import (
    MAX_ROWS,
    MAX_ROWS_PER_THRESHOLD,
    cost_sentence,
    sample_sentence,
    seconds,
    shrink,
)
from ivicl.methods.pretrained.runtime import Model
from ivicl.methods.pretrained.schema_2 import Posteriors
from ivicl.methods.pretrained.stacks import Table
from ivicl.methods.pretrained.tables import left_out_columns, problems
from ivicl.posterior import BinnedPosterior, IdentifiedSet

LEAST_PEOPLE = 20
"""Smallest number of people in a training table."""
SECONDS_WORTH_SAYING = 10


@dataclass(frozen=True)
class NetworkOptions:
    """Which network, and how much of the data it sees at once."""

    model: str | os.PathLike[str] | None = None
    """The path of a model file; the shipped one when None."""
    max_rows: int | None = None
    """With more distinct rows than this, people are sampled. None: never, if the model takes rows in chunks."""

    def __post_init__(self) -> None:
        if self.model is not None and not isinstance(self.model, str | os.PathLike):
            raise InputError(f"model must be the path of a model file, but is {self.model!r}.")
        rows = self.max_rows
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1):
            raise InputError(f"max_rows must be a whole number of at least 1, but is {rows!r}.")


@dataclass(frozen=True)
class Question:
    """One data set as the network will see it."""

    tables: list[Table]
    thresholds: Thresholds | None
    """How an outcome that is not binary was cut."""
    model: ModelInfo
    warnings: tuple[str, ...]
    details: dict[str, Any]
    worth: Worth | None = None
    """What the people are worth, if there is one table, with the outcome as it is."""


def bounds(data: IVData, request: Request) -> MethodBounds:
    """The network's bounds for one data set."""
    model = model_of(request)
    question = pose(data, request, model)
    rows = sum(table.rows for table in question.tables if table.varies)
    on = request.progress and seconds(rows) >= SECONDS_WORTH_SAYING
    with progress_bar(f"{rows:,} rows, about {seconds(rows):.0f} s", rows, on=on) as advance:
        posteriors = predict_tables(model, question.tables, advance)
    return settle(data, request, question, posteriors)


def bounds_of_many(data: Sequence[IVData], request: Request) -> list[MethodBounds]:
    """The same for many data sets: all their tables in as few passes as their sizes allow."""
    model = model_of(request)
    questions = [pose(each, request, model) for each in data]
    tables = [table for question in questions for table in question.tables]
    if not tables:
        return []
    posteriors = predict_tables(model, tables)
    found: list[MethodBounds] = []
    start = 0
    for each, question in zip(data, questions, strict=True):
        here = slice(start, start + len(question.tables))
        start = here.stop
        found.append(settle(each, request, question, posteriors.take(here)))
    return found


def model_of(request: Request) -> Model:
    path = request.own.model
    return Model.shipped() if path is None else Model.load(path)


def prepare(request: Request) -> None:
    """Load the model; if it cannot be loaded, whatever needs it later will say so."""
    with suppress(ModelFileError):
        model_of(request)


def stamp(request: Request) -> dict[str, str]:
    return {"model": model_of(request).sha256}


def pose(data: IVData, request: Request, model: Model) -> Question:
    """The tables of one data set: equal rows are merged, and people sampled if there are too many for the model."""
    for key in request.assume:
        if key not in (*model.graph.assumptions, *METHOD.assumptions):
            raise InputError(
                f"the network in '{model.name}' was not taught to assume {key!r}; leave assume out, or use a method "
                "that assumes it (ivicl methods lists what each assumes)."
            )
    rng = np.random.default_rng(request.random_state)
    if data.design is not None and not data.binary and request.combine != "means":
        raise InputError(
            f"combine='{request.combine}' takes people as independent; with cluster, strata or sampling_weights use "
            "combine='means'."
        )
    once = data.binary or request.combine == "means"
    if not once:
        data.of_each_person(f"combine='{request.combine}'")
    limit = request.own.max_rows or _usual_limit(model, once)
    used = data if once else data.merged()
    warnings = []
    tables, thresholds = problems(used, request, rng)
    if limit is not None and tables[0].rows > limit and tables[0].varies:
        merged = data.of_each_person(f"a sample of people (max_rows={limit})").merged()
        used = shrink(merged, limit, rng)
        warnings.append(sample_sentence(merged, used, limit, model.staged is not None))
        tables, thresholds = problems(used, request, rng)
    people = worth(tables[0], used) if once else None
    tables = [people.table] if people else tables
    tables = [replace(table, no_defiers=NO_DEFIERS in request.assume) for table in tables]
    left_out = left_out_columns(tables, data.covariates, model.metadata["network"]["max_features"])
    if left_out:
        shown = ", ".join(left_out[:8]) + (f" and {len(left_out) - 8} more" if len(left_out) > 8 else "")
        warnings.append(
            f"the network reads {model.metadata['network']['max_features']} covariates; of {len(data.covariates)}, "
            f"those least associated with instrument, treatment and outcome were left out: {shown}."
        )
    warnings += _range_warnings(used.n, model.metadata["network"]["max_count"])
    if not data.binary and request.combine == "independent":
        warnings.append(
            "combine='independent' adds the thresholds as if their errors cancelled, which they need not: a narrow "
            "interval, which misses the effect more often than its level says and does not cover the identified set."
        )
    details: dict[str, Any] = {
        "n_used": used.n,
        "sampled": used.n < data.n or data.report.sampled_from is not None,
        "rows_used": tables[0].rows,
        "in_chunks": tables[0].varies and in_stages(model, tables[0]),
        "left_out_columns": left_out,
    }
    return Question(tables, thresholds, ModelInfo(model.name, model.sha256), tuple(warnings), details, people)


def _usual_limit(model: Model, once: bool) -> int | None:
    """The default limit on distinct rows before people are sampled: none for a model that takes rows in chunks."""
    if model.staged is not None:
        return None
    return MAX_ROWS if once else MAX_ROWS_PER_THRESHOLD


def _range_warnings(n: int, most: float) -> list[str]:
    if n > most:
        return [
            f"{n:,} people are more than the {most:,.0f} that the network is made for; they count as {most:,.0f}, "
            "which makes the interval a little wider than it could be."
        ]
    if n < LEAST_PEOPLE:
        least = f"the {LEAST_PEOPLE} that the network is made for"
        return [f"{n} people are fewer than {least}; the prior speaks louder than they."]
    return []


def settle(data: IVData, request: Request, question: Question, posteriors: Posteriors) -> MethodBounds:
    """Bounds in outcome units from the posteriors of the question's tables."""
    span = data.outcome_range[1] - data.outcome_range[0]
    effect: BinnedPosterior | None
    cuts = question.thresholds
    effect, identified = _combined(question, posteriors, span)
    effect, identified = effect.scaled(span), identified.scaled(span)
    # That errors are independent is an assumption about the effect; the ends are always added by quantiles.
    usual: Covers = "effect" if cuts is not None and cuts.combine == "independent" else "set"
    whole = cuts is None or cuts.combine == "means"
    degrees = question.worth.degrees if question.worth else None
    heads = ends_by_estimand(posteriors, data, NO_DEFIERS in request.assume, degrees) if whole else {}
    asked = request.estimand or AVERAGE
    if asked != AVERAGE and asked in heads:
        if request.covers == "effect":
            raise InputError(
                f"the network has a posterior of the ATE and of the ends of the {asked}: use covers='set'."
            )
        effect, identified = None, heads[asked]
    headline = asked if asked in heads else AVERAGE
    varies = question.tables[0].varies
    covers = request.covers or usual
    lower, upper = (effect if effect is not None and covers == "effect" else identified).interval(request.alpha)
    warnings = question.warnings
    if question.details["sampled"]:
        used, set_width = question.details["n_used"], identified.upper.mean - identified.lower.mean
        warnings += (cost_sentence(data, used, upper - lower, set_width),)
    return MethodBounds(
        lower,
        upper,
        effect,
        identified,
        covers,
        estimand=headline,
        estimates=Estimates(*identified.means, identified.lower.sd, identified.upper.sd),
        thresholds=cuts,
        estimands={
            name: EstimandBounds.from_posterior(each, request.alpha, (*METHOD.assumptions, *request.assume), varies)
            for name, each in heads.items()
            if name != headline
        },
        row_laws=rows_seen(question.tables[0], posteriors) if whole else None,
        heads=heads,
        model=question.model,
        warnings=warnings,
        details=question.details,
    )


def _combined(question: Question, posteriors: Posteriors, span: float) -> tuple[BinnedPosterior, IdentifiedSet]:
    """One posterior of the effect and one of the ends, for an outcome whose range has length one."""
    if question.worth is not None:
        return question.worth.read(posteriors)
    effects = [posteriors.of("effect", k) for k in range(len(posteriors))]
    ends = [IdentifiedSet(posteriors.of("lower", k), posteriors.of("upper", k)) for k in range(len(posteriors))]
    cuts = question.thresholds
    if cuts is None or cuts.combine == "randomised":
        return average_draws(effects, ends)
    # Use shares of the range, not lengths: the sum then has the range of an effect, however large its unit.
    return combine_thresholds(effects, ends, [s / span for s in cuts.lengths], cuts.combine)


METHOD = Method(
    name="ivicl",
    label="Network",
    load=bounds,
    batched=bounds_of_many,
    prepare=prepare,
    stamp=stamp,
    interval="credible",
    summary="the default: one forward pass of a pretrained network, with covariates; judged by `exact` where there are "
    "none",
    procedure="a pretrained in-context network that was trained on simulated instrumental-variable studies",
    estimands=ALL,
    means="ivicl.identification.weaker_ends:sharp",
    assumptions=("exchangeable", "exclusion", "no-interference", "bounded", "prior"),
    may_assume=(NO_DEFIERS,),
    covers=("set", "effect"),
    lost_outcomes="filled",
    moments=True,
    reads_design=True,
    uses_covariates=True,
    rung_without_covariates=True,
    options=NetworkOptions,
    colour="#dc267f",
    paper_name="IV-ICL",
    variants=(("effect", "#f4a3c4"), ("independent", "#fe6100")),
)
