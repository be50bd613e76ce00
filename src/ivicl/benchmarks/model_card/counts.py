"""Tables without covariates: distance to the exact posterior, ATT against LATE, and tables of millions of people."""

from __future__ import annotations

from typing import Any

import numpy as np

from ivicl.benchmarks.efficiency.best import efficient_se
from ivicl.benchmarks.efficiency.laws import Seen, true_ends
from ivicl.benchmarks.efficiency.verdicts import MARGIN
from ivicl.benchmarks.model_card import level_reference as reference
from ivicl.benchmarks.model_card.count_tables import KINDS, Kind, as_rows, draw_laws
from ivicl.benchmarks.model_card.lines import ALPHA, distances
from ivicl.methods.pretrained.schema_2 import QUANTITIES, Posteriors

SEED = 555_200
SIZES = (10**6, 10**7, 10**8)


def against_levels(model: Any) -> dict[str, Any]:
    """Distances to the exact posterior by kind of table, and the largest of each over the kinds.

    `exact` knows the counts and positions of all levels; the network knows only mean and variance. So for amounts the
    two need not agree on a small table, and no target is set.
    """
    found = {kind.name: _against(model, kind) for kind in KINDS}
    figures = ("quantile_error", "table_error_worst", "kl", "ends_error", "ATT_error")
    worst = {name: max(part[name] for part in found.values()) for name in figures}
    told = [part["LATE_error"] for part in found.values() if part["LATE_error"] is not None]
    return {
        "kinds": found,
        **worst,
        "LATE_error": max(told),
        "quantile_error_no_defiers": found["no_defiers"]["quantile_error"],
    }


def levels_text(found: dict[str, Any]) -> str:
    """The distances by kind of table, to read."""
    figures = dict(quantile_error="effect", ends_error="its ends", ATT_error="ATT", LATE_error="LATE", kl="KL")
    lines = [f"{'against the exact posterior':28}{'tables':>8}{''.join(f'{name:>10}' for name in figures.values())}"]
    for kind, part in found["kinds"].items():
        shown = ("-" if part[name] is None else f"{part[name]:.4f}" for name in figures)
        lines.append(f"{kind.replace('_', ' '):28}{part['tables']:>8}{''.join(f'{value:>10}' for value in shown)}")
    lines.append(
        "Mean errors: of the 0.5 and 99.5 % quantiles of effect and ends, of the means of ATT and LATE; KL in nats."
    )
    return "\n".join(lines)


def _against(model: Any, kind: Kind) -> dict[str, Any]:
    truth = reference.load(kind)
    found: Posteriors = model.predict(*as_rows(truth.counts, kind))
    effect = distances(found.effect, truth.effect, truth.quantile_se)
    outer = [0, len(reference.LEVELS) - 1]
    by_name = {}
    for k, name in enumerate(QUANTITIES):
        if np.isfinite(truth.means[:, k]).all():
            quantiles = np.array([found.of(name, i).quantile(reference.LEVELS[outer]) for i in range(len(found))])
            means = np.array([found.of(name, i).mean for i in range(len(found))])
            by_name[name] = {
                "quantile_error": float(np.abs(quantiles - truth.quantiles[:, k, outer]).mean()),
                "mean_error": float(np.abs(means - truth.means[:, k]).mean()),
            }
    return effect | {
        "ends_error": max(by_name[name]["quantile_error"] for name in ("ATE lower", "ATE upper")),
        "ATT_error": max(by_name[name]["mean_error"] for name in ("ATT lower", "ATT upper")),
        "LATE_error": by_name["LATE"]["mean_error"] if "LATE" in by_name else None,
        "quantities": by_name,
    }


def one_sided_trials(model: Any, tables: int = 100) -> dict[str, float]:
    """Randomised trials in which nobody is treated without the offer, so that ATT and LATE are equal.

    How far apart are the posterior means of the two heads? For the ATT, the middle of its two ends' means is taken.
    """
    kind, rng = KINDS[0], np.random.default_rng(SEED)
    counts: list[np.ndarray] = []
    while len(counts) < tables:
        n = int(np.exp(rng.uniform(np.log(300), np.log(1e6))))
        takes, outcomes = rng.uniform(0.2, 0.9), rng.beta(1, 1, 3)  # never-takers' Y(0), compliers' Y(0) and Y(1)
        control = takes * outcomes[1] + (1 - takes) * outcomes[0]
        law_1 = [
            (1 - takes) * (1 - outcomes[0]),
            (1 - takes) * outcomes[0],
            takes * (1 - outcomes[2]),
            takes * outcomes[2],
        ]
        arms = [rng.multinomial(n // 2, p) for p in ([1 - control, control, 0, 0], law_1)]
        counts.append(np.array(arms).reshape(2, 2, 2))
    found: Posteriors = model.predict(*as_rows(np.array(counts), kind))
    late = np.array([found.of("LATE", i).mean for i in range(tables)])
    ends = np.array([[found.of(f"ATT {end}", i).mean for end in ("lower", "upper")] for i in range(tables)])
    apart = np.abs(ends.mean(axis=1) - late)
    return {
        "tables": tables,
        "difference": float(apart.mean()),
        "difference_worst": float(apart.max()),
        "att_width": float((ends[:, 1] - ends[:, 0]).mean()),
    }


def huge_tables(model: Any, tables: int = 200) -> dict[str, Any]:
    """Efficiency of the 99 % interval for millions of people, yes/no and amounts, on laws between the corners."""
    by_size: dict[str, Any] = {}
    for n in SIZES:
        parts = {kind.name: _efficiency(model, kind, n, tables) for kind in (Kind("binary", 2, False), KINDS[1])}
        by_size[f"{n:.0e}".replace("+0", "")] = parts
    worst = max(part["efficiency"] for parts in by_size.values() for part in parts.values())
    return {"tables": tables, "efficiency_worst": worst, "sizes": by_size}


def _efficiency(model: Any, kind: Kind, n: int, tables: int) -> dict[str, float]:
    rng = np.random.default_rng([SEED, n, kind.levels])
    # Mix in some of every cell: at a corner of the set of laws the standard error of an end can be anything.
    laws = 0.5 * draw_laws(kind, rng, tables) + 0.5 * np.full((tables, 2, 2, kind.levels), 0.5 / kind.levels)
    counts = np.array([[rng.multinomial(n // 2, law[z].ravel()) for z in (0, 1)] for law in laws])
    counts = counts.reshape(tables, 2, 2, kind.levels)
    found: Posteriors = model.predict(*as_rows(counts, kind))
    margins, best, held = [], [], []
    for i, law in enumerate(laws):
        moments = [(law @ power)[None] for power in (np.ones(kind.levels), kind.values, kind.values**2)]
        seen = Seen(np.array([0.5]), *moments)
        lower, upper = true_ends(seen)["ATE"]
        start = float(found.of("lower", i).quantile(ALPHA / 2))
        stop = float(found.of("upper", i).quantile(1 - ALPHA / 2))
        margins.append((lower - start + stop - upper) / 2)
        best.append(MARGIN * np.mean(efficient_se(seen, n)["ATE"]))
        held.append(start <= lower and upper <= stop)
    return {"efficiency": float(np.mean(margins) / np.mean(best)), "held": float(np.mean(held))}
