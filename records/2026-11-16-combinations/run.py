"""Which combination of thresholds for an outcome that is not binary? Laws whose identified set is known.

Each law: four types of people by compliance, with Dirichlet shares; each type has its own Beta laws of Y(0) and Y(1)
on K levels. The identified set is the sharp one at the true law. Tables of n people are drawn from the law and
fitted without covariates; an interval is valid when it holds the whole identified set.

Run: python records/2026-11-16-combinations/run.py [--laws 100]     # prints the table; about five minutes
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import stats

from ivicl import IVBounds
from ivicl.data import IVData
from ivicl.identification.amounts import mean_ends
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.estimands import average_effect
from ivicl.identification.laws import soft_law

COMPLIANCE = ((0, 0), (0, 1), (1, 0), (1, 1))
MEANS = "means, judged by the set given the means"
WAYS = {
    MEANS: {},
    "means, judged by the sharp set": {},
    "comonotone": {"combine": "comonotone"},
    "randomised": {"combine": "randomised"},
    "comonotone, effect": {"combine": "comonotone", "covers": "effect"},
    "randomised, effect": {"combine": "randomised", "covers": "effect"},
    "independent, effect": {"combine": "independent"},
}


class Law(NamedTuple):
    """p (2,2,K) given z; the sharp identified set, the one that the means allow, and the effect, as shares of the range."""

    p: np.ndarray
    sharp: tuple[float, float]
    given_means: tuple[float, float]
    effect: float


def draw_law(levels: int, rng: np.random.Generator) -> Law:
    shares = rng.dirichlet([0.2, 1.5, 0.2, 0.7])
    edges = np.linspace(0, 1, levels + 1)
    values = np.linspace(0, 1, levels)
    p, effect = np.zeros((2, 2, levels)), 0.0
    for share, taken in zip(shares, COMPLIANCE, strict=True):
        means, size = rng.uniform(0.1, 0.9, 2), rng.uniform(2, 20)
        y = [np.diff(stats.beta.cdf(edges, m * size, (1 - m) * size)) for m in means]
        for z, t in enumerate(taken):
            p[z, t] += share * y[t]
        effect += share * float(values @ (y[1] - y[0]))
    sharp = average_effect(mean_ends(p, values))
    given_means = sharp_ends(soft_law((p * values).sum(-1), p.sum(-1)))
    return Law(p, *((float(lower), float(upper)) for lower, upper in (sharp, given_means)), effect)


def draw_data(law: Law, n: int, rng: np.random.Generator) -> IVData:
    levels = law.p.shape[-1]
    counts = np.stack([rng.multinomial(n // 2, law.p[z].ravel()) for z in (0, 1)]).reshape(2, 2, levels)
    z, t, k = np.nonzero(counts)
    return IVData.from_arrays(z, t, k / (levels - 1), w=counts[z, t, k], outcome_range=(0, 1))


def runs(laws: int, levels: int, n: int) -> Iterator[dict[str, float | str]]:
    rng = np.random.default_rng([levels, n])
    for _ in range(laws):
        law = draw_law(levels, rng)
        data = draw_data(law, n, rng)
        for way, options in WAYS.items():
            found = IVBounds(alpha=0.01, **options).fit_data(data)
            lower, upper = law.given_means if way == MEANS else law.sharp
            yield {
                "way": way,
                "set": found.lower <= lower and upper <= found.upper,
                "effect": found.lower <= law.effect <= found.upper,
                "width": found.width,
                "true": upper - lower,
            }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--laws", type=int, default=100)
    laws = parser.parse_args().laws
    print("| levels | people | combination | holds the set | holds the effect | mean width | true width |")
    print("|---|---|---|---|---|---|---|")
    for levels, n in product((5, 17), (400, 4_000, 40_000)):
        rows = list(runs(laws, levels, n))
        for way in WAYS:
            mine = [r for r in rows if r["way"] == way]
            means = {key: np.mean([float(r[key]) for r in mine]) for key in ("set", "effect", "width", "true")}
            cells = f"{means['set']:.2f} | {means['effect']:.2f} | {means['width']:.3f} | {means['true']:.3f}"
            print(f"| {levels} | {n:,} | {way} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
