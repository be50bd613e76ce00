"""Ten laws of our own, which are neither the prior's nor the judge's: for finding out, not for judging.

The first five are those of records/2026-11-18-kept-tables. `thicket` and `factors` are of the kind that was hardest.

    python own_laws.py src/ivicl/weights/ivicl.onnx
"""

import runpy
import sys
from pathlib import Path

import numpy as np

from ivicl.benchmarks.efficiency.families import Drawn, Family, expit, outcome_means, type_shares
from ivicl.benchmarks.efficiency.judge import Plan, judge
from ivicl.benchmarks.efficiency.outcomes import beta, points, zero_and_rest
from ivicl.benchmarks.efficiency.predictors import of_model
from ivicl.benchmarks.efficiency.summary import as_text
from ivicl.methods.pretrained.runtime import Model

PLAN = Plan({300: 24, 1_000: 24, 4_000: 12, 16_000: 6, 64_000: 3}, {}, 12)


def faint(rng: np.random.Generator, n: int) -> Drawn:
    """Few comply."""
    x = rng.normal(size=(n, 5))
    comply = 0.04 + 0.08 * expit(x[:, 0] - x[:, 1])
    always = (1 - comply) * expit(-0.5 + x[:, 1] + 0.7 * x[:, 2])
    types = np.stack([always, 1 - comply - always, comply, np.zeros(n)], 1)
    return x, np.full(n, 0.5), types, outcome_means(0.2 + x[:, 2] - 0.8 * x[:, 3], 0.3 + 0.4 * x[:, 1], 0.4)


def stairs(rng: np.random.Generator, n: int) -> Drawn:
    """Regions, and nobody defies."""
    x = rng.random((n, 7))
    x[:, 4:] = np.floor(3 * x[:, 4:])
    region = 4 * (x[:, 0] > 0.4) + 2 * (x[:, 1] > 0.55) + (x[:, 4] > 0)
    types = np.concatenate([rng.dirichlet([0.6, 0.6, 1.2], 8), np.zeros((8, 1))], 1)
    means = expit(rng.normal(0, 1.5, (8, 1, 1)) + rng.normal(0, 0.7, (8, 4, 2)))
    return x, np.full(n, 0.4), types[region], means[region]


def offered(rng: np.random.Generator, n: int) -> Drawn:
    """A one-sided trial."""
    x = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 3, n), rng.random(n)])
    types = type_shares(np.full(n, -np.inf), -0.3 + 0.8 * x[:, 0] - 0.5 * (x[:, 2] == 1))
    means = outcome_means(-0.5 + 4 * (x[:, 3] - 0.5) + 0.6 * x[:, 1], 0.6 - 0.3 * x[:, 0], 0.5)
    return x, np.full(n, 0.5), types, means


def thicket(rng: np.random.Generator, n: int) -> Drawn:
    """Six of thirty covariates matter, and much."""
    x = rng.normal(size=(n, 30))
    x[:, 20:] = x[:, 20:] + 0.5 * x[:, :10] > 0.2
    scaled = (x - x.mean(0)) / x.std(0)
    a, b, c, d, e, h = scaled[:, rng.choice(30, 6, replace=False)].T
    types = type_shares(-0.8 + 1.3 * a - 0.8 * h, -0.7 + 1.1 * b - 0.9 * a)
    return x, np.full(n, 0.5), types, outcome_means(0.1 + 1.5 * c - 1.3 * d + e, 0.6 + 0.5 * h, 0.5)


def factors(rng: np.random.Generator, n: int) -> Drawn:
    """Ten covariates of two causes."""
    x = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 10)) * 0.7 + rng.normal(size=(n, 10)) * 0.6

    def direction() -> np.ndarray:
        value = x @ rng.normal(size=10)
        return (value - value.mean()) / value.std()

    p, q, r = (direction() for _ in range(3))
    means = outcome_means(2.5 * q + 0.4 * np.abs(p), 0.7 + 0.5 * np.tanh(r), 0.5)
    return x, np.full(n, 0.5), type_shares(-0.7 + 1.5 * p, -0.5 - 1.3 * p), means


BEFORE = runpy.run_path(str(Path(__file__).parents[1] / "2026-11-18-kept-tables" / "own_laws.py"))["LAWS"]
LAWS = (
    *BEFORE,
    Family("faint", "", faint, beta(2.0)),
    Family("stairs", "", stairs, points(3)),
    Family("offered", "", offered, zero_and_rest(2.0)),
    Family("thicket", "", thicket, beta(60.0)),
    Family("factors", "", factors, beta(10.0)),
)

if __name__ == "__main__":
    print(as_text(judge(of_model(Model.load(Path(sys.argv[1]))), PLAN, LAWS, (), workers=2)))
