"""The paper's claim, all else equal: exclusive KL against inclusive KL, with the exact posterior as the judge.

Tables without covariates, one and the same Dirichlet(0.1) prior on the 16 strata. Four answers: the exact posterior,
two variational fits (exclusive KL), and the network (inclusive KL) where a model is installed. Two kinds of tables:
three known ones for the figure, and random ones drawn from the prior for the averages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from ivicl.errors import IVICLError
from ivicl.estimator import IVBounds
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.laws import law_of as law_of_counts
from ivicl.identification.strata import GAMMA, N_STRATA, effect_of, law_of
from ivicl.methods.classical.exact import exact_posteriors
from ivicl.posterior import BinnedPosterior

ALPHA = 0.01
KNOWN_TABLES = {
    "Vitamin A": (74, 11514, 0, 0, 34, 2385, 12, 9663),
    "Cholestyramine": (158, 14, 0, 0, 52, 12, 23, 78),
    "Weak instrument": (300, 100, 40, 60, 250, 90, 70, 90),
}
"""People by z, t, y; the third is made up."""


@dataclass(frozen=True)
class Comparison:
    """All answers for one table."""

    name: str
    counts: np.ndarray
    answers: dict[str, BinnedPosterior]
    bounds: tuple[float, float]
    """The identified set: of the true law for random tables, of the observed frequencies for known ones."""
    effect: float | None = None
    """The true effect, for random tables."""
    problems: dict[str, str] = field(default_factory=dict)
    """Methods that gave no answer, and why."""


def known_comparisons(model: str = "", seed: int = 0) -> list[Comparison]:
    counts = np.array(list(KNOWN_TABLES.values()), float).reshape(-1, 2, 2, 2)
    lower, upper = sharp_ends(law_of_counts(counts))
    ends = list(zip(lower.tolist(), upper.tolist(), strict=True))
    return _compare(list(KNOWN_TABLES), counts, ends, [None] * len(counts), model, seed)


def random_comparisons(tables: int, n: int = 1000, model: str = "", seed: int = 0) -> list[Comparison]:
    """Tables of n people, half in each arm, from strata drawn from the prior."""
    rng = np.random.default_rng([seed, 1])
    theta = rng.dirichlet(np.full(N_STRATA, GAMMA), tables)
    law = law_of(theta)
    counts = np.stack([[rng.multinomial(n // 2, law[i, z].ravel()) for z in (0, 1)] for i in range(tables)])
    lower, upper = sharp_ends(law)
    ends = list(zip(lower.tolist(), upper.tolist(), strict=True))
    names = [f"random {i}" for i in range(tables)]
    return _compare(names, counts.reshape(-1, 2, 2, 2).astype(float), ends, effect_of(theta).tolist(), model, seed)


def _compare(
    names: list[str],
    counts: np.ndarray,
    ends: list[tuple[float, float]],
    effects: list[float | None],
    model: str,
    seed: int,
) -> list[Comparison]:
    exact = exact_posteriors(counts, GAMMA, np.random.default_rng([seed, 2]), n_draws=60_000, tolerance=0.002)
    out = []
    for i, name in enumerate(names):
        answers = {"exact": exact.posterior(i)}
        problems: dict[str, str] = {}
        for method, fit in _fits(model, seed + i).items():
            try:
                answers[method] = fit(counts[i])
            except (IVICLError, ImportError) as error:
                problems[method] = str(error)
        out.append(Comparison(name, counts[i], answers, ends[i], effects[i], problems))
    return out


def _fits(model: str, seed: int) -> dict[str, Callable[[np.ndarray], BinnedPosterior]]:
    options: dict[str, Any] = {"model": model} if model else {}

    def network(counts: np.ndarray) -> BinnedPosterior:
        found = IVBounds(method="ivicl", **options).fit_counts(counts).posterior
        if found is None:
            raise IVICLError("the network gave no posterior")
        return found

    # Imported late: they need scipy, without which the other answers are still worth having.
    def mean_field(counts: np.ndarray) -> BinnedPosterior:
        from ivicl.benchmarks import variational

        return variational.mean_field(counts, np.random.default_rng([seed, 3])).posterior

    def logistic_normal(counts: np.ndarray) -> BinnedPosterior:
        from ivicl.benchmarks import variational

        return variational.logistic_normal(counts, np.random.default_rng([seed, 4])).posterior

    return {
        "mean-field": mean_field,
        "logistic-normal": logistic_normal,
        "ivicl": network,
    }


def divergence(exact: BinnedPosterior, other: BinnedPosterior, bins: int = 128) -> float:
    """KL(exact || other) on 128 bins, with one part in 10,000 of the other spread evenly: else it is often infinite."""
    edges = np.linspace(-1, 1, bins + 1)
    p, q = np.diff(exact.cdf(edges)), np.diff(other.cdf(edges))
    q = (1 - 1e-4) * q / q.sum() + 1e-4 / bins
    held = p > 0
    return float((p[held] * np.log(p[held] / q[held])).sum())


def scores(comparisons: list[Comparison]) -> pl.DataFrame:
    """One row a table and a method: ends, width, what the interval covers, KL from the exact posterior."""
    rows = []
    for c in comparisons:
        for method, posterior in c.answers.items():
            low, high = posterior.interval(ALPHA)
            rows.append(
                {
                    "table": c.name,
                    "method": method,
                    "lower": float(low),
                    "upper": float(high),
                    "width": float(high - low),
                    "true_lower": c.bounds[0],
                    "true_upper": c.bounds[1],
                    "effect": c.effect,
                    "covers_effect": None if c.effect is None else float(low <= c.effect <= high),
                    "share_of_set": _overlap((float(low), float(high)), c.bounds),
                    "kl_from_exact": divergence(c.answers["exact"], posterior),
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def _overlap(interval: tuple[float, float], bounds: tuple[float, float]) -> float:
    """The share of the identified set that the interval covers."""
    width = bounds[1] - bounds[0]
    inside = min(interval[1], bounds[1]) - max(interval[0], bounds[0])
    return float(np.clip(inside / width, 0, 1)) if width > 1e-9 else float(inside >= -1e-9)


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """Means over the tables, one row a method."""
    means = [pl.col(c).mean() for c in ("width", "covers_effect", "share_of_set", "kl_from_exact")]
    order = pl.Enum(["exact", "ivicl", "logistic-normal", "mean-field"])
    grouped = table.group_by("method").agg(*means, tables=pl.len())
    return grouped.sort(pl.col("method").cast(order))
