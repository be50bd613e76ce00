"""Makes a result from a method's answer: adds the data's report, the diagnostics and the ladder."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ivicl._shared.frames import POLARS
from ivicl.data import IVData
from ivicl.methods.answers import answers
from ivicl.methods.base import Method, MethodBounds, Request
from ivicl.methods.estimand_bounds import EstimandBounds
from ivicl.methods.headline import headlined
from ivicl.results.diagnostics import diagnose
from ivicl.results.ladder import climb
from ivicl.results.result import BoundsResult
from ivicl.results.source import Source


def make_result(
    method: Method,
    found: MethodBounds,
    data: IVData,
    request: Request,
    ladder: bool = True,
    estimands: dict[str, EstimandBounds] | None = None,
    frame_kind: str = POLARS,
) -> BoundsResult:
    """A method's answer together with the data's report, the diagnostics and the ladder of assumptions.

    `estimands` are those of `answers`, if they were computed for many studies together; `frame_kind` is the kind of
    table that the data came in.
    """
    everybody = data.filled()
    dropped_lost = data.lost is None and sum(map(sum, data.report.lost)) > 0
    estimands = answers(method, found, data, request) if estimands is None else estimands
    rungs = climb(data, method, found, request, estimands) if ladder else None
    asked_of, laws = method, found.row_laws
    method, found = headlined(method, found, estimands, data, request.estimand)
    return BoundsResult(
        lower=found.lower,
        upper=found.upper,
        alpha=request.alpha,
        method=method.name,
        label=method.label,
        procedure=method.procedure,
        interval_kind=method.interval,
        assumptions=(*method.assumptions, *(("lost-at-random",) if dropped_lost else ())),
        n=everybody.n,
        n_rows=data.report.n_rows,
        n_dropped=data.report.n_dropped,
        covariates=data.covariates,
        adjusted=method.adjusted(found, data),
        estimand=found.estimand,
        outcome_range=data.outcome_range,
        cap=data.report.cap,
        binary=data.binary,
        diagnostics=diagnose(data, laws),
        posterior=found.posterior,
        identified_set=found.identified_set,
        covers=found.covers,
        estimates=found.estimates,
        thresholds=found.thresholds,
        estimands=estimands,
        ladder=rungs,
        warnings=found.warnings,
        notes=tuple(data.report.notes),
        variables=data.report.variables,
        codings=dict(data.report.codings),
        model=found.model,
        details=found.details,
        # If lost outcomes may have been anything, the method saw rows with these filled in: their laws are not kept.
        source=Source(
            data,
            partial(_fit_again, asked_of, request, frame_kind),
            request.random_state,
            None if data.lost is not None else laws,
            frame_kind,
        ),
    )


def _fit_again(
    method: Method, request: Request, frame_kind: str, data: IVData, alpha: float | None = None
) -> BoundsResult:
    """The same fit for other people, as part of an answer: without a ladder, and without a warning."""
    request = request if alpha is None else replace(request, alpha=alpha)
    return make_result(method, method.bounds(data, request), data, request, ladder=False, frame_kind=frame_kind)
