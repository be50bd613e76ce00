"""The paper's claim, all else equal: exclusive KL against inclusive KL, with the exact posterior as the judge.

The tables have no covariates, and all methods use the same Dirichlet(0.1) prior on the 16 strata. There are four
answers: the exact posterior, two variational fits (exclusive KL), and the network (inclusive KL) if a model is
installed. There are two kinds of tables: three known ones for the figure, and random ones from the prior for averages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ivicl.benchmarks.base import Shown, Study
from ivicl.benchmarks.figures import STYLE, legend, pyplot, save
from ivicl.benchmarks.method_spec import colour_of, name_of
from ivicl.errors import IVICLError, design_warnings_off
from ivicl.estimator import IVBounds
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.laws import law_of as law_of_counts
from ivicl.identification.strata import GAMMA, N_STRATA, effect_of, law_of
from ivicl.methods.classical.exact_sampler import exact_posteriors
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
    exact: BinnedPosterior
    fits: dict[str, BinnedPosterior]
    """The other answers, by the names of FITS."""
    bounds: tuple[float, float]
    """The identified set: of the true law for random tables, of the observed frequencies for known ones."""
    effect: float | None = None
    """The true effect, for random tables."""
    problems: dict[str, str] = field(default_factory=dict)
    """Methods that gave no answer -> why."""


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
        fits: dict[str, BinnedPosterior] = {}
        problems: dict[str, str] = {}
        for fit in FITS:
            try:
                fits[fit.name] = fit.posterior(counts[i], seed + i, model)
            except (IVICLError, ImportError) as error:
                problems[fit.name] = str(error)
        out.append(Comparison(name, counts[i], exact.posterior(i), fits, ends[i], effects[i], problems))
    return out


def _network(counts: np.ndarray, seed: int, model: str) -> BinnedPosterior:
    options: dict[str, Any] = {"model": model} if model else {}
    with design_warnings_off():
        found = IVBounds(method="ivicl", **options).fit_counts(counts).posterior
    if found is None:
        raise IVICLError("the network gave no posterior")
    return found


# The variational fits are imported late: they need scipy, and without it the other answers are still worth having.
def _mean_field(counts: np.ndarray, seed: int, model: str) -> BinnedPosterior:
    from ivicl.benchmarks import variational

    return variational.mean_field(counts, np.random.default_rng([seed, 3])).posterior


def _logistic_normal(counts: np.ndarray, seed: int, model: str) -> BinnedPosterior:
    from ivicl.benchmarks import variational

    return variational.logistic_normal(counts, np.random.default_rng([seed, 4])).posterior


@dataclass(frozen=True)
class Fit:
    """An answer that is compared with the exact posterior."""

    name: str
    posterior: Callable[[np.ndarray, int, str], BinnedPosterior]
    """`function(counts, seed, model)`."""
    label: str = ""
    """Label in the figure. If it or `colour` is empty, the registered method's of this name is used."""
    colour: str = ""


EXACT = "exact"
FITS = (
    Fit("mean-field", _mean_field, "variational, mean-field", "#648fff"),
    Fit("logistic-normal", _logistic_normal, "variational, full covariance", "#785ef0"),
    Fit("ivicl", _network),
)
ORDER = (EXACT, "ivicl", "logistic-normal", "mean-field")
"""The order of rows in the short table."""


def divergence(exact: BinnedPosterior, other: BinnedPosterior, bins: int = 128) -> float:
    """KL(exact || other) on 128 bins, with one part in 10,000 of `other` spread evenly to keep it finite."""
    edges = np.linspace(-1, 1, bins + 1)
    p, q = np.diff(exact.cdf(edges)), np.diff(other.cdf(edges))
    q = (1 - 1e-4) * q / q.sum() + 1e-4 / bins
    held = p > 0
    return float((p[held] * np.log(p[held] / q[held])).sum())


