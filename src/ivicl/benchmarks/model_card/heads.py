"""Calibration of every head on the prior: is the place of the truth within its posterior uniform?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ivicl.benchmarks.model_card.places import effect_places, histogram_of, holm, quantity_places, uniform_p
from ivicl.methods.pretrained.schema_2 import POINT, QUANTITIES, Posteriors

SEED = 555_100
SHAPES = [(n, d) for n in (64, 256, 1024) for d in (2, 8, 24)]
"""(rows, covariates) of the tables, used in turn; every fourth batch has no covariates instead."""
BATCH = 32
ROWS_AT_ONCE = 8192
TABLES = 4000


def calibration_of_heads(model: Any, tables: int = TABLES) -> dict[str, Any]:
    """p-value of uniform places for each head, and the smallest after Holm's adjustment over the heads.

    The LATE is judged only on tables for which the network was told that nobody defies.
    """
    places: dict[str, list[np.ndarray]] = {"effect": [], **{name: [] for name in QUANTITIES}}
    rng = np.random.default_rng(SEED)
    for batch, found in prior_answers(model, tables):
        places["effect"].append(effect_places(found, batch.effect.numpy(), rng))
        truth = np.column_stack([batch.ends.numpy(), batch.late.numpy()])
        for k, name in enumerate(QUANTITIES):
            if name != POINT or batch.form.no_defiers:
                places[name].append(quantity_places(found, k, truth[:, k], rng))
    joined = {name: np.concatenate(parts) for name, parts in places.items() if parts}
    p_values = {name: uniform_p(each) for name, each in joined.items()}
    adjusted = holm(p_values)
    return {
        "tables": len(joined["effect"]),
        "p_holm": min(adjusted.values()),
        "p_values": p_values,
        "coverage_90": {name: float(((each >= 0.05) & (each <= 0.95)).mean()) for name, each in joined.items()},
        "coverage_99": {name: float(((each >= 0.005) & (each <= 0.995)).mean()) for name, each in joined.items()},
        "histograms": {name: histogram_of(each).tolist() for name, each in joined.items()},
    }


def prior_answers(model: Any, tables: int) -> Iterator[tuple[Any, Posteriors]]:
    """Batches from the prior, of every form it has, with the network's answers; a repeated table counts once."""
    from ivicl.learn.prior import PriorConfig, draw_form, generator_for, sample_rows

    prior, done, k = PriorConfig.default(), 0, 0
    while done < tables:
        g = generator_for(SEED, k)
        form = draw_form(prior, g)
        n, d = SHAPES[k % len(SHAPES)]
        drawn = sample_rows(prior, g, min(BATCH, tables - done), n, 0 if k % 4 == 3 else d, form)
        batch = distinct(drawn)
        yield batch, answers(model, batch)
        done, k = done + len(batch.effect), k + 1


def distinct(batch: Any) -> Any:
    """The tables of a batch without the repeats, which stand in for tables of amounts that turned out to be yes/no."""
    labels = np.column_stack([batch.effect.numpy(), batch.ends.numpy(), batch.late.numpy()])
    _, first = np.unique(labels, axis=0, return_index=True)
    return batch.take(np.sort(first))


def answers(model: Any, batch: Any) -> Posteriors:
    """The network's posteriors for a `TableBatch`."""
    x, z, t, y, w, v = (getattr(batch, name).numpy() for name in ("x", "z", "t", "y", "w", "v"))
    told = np.full(len(x), float(batch.form.no_defiers))
    step = max(1, ROWS_AT_ONCE // x.shape[1])
    parts = [slice(i, i + step) for i in range(0, len(x), step)]
    found = [model.predict(*(a[part] for a in (x, z, t, y, w, v, told))) for part in parts]
    return Posteriors.joined(found)
