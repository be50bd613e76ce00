"""Does the alarm ring when it should? Quiet on the prior, loud on deceptive laws whose set the interval misses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ivicl.benchmarks.efficiency.adversarial import ADVERSARIAL, WITNESSES
from ivicl.benchmarks.efficiency.families import Family
from ivicl.benchmarks.efficiency.judge import FULL, cases
from ivicl.benchmarks.model_card.heads import answers
from ivicl.methods.pretrained.schema_2 import Posteriors
from ivicl.methods.row_laws import RowLaws
from ivicl.results.diagnostics.hidden_patterns import LEVEL, fires, hidden_pattern

SEED = 555_300
SHAPES = ((256, 4), (1024, 8), (2048, 12))
"""(rows, covariates) of the prior's tables, used in turn."""
BATCH = 16
TABLES = 600
FAMILY_TABLES = {1_000: 20, 4_000: 10}
"""People -> data sets of each adversarial family and version."""
POOR = 0.9
"""A family counts as missed if its 99 % intervals hold the set less often than this."""


def alarm(model: Any, tables: int = TABLES, sizes: dict[int, int] | None = None) -> dict[str, Any]:
    """How often the alarm fires on the prior, and on families whose sets the 99 % interval misses.

    The adversarial families were known when the alarm was made; `witnesses` were not.
    """
    sizes = FAMILY_TABLES if sizes is None else sizes
    known, witnesses = (_missed(on_families(model, chosen, sizes)) for chosen in (ADVERSARIAL, WITNESSES))
    return on_prior(model, tables) | known | {"witnesses": witnesses, "fires_witnesses": witnesses["fires_missed"]}


def _missed(families: list[dict[str, Any]]) -> dict[str, Any]:
    missed = [each for each in families if each["held_99"] < POOR]
    return {
        "families": families,
        "missed": len(missed),
        "fires_missed": float(np.mean([each["fires"] for each in missed])) if missed else 1.0,
        "fires_missed_worst": min((each["fires"] for each in missed), default=1.0),
    }


def on_prior(model: Any, tables: int) -> dict[str, float]:
    """How often the alarm fires on tables of every form that the prior has."""
    from ivicl.learn.prior import PriorConfig, draw_form, generator_for, sample_rows

    prior, rung, small, done, k = PriorConfig.default(), 0, 0, 0, 0
    while done < tables:
        g = generator_for(SEED, k)
        n, d = SHAPES[k % len(SHAPES)]
        batch = sample_rows(prior, g, min(BATCH, tables - done), n, d, draw_form(prior, g))
        found = answers(model, batch)
        for i in range(len(batch.effect)):
            rows = [getattr(batch, name)[i].numpy().astype(np.float64) for name in "xztyvw"]
            heard = hidden_pattern(_row_laws(rows, found, i))
            rung += heard is not None and fires(heard)
            small += heard is not None and heard.p_value < LEVEL
        done, k = done + len(batch.effect), k + 1
    return {"tables": done, "fires_prior": rung / done, "p_below_level_prior": small / done}


def on_families(model: Any, families: tuple[Family, ...], sizes: dict[int, int]) -> list[dict[str, Any]]:
    """By family, version and size: how often the 99 % interval held the set, and how often the alarm fired."""
    grouped: dict[tuple[str, str, int], list[tuple[bool, bool]]] = {}
    for case in cases(families, sizes):
        made = case.dataset(FULL.seed)
        data = made.data
        rows = [data.x, data.z, data.t, data.y01, 0 * data.w, data.w]
        x, z, t, y, v, w = (part[None] for part in rows)
        found: Posteriors = model.predict(x, z, t, y, w, v)
        lower, upper = made.law.truth["ATE"]
        held = found.of("lower").quantile(0.005) <= lower and found.of("upper").quantile(0.995) >= upper
        heard = hidden_pattern(_row_laws(rows, found, 0))
        key = (case.family.name, case.version, case.n)
        grouped.setdefault(key, []).append((bool(held), heard is not None and fires(heard)))
    return [
        {
            "family": family,
            "version": version,
            "n": n,
            "datasets": len(pairs),
            "held_99": float(np.mean([held for held, _ in pairs])),
            "fires": float(np.mean([rung for _, rung in pairs])),
        }
        for (family, version, n), pairs in grouped.items()
    ]


def _row_laws(rows: list[np.ndarray], found: Posteriors, table: int) -> RowLaws | None:
    known = found.rows[table]
    if known is None:
        return None
    x, z, t, y, v, w = rows
    return RowLaws(x, z, t, y, v, w, known.law.astype(np.float64), known.propensity.astype(np.float64))
