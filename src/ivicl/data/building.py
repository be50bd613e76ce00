"""From columns by role to an `IVData`: check weights, drop rows, encode values, and report all of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ivicl.data.cap import capped
from ivicl.data.checks import checked_weights, rows_to_keep
from ivicl.data.columns import Column, show_values, tidy_number
from ivicl.data.design import Design, assignment_differs, checked_sampling, read_design, strata_as_covariate
from ivicl.data.encoding import Coding, encode_binary, encode_covariate
from ivicl.data.ivdata import IVData
from ivicl.data.lost import count_lost, lost_rows
from ivicl.data.moments import Within
from ivicl.data.oddities import LEAST_ROWS, copies, is_clear, oddities, repeats
from ivicl.data.outcome import read_outcome
from ivicl.data.report import DataReport
from ivicl.data.roles import MISSING_POLICIES, check_missing_outcome
from ivicl.data.rules import note, refusal
from ivicl.errors import InputError


def build(
    *,
    z: Column,
    t: Column,
    y: Column,
    x: list[Column],
    w: Column | None,
    outcome_range: tuple[float, float] | None,
    missing: str,
    missing_outcome: str,
    ones: dict[str, Any],
    settled: tuple[str, ...] = (),
    cap: float | str | None = None,
    rows: np.ndarray | None = None,
    sampled_from: int | None = None,
    within: Within | None = None,
    binned: tuple[str, ...] = (),
    bins: int | None = None,
    cluster: Column | None = None,
    strata: Column | None = None,
    sampling: Column | None = None,
) -> IVData:
    """Validate the weights, drop rows, encode: the one path by which tables and arrays become an IVData."""
    if missing not in MISSING_POLICIES:
        raise InputError(f"missing must be one of {', '.join(MISSING_POLICIES)}, but is {missing!r}.")
    if not len(z):
        raise refusal("no_rows")
    notes: list[str] = []
    check_missing_outcome(missing_outcome)
    free = missing_outcome == "bounds"
    rows = np.ones(len(z)) if rows is None else rows
    weights = rows if w is None else checked_weights(w)
    if sampling is not None:
        weights = np.where(checked_sampling(sampling) > 0, weights, 0.0)  # drop people who stand for nobody
    everybody = z, t, weights, lost_rows(z, t, y, x, weights, missing)
    keep = rows_to_keep(z, t, None if free else y, x, weights, missing, notes, rows)
    dropped = int(rows[~keep].sum())
    z, t, y = z.take(keep), t.take(keep), y.take(keep)
    if not keep.all():  # without weights, `rows` and `weights` are the same array: do not copy it needlessly
        rows, weights = rows[keep], weights[keep]
    within = within and within.take(keep)
    seen = ~y.missing
    if not seen.any():
        raise refusal("none_left", role="outcome", column=y.name, count=len(seen), rest=" that were left")
    codings: dict[str, Coding] = {}
    z_coded, codings["instrument"] = encode_binary(z, "instrument", ones.get(z.name))
    t_coded, codings["treatment"] = encode_binary(t, "treatment", ones.get(t.name))
    limit = None
    if cap is not None:
        cut = capped(y, weights, outcome_range, cap)
        y, outcome_range, limit = cut.column, cut.range, cut.cap
        within = within and within.cut_off(cut.above, limit)
        notes.append(note("capped", column=y.name, cap=tidy_number(limit), count=int(weights[cut.above].sum())))
    outcome = read_outcome(y.take(seen), outcome_range, ones.get(y.name))
    codings["outcome"] = outcome.coding
    codings = _marked_guesses(codings, (z, t, y), set(ones) - set(settled))
    notes += [
        note("coded", role=role, column=c.column, one=repr(c.one), zero=repr(c.zero))
        for role, c in codings.items()
        if c.one is not None and (c.zero, c.one) != (0, 1)
    ]
    x = [column.take(keep) for column in x]
    drawn = [None if column is None else column.take(keep) for column in (cluster, strata, sampling)]
    design = read_design(drawn[0], drawn[1], drawn[2], weights, notes)
    x += _strata_that_matter(design, drawn[1], x, z_coded, weights, notes)
    references: dict[str, str] = {}
    encoded = [pair for column in x for pair in encode_covariate(column, weights, notes, rows, references)]
    odd = oddities(y.take(seen) if within is None else within.extremes(y, seen), x, codings, outcome.binary)
    if w is None and within is None and (rows == 1).all():
        odd += copies(x, (z, t, y))
    if rows[seen].sum() >= LEAST_ROWS:
        told = {"treatment": (t.name, t_coded[seen])}
        told |= {"outcome": (y.name, outcome.values)} if within is None else {}
        odd += repeats([(name, values[seen]) for name, values in encoded], told)
    matrix = np.column_stack([values for _, values in encoded]) if encoded else np.empty((len(weights), 0))
    if binned:
        shown = ", ".join(f"'{name}'" for name in binned)
        notes.append(f"{shown}: cut into {bins} groups of about equal size, of which the median stands for every value")
    if sampled_from is not None:
        notes.append(
            f"a random sample of {int(rows.sum()) + dropped:,} of the table's {sampled_from:,} rows was read, because "
            "too many of them differ to be merged"
        )
    z_read, t_read, all_weights, lost = everybody
    people = count_lost(z_read, t_read, codings, all_weights, lost)
    if free and not seen.all():
        notes.append(note("kept_lost", count=int(rows[~seen].sum()), column=y.name))
    report = DataReport(
        n=int(weights.sum()),
        n_rows=int(rows.sum()),
        n_dropped=dropped,
        codings=codings,
        notes=notes,
        sampled_from=sampled_from,
        variables=tuple(column.name for column in x),
        lost=people,
        references=references,
        oddities=odd,
        cap=limit,
    )
    names = tuple(name for name, _ in encoded)
    values = np.full(len(seen), outcome.range[0])
    values[seen] = outcome.values
    v = None if within is None or outcome.binary else (within.sd / (outcome.range[1] - outcome.range[0])) ** 2
    data = IVData(matrix, z_coded, t_coded, values, weights, names, outcome.range, outcome.binary, report, design, v=v)
    if v is not None:
        notes.append(
            f"the outcomes '{y.name}' of people alike in all else were merged into their mean and variance where the "
            "table lies; what needs each outcome (thresholds, sharp bounds for levels, quantiles) is not available"
        )
    if seen.all():
        return data
    if len(np.unique(z_coded[seen])) < 2:
        coding = codings["instrument"]
        gone = coding.zero if z_coded[seen].any() else coding.one
        raise refusal("arm_lost", outcome=y.name, column=z.name, value=show_values([gone]))
    return replace(data.take(seen), lost=replace(data.take(~seen), v=None))


def _marked_guesses(codings: dict[str, Coding], columns: tuple[Column, ...], named: set[str]) -> dict[str, Coding]:
    """A coding is a guess if nobody named the value, the column has no order, and the values do not make it clear."""
    return {
        role: replace(c, guessed=column.name not in named and not column.order and not is_clear(c.zero, c.one))
        for column, (role, c) in zip(columns, codings.items(), strict=True)
    }


def _strata_that_matter(
    design: Design | None, block: Column | None, x: list[Column], z: np.ndarray, weights: np.ndarray, notes: list[str]
) -> list[Column]:
    """The strata as one more covariate, if the share with Z = 1 differs between them and they are not one already."""
    if design is None or design.strata is None or block is None or block.name in [column.name for column in x]:
        return []
    if not assignment_differs(z, design.strata, design.cluster, weights):
        return []
    notes.append(f"strata '{block.name}': the share with Z = 1 differs, so that they are covariates")
    return [strata_as_covariate(block)]