def scores(comparisons: list[Comparison]) -> pl.DataFrame:
    """One row per table and method: ends, width, what the interval covers, KL from the exact posterior."""
    rows = []
    for c in comparisons:
        for method, posterior in {EXACT: c.exact, **c.fits}.items():
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
                    "kl_from_exact": divergence(c.exact, posterior),
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def _overlap(interval: tuple[float, float], bounds: tuple[float, float]) -> float:
    """The share of the identified set that the interval covers."""
    width = bounds[1] - bounds[0]
    inside = min(interval[1], bounds[1]) - max(interval[0], bounds[0])
    return float(np.clip(inside / width, 0, 1)) if width > 1e-9 else float(inside >= -1e-9)


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """Means over the tables, one row per method."""
    means = [pl.col(c).mean() for c in ("width", "covers_effect", "share_of_set", "kl_from_exact")]
    grouped = table.group_by("method").agg(*means, tables=pl.len())
    return grouped.sort(pl.col("method").cast(pl.Enum(ORDER)))


def mass_covering_figure(comparisons: list[Comparison], path: Path) -> Path:
    """One panel per table: the exact posterior of the effect, the variational fits, the network, the identified set."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(comparisons), figsize=(3.4 * len(comparisons), 3.6), layout="constrained")
        for axis, case in zip(np.atleast_1d(axes), comparisons, strict=True):
            low, high = case.bounds
            pad = 0.35 * (high - low) + 0.02
            edges = np.linspace(max(-1, low - pad), min(1, high + pad), 81)
            centre = (edges[1:] + edges[:-1]) / 2
            axis.axvspan(low, high, color="#f1f3f5", zorder=0, label="identified set")
            exact, shade = np.diff(case.exact.cdf(edges)) / np.diff(edges), colour_of(EXACT)
            axis.step(centre, exact, where="mid", color=shade, linewidth=1.6, label="exact posterior")
            axis.fill_between(centre, exact, step="mid", color=shade, alpha=0.15, linewidth=0)
            for fit in FITS:
                if fit.name in case.fits:
                    density = np.diff(case.fits[fit.name].cdf(edges)) / np.diff(edges)
                    label, shade = fit.label or name_of(fit.name), fit.colour or colour_of(fit.name)
                    axis.step(centre, density, where="mid", color=shade, linewidth=1.2, label=label)
            axis.set(title=f"{case.name}, n = {int(case.counts.sum()):,}", xlabel="average effect", yticks=[])
            # The scale follows the exact posterior; spikes of the fits may be cut off.
            axis.set_ylim(0, 2.2 * float(exact.max()))
        np.atleast_1d(axes)[0].set_ylabel("posterior density")
        legend(figure, np.atleast_1d(axes)[0], 5)
        return save(figure, path)


def compute(tables: int, model: str) -> Shown:
    """The known tables, and `tables` random ones."""
    known, random = known_comparisons(model), random_comparisons(tables, model=model)
    columns = ("width", "covers_effect", "share_of_set", "kl_from_exact")
    lines = [
        (row["method"], *(f"{row[column]:.3f}" for column in columns), str(row["tables"]))
        for row in summary(scores(random)).iter_rows(named=True)
    ]
    return Shown(
        pl.concat([scores(known), scores(random)], how="vertical_relaxed"),
        lambda path: mass_covering_figure(known, path),
        head=("Method", "Mean 99 % width", "Covers effect", "Share of identified set", "KL from exact", "Tables"),
        lines=tuple(lines),
        left_out=known[0].problems,
    )


STUDY = Study(
    name="mass-covering",
    title="Exclusive against inclusive KL, all else equal",
    text="Tables without covariates and one prior for all, Dirichlet(0.1) on the 16 strata. The exact posterior "
    "spreads over the identified set; the variational fits, which minimise the exclusive KL, settle on a part of it.",
    caption="Posterior of the effect; the shaded range is the identified set.",
    seeds=50,
    quick_seeds=5,
    compute=compute,
    in_paper=True,
    order=40,
)
