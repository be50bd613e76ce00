"""Many tables, few forward passes: tables of similar size are padded with rows of weight zero and stacked.

Padding with rows of weight zero and with constant covariates changes nothing (to float precision): the graph is made
for this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ivicl.methods.pretrained.large import MAX_ROWS
from ivicl.methods.pretrained.runtime import Model
from ivicl.methods.pretrained.schema_2 import Posteriors
from ivicl.methods.pretrained.stacks import Table, stacked

ROWS_PER_PASS = 4_096
"""The most rows in one stacked pass; a larger table passes alone. More rows are a tenth slower and take more memory."""
PASSES_WORTH_A_POOL = 12
"""This many passes or more run side by side, each on one core; fewer do not pay for opening the file a second time."""
COUNTS_PER_PASS = 4_096
"""The most tables without covariates in one pass; they have eight rows each."""


def predict_tables(
    model: Model, tables: Sequence[Table], on_rows: Callable[[int], None] = lambda rows: None
) -> Posteriors:
    """The posteriors of all tables, in their order. `on_rows` is told the rows done, for a progress bar."""
    varies = [table.varies for table in tables]
    plain = [i for i in range(len(tables)) if not varies[i]]
    parts: list[Any] = []
    order: list[int] = []
    for start in range(0, len(plain), COUNTS_PER_PASS):
        chosen = plain[start : start + COUNTS_PER_PASS]
        parts.append(model.predict(*stacked([tables[i].without_covariates() for i in chosen])))
        order += chosen
        on_rows(sum(tables[i].rows for i in chosen))
    large = [i for i in range(len(tables)) if varies[i] and in_stages(model, tables[i])]
    for i in large:
        assert model.staged is not None
        parts.append(model.staged.predict(tables[i], on_rows))
        order.append(i)
    rest = sorted({i for i in range(len(tables)) if varies[i]} - set(large))
    batches = _batches(rest, [table.rows for table in tables])
    stacks = (stacked([tables[i] for i in chosen]) for chosen in batches)
    # Large tables pass one by one: side by side their memory would add up, and nothing would be gained.
    many = len(batches) >= PASSES_WORTH_A_POOL and tables[batches[0][0]].rows <= ROWS_PER_PASS
    answers = model.predict_side_by_side(stacks) if many else (model.predict(*stack) for stack in stacks)
    for chosen, answer in zip(batches, answers, strict=True):
        parts.append(answer)
        order += chosen
        on_rows(sum(tables[i].rows for i in chosen))
    together: Posteriors = type(parts[0]).joined(parts)
    return together.take(np.argsort(order))


def in_stages(model: Model, table: Table) -> bool:
    """Whether the table has too many rows for one pass, and the model can take them chunk by chunk."""
    return table.rows > MAX_ROWS and model.staged is not None


def _batches(chosen: list[int], rows: list[int]) -> list[list[int]]:
    """Groups of tables whose sizes lie within a factor of two, each of at most ROWS_PER_PASS padded rows."""
    batches: list[list[int]] = []
    for i in sorted(chosen, key=lambda i: -rows[i]):
        # The first table of a batch is its largest, and sets the padded size.
        largest = rows[batches[-1][0]] if batches else 0
        similar = rows[i] * 2 >= largest or largest <= 64
        if batches and similar and (len(batches[-1]) + 1) * largest <= ROWS_PER_PASS:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches
