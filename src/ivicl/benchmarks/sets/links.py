"""Three families of continuous-outcome data with a latent confounder, for the studies of calibration and sensitivity.

X ~ Unif(-2, 2)^d, Z ~ Bernoulli(1/2), U ~ N(0, 1); T ~ Bernoulli(sigmoid(2 Zt + h_T(X) + U)) clipped to [.05, .95] with
Zt = (Z - 0.5) / 0.5; Y = mu_T(X) + U + 0.5 noise. The families differ in h_T, mu_0 and mu_1. What the paper leaves open
and we chose: the quadratic term of `polynomial` is 0.5 (x_1^2 - 4/3); the weights of `deep` have variance 1 / fan-in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ivicl._shared.special import expit
from ivicl.benchmarks.base import Benchmark
from ivicl.benchmarks.dataset import BenchmarkDataset
from ivicl.benchmarks.settings import Number, SettingForm
from ivicl.data import IVData

FAMILIES = ("linear", "polynomial", "deep")
STRENGTH, CONFOUNDING_T, CONFOUNDING_Y, NOISE_SD, CLIP = 2.0, 1.0, 1.0, 0.5, 0.05
SETTINGS = tuple(f"{family}/n=1024/d=5" for family in FAMILIES)
FORM = SettingForm((FAMILIES, (Number("n", whole=True, least=20),), (Number("d", whole=True, least=1),)))

Surface = Callable[[np.ndarray], np.ndarray]


def surfaces(family: str, d: int, rng: np.random.Generator) -> tuple[Surface, Surface, Surface]:
    """h_T, mu_0 and mu_1 of one data set."""
    if family == "deep":
        h, baseline, treated = (_mlp(d, rng) for _ in range(3))
        return h, baseline, treated
    w_t, w_y = rng.normal(size=(2, d)) / np.sqrt(d)
    sign = rng.choice([-1.0, 1.0])
    if family == "linear":
        beta = sign * rng.uniform(0.5, 2.0)
        return lambda x: x @ w_t, lambda x: x @ w_y, lambda x: x @ w_y + beta
    beta = sign * rng.uniform(0.5, 1.5)
    kappa = rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 0.8)

    def centred_square(x: np.ndarray) -> np.ndarray:
        return x[:, 0] ** 2 - 4 / 3

    return (
        lambda x: x @ w_t + 0.5 * centred_square(x),
        lambda x: np.sin(x @ w_y),
        lambda x: np.sin(x @ w_y) + beta + kappa * centred_square(x),
    )


def _mlp(d: int, rng: np.random.Generator, hidden: int = 16) -> Surface:
    """A two-layer tanh network with Gaussian weights."""
    first, second = rng.normal(size=(d, hidden)) / np.sqrt(d), rng.normal(size=hidden) / np.sqrt(hidden)
    shift = rng.normal(size=hidden)
    return lambda x: np.tanh(x @ first + shift) @ second


def parse(setting: str) -> tuple[str, int, int]:
    """Family, rows and covariates."""
    family, n, d = FORM.parse(setting)
    return str(family), int(n), int(d)


def dataset(setting: str, seed: int) -> BenchmarkDataset:
    family, n, d = parse(setting)
    rng = np.random.default_rng([seed, FAMILIES.index(family), n, d])
    h_t, mu_0, mu_1 = surfaces(family, d, rng)
    x = rng.uniform(-2, 2, (n, d))
    z = rng.integers(0, 2, n).astype(float)
    u = rng.normal(size=n)
    score = h_t(x)
    p_t = _propensity(score, z, u)
    t = (rng.random(n) < p_t).astype(float)
    y = np.where(t == 1, mu_1(x), mu_0(x)) + CONFOUNDING_Y * u + NOISE_SD * rng.normal(size=n)
    first_stage = _propensity(score, np.ones(n), u) - _propensity(score, np.zeros(n), u)
    return BenchmarkDataset(
        data=IVData.from_arrays(z=z, t=t, y=y, x=x),
        effect=float((mu_1(x) - mu_0(x)).mean()),
        sharp_width=float(1 - first_stage.mean()),
        facts={"family": family, "d": d},
    )


def _propensity(score: np.ndarray, z: np.ndarray, u: np.ndarray) -> np.ndarray:
    share: np.ndarray = np.clip(expit(STRENGTH * (z - 0.5) / 0.5 + score + CONFOUNDING_T * u), CLIP, 1 - CLIP)
    return share


BENCHMARK = Benchmark(
    name="links",
    title="three families of continuous outcomes with a latent confounder",
    make=dataset,
    settings=SETTINGS,
    form=FORM,
    order=50,
)
