"""Efficiency on five laws of our own, which are neither the prior's nor the judge's: for finding out, not for judging.

    python own_laws.py src/ivicl/weights/ivicl.onnx
"""

import sys
from pathlib import Path

import numpy as np

from ivicl.benchmarks.efficiency.families import Drawn, Family, expit, outcome_means, type_shares
from ivicl.benchmarks.efficiency.judge import Plan, judge
from ivicl.benchmarks.efficiency.outcomes import beta, points
from ivicl.benchmarks.efficiency.predictors import of_model
from ivicl.benchmarks.efficiency.summary import as_text
from ivicl.methods.pretrained.runtime import Model

PLAN = Plan({1_000: 20, 4_000: 12, 30_000: 5}, {}, 11)


def linear(rng: np.random.Generator, n: int) -> Drawn:
    x = rng.normal(size=(n, 8))
    f = [x @ (rng.normal(size=8) * (rng.random(8) < 0.6)) / 1.5 for _ in range(4)]
    return x, np.full(n, 0.5), type_shares(-0.5 + f[0], -0.3 + f[1]), outcome_means(1.5 * f[2], 0.6 + 0.4 * f[3], 0.5)


def wide(rng: np.random.Generator, n: int) -> Drawn:
    x = rng.normal(size=(n, 25))
    a, b, c, d = x[:, rng.choice(25, 4, replace=False)].T
    return x, np.full(n, 0.5), type_shares(-0.8 + a, -0.5 - b), outcome_means(1.5 * c - d, 0.5 + 0.4 * a, 0.5)


def curved(rng: np.random.Generator, n: int) -> Drawn:
    x = rng.uniform(-1, 1, size=(n, 5))
    types = type_shares(-1 + 2 * x[:, 0] ** 2, -0.5 + np.sin(3 * x[:, 1]))
    return x, np.full(n, 0.6), types, outcome_means(2 * np.cos(2 * x[:, 2]) - 1, x[:, 3], 0.3)


def boxes(rng: np.random.Generator, n: int) -> Drawn:
    x = rng.normal(size=(n, 6))
    region = 4 * (x[:, 0] > 0.2) + 2 * (x[:, 1] > -0.3) + (x[:, 2] > 0.1)
    types, means = rng.dirichlet([0.5, 0.5, 1, 0.2], 8), expit(rng.normal(0, 2, (8, 4, 2)))
    return x, np.full(n, 0.5), types[region], means[region]


def confounded(rng: np.random.Generator, n: int) -> Drawn:
    x = rng.normal(size=(n, 6))
    chance = np.clip(expit(0.8 * x[:, 0] - 0.4 * x[:, 1]), 0.1, 0.9)
    types = type_shares(-0.8 + x[:, 2], -0.5 - x[:, 0])
    return x, chance, types, outcome_means(x[:, 0] + x[:, 3], 0.5 + 0.5 * x[:, 1], 0.4)


LAWS = (
    Family("linear", "", linear, beta(10.0)),
    Family("wide", "", wide, beta(50.0)),
    Family("curved", "", curved, beta(5.0)),
    Family("boxes", "", boxes, points(5)),
    Family("confounded", "", confounded, beta(20.0)),
)

if __name__ == "__main__":
    print(as_text(judge(of_model(Model.load(Path(sys.argv[1]))), PLAN, LAWS, (), workers=2)))
