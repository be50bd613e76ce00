"""Efficiency on one more law of our own: sixteen regions, each with a law of its own, and some people defy.

    python terraces.py src/ivicl/weights/ivicl.onnx

The hardest kind for this network: terms of the formula change from region to region, and the regions are found.
"""

import sys
from pathlib import Path

import numpy as np

from ivicl.benchmarks.efficiency.families import Drawn, Family, expit
from ivicl.benchmarks.efficiency.judge import Plan, judge
from ivicl.benchmarks.efficiency.outcomes import points
from ivicl.benchmarks.efficiency.predictors import of_model
from ivicl.benchmarks.efficiency.summary import as_text
from ivicl.methods.pretrained.runtime import Model

PLAN = Plan({1_000: 20, 4_000: 20, 16_000: 10, 64_000: 10}, {}, 13)


def terraces(rng: np.random.Generator, n: int) -> Drawn:
    x = rng.normal(size=(n, 7))
    x[:, 4:] = np.floor(5 * rng.random((n, 3)))
    region = np.zeros(n, np.int64)
    for k, column in enumerate(rng.choice(7, 4, replace=False)):
        region += 2**k * (x[:, column] > np.quantile(x[:, column], rng.uniform(0.25, 0.75)))
    types = rng.dirichlet([0.6, 0.6, 0.8, 0.2], 16)
    means = expit(rng.normal(0, 2, (16, 1, 1)) + rng.normal(0, 0.8, (16, 4, 2)))
    return x, np.full(n, 0.5), types[region], means[region]


if __name__ == "__main__":
    laws = (Family("terraces", "", terraces, points(5)),)
    print(as_text(judge(of_model(Model.load(Path(sys.argv[1]))), PLAN, laws, (), workers=2)))
