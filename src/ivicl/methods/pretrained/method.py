"""`method="ivicl"`: from a data set to the network's bounds, in three steps that batches of studies share.

`pose` turns a data set into binary tables, `predict_tables` runs them, `settle` makes bounds of the posteriors.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ivicl._shared.progress import progress_bar
from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.methods.base import MethodBounds, MethodOptions, checked_covers
from ivicl.methods.outcomes import Thresholds, average_draws, combine_thresholds
from ivicl.methods.pretrained.batching import Table, predict_tables
from ivicl.methods.pretrained.large import MAX_ROWS, MAX_ROWS_PER_THRESHOLD, sample_sentence, seconds, shrink
from ivicl.methods.pretrained.runtime import Model, Posteriors
from ivicl.methods.pretrained.tables import binary_tables, left_out_columns
from ivicl.posterior import IdentifiedSet, width_parts

LEAST_PEOPLE = 20
"""Smallest number of people in a training table."""
SECONDS_WORTH_SAYING = 10


@dataclass(frozen=True)
class Question:
    """One data set as the network will see it."""

    tables: list[Table]
    thresholds: Thresholds | None
    """For an outcome that is not binary, unless it was randomised."""
    warnings: tuple[str, ...]
    details: dict[str, Any]


def bounds(data: IVData, options: MethodOptions) -> MethodBounds:
    """Its own options: `model`, a path; `max_rows`, how many distinct rows pass before people are sampled; `covers`,
    what the interval holds: the identified "set", or the "effect" (the paper's interval).
    """
    model = model_of(options)
    question = pose(data, options, model)
    rows = sum(table.rows for table in question.tables if table.varies)
    on = options.progress and seconds(rows) >= SECONDS_WORTH_SAYING
    with progress_bar(f"{rows:,} rows, about {seconds(rows):.0f} s", rows, on=on) as advance:
        posteriors = predict_tables(model, question.tables, advance)
    return settle(data, options, question, posteriors)


def model_of(options: MethodOptions) -> Model:
    path = checked_extra(options)["model"]
    return Model.shipped() if path is None else Model.load(path)


def checked_extra(options: MethodOptions) -> dict[str, Any]:
    extra = options.take_extra("ivicl", model=None, max_rows=None, covers=None)
    if extra["covers"] is not None:
        checked_covers(extra["covers"])
    if extra["model"] is not None and not isinstance(extra["model"], str | os.PathLike):
        raise InputError(f"model must be the path of a model file, but is {extra['model']!r}.")
    rows = extra["max_rows"]
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1):
        raise InputError(f"max_rows must be a whole number of at least 1, but is {rows!r}.")
    return extra


def pose(data: IVData, options: MethodOptions, model: Model) -> Question:
    """Merge equal rows, sample if there are too many, cut the outcome: the binary tables of one data set."""
    rng = np.random.default_rng(options.random_state)
    limit = checked_extra(options)["max_rows"] or (MAX_ROWS if data.binary else MAX_ROWS_PER_THRESHOLD)
    merged = data.merged()
    used = merged
    warnings = []
    tables, thresholds = binary_tables(used, options, rng)
    if tables[0].rows > limit and tables[0].varies:
        used = shrink(merged, limit, rng)
        warnings.append(sample_sentence(merged, used, limit))
        tables, thresholds = binary_tables(used, options, rng)
    left_out = left_out_columns(tables, data.covariates, model.metadata["network"]["max_features"])
    if left_out:
        shown = ", ".join(left_out[:8]) + (f" and {len(left_out) - 8} more" if len(left_out) > 8 else "")
        warnings.append(
            f"the network reads {model.metadata['network']['max_features']} covariates; of {len(data.covariates)}, "
            f"those least associated with instrument, treatment and outcome were left out: {shown}."
        )
    warnings += _range_warnings(used.n, model.metadata["network"]["max_count"])
    if not data.binary and options.combine == "independent":
        warnings.append(
            "combine='independent' adds the thresholds as if their errors cancelled, which they need not: a narrow "
            "interval, which misses the effect more often than its level says and does not cover the identified set."
        )
    details: dict[str, Any] = {
        "model": {"name": model.name, "sha256": model.sha256},
        "n_used": used.n,
        "rows_used": tables[0].rows,
        "left_out_columns": left_out,
    }
    if not data.binary:
        details |= {"combine": options.combine, "n_binary_problems": len(tables)}
    if thresholds is not None:
        details["thresholds"] = thresholds.to_dict()
    return Question(tables, thresholds, tuple(warnings), details)


def _range_warnings(n: int, most: float) -> list[str]:
    if n > most:
        return [
            f"{n:,} people are more than the {most:,.0f} of the training range; they count as {most:,.0f}, which makes "
            "the interval a little wider than it could be."
        ]
    if n < LEAST_PEOPLE:
        return [
            f"{n} people are fewer than the {LEAST_PEOPLE} of the training range; the prior speaks louder than they."
        ]
    return []


def settle(data: IVData, options: MethodOptions, question: Question, posteriors: Posteriors) -> MethodBounds:
    """Bounds in outcome units from the posteriors of the question's tables."""
    span = data.outcome_range[1] - data.outcome_range[0]
    effects = [posteriors.of("effect", k) for k in range(len(posteriors))]
    ends = [IdentifiedSet(posteriors.of("lower", k), posteriors.of("upper", k)) for k in range(len(posteriors))]
    if question.thresholds is not None:
        # Shares of the range rather than lengths: the sum then has the range of an effect, however large its unit.
        effect, identified = combine_thresholds(effects, ends, question.thresholds.lengths / span, options.combine)
    else:
        effect, identified = average_draws(effects, ends)
    effect, identified = effect.scaled(span), identified.scaled(span)
    # Independent errors are an assumption about the effect; the ends always add by quantiles.
    usual = "effect" if options.combine == "independent" and not data.binary else "set"
    covers = checked_extra(options)["covers"] or usual
    lower, upper = (identified if covers == "set" else effect).interval(options.alpha)
    parts = width_parts(identified, options.alpha)
    details = question.details | {
        "width": {
            "set_lower": parts.lower,
            "set_upper": parts.upper,
            "not_identified": parts.not_identified,
            "not_enough_data": parts.not_enough_data,
        }
    }
    return MethodBounds(lower, upper, effect, identified, covers, warnings=question.warnings, details=details)
