"""Airplane: ticket demand of the public DeepIV generator, with a binary instrument and a binary treatment.

Time of year s ~ Unif(0, 10), customer type e in 1..7, fuel regime Z ~ Bernoulli(1/2), price noise V ~ N(0, sigma_p^2)
as the paper prints it. The latent price is sensf(s) (Zt + 3) + 25 + V with Zt = -(Z - 0.5) / 0.5, standardised by the
generator's constants and once more in the sample; T ~ Bernoulli(sigmoid(price)) is premium or regular.

The trap: if the outcome used the continuous price, Z would affect it other than through T, and exclusion would fail. So
each treatment has one fixed price, and Y = g(s, e, p_T) + error, with the error sharing V with T. Our choices:

- RHO = 0.5, the correlation of the price noise and the demand error;
- PRICES = (16, 25): on the generator's scale, about a standard deviation below the mean price and two above it;
- V is scaled by sigma_p as the paper prints it, although the public generator draws it with variance 1.

sensf changes sign near s = 10, so the first stage changes direction there: a few rows have defiers.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from ivicl._shared.special import expit
from ivicl.benchmarks.base import Benchmark
from ivicl.benchmarks.dataset import BenchmarkDataset
from ivicl.benchmarks.paper_tables import PaperTable, paper_cells
from ivicl.data import IVData

PRICE_MEAN, PRICE_SD = 17.779, 3.7
OUTCOME_MEAN, OUTCOME_SD = -292.1, 158.0
RHO = 0.5
PRICES = (16.0, 25.0)


def sensf(s: np.ndarray) -> np.ndarray:
    """Seasonal sensitivity of the price, as in the DeepIV generator."""
    level: np.ndarray = 2.0 * ((s - 5) ** 4 / 600 + np.exp(-4 * (s - 5) ** 2) + s / 10 - 2)
    return level


def demand(s: np.ndarray, emotion: np.ndarray, price: np.ndarray | float) -> np.ndarray:
    """Standardised mean demand at a price, as in the DeepIV generator."""
    mean: np.ndarray = (100 + (10 + price) * emotion * sensf(s) - 2 * price - OUTCOME_MEAN) / OUTCOME_SD
    return mean


def dataset(setting: str = "default", seed: int = 0, n: int = 2048, rho: float = RHO) -> BenchmarkDataset:
    """There is one setting, `default`: 2,048 rows."""
    rng = np.random.default_rng(seed)
    s = rng.uniform(0, 10, n)
    emotion = rng.integers(1, 8, n)
    z = rng.integers(0, 2, n).astype(float)
    v = rng.normal(0, PRICE_SD, n)
    price = (sensf(s) * (-(z - 0.5) / 0.5 + 3) + 25 + v - PRICE_MEAN) / PRICE_SD
    p_t = expit((price - price.mean()) / price.std())
    t = (rng.random(n) < p_t).astype(float)
    error = rho * v / PRICE_SD + np.sqrt(1 - rho**2) * rng.normal(size=n)
    y0, y1 = (demand(s, emotion, p) for p in PRICES)
    y = np.where(t == 1, y1, y0) + error
    x = np.column_stack([s, *(emotion == k for k in range(1, 8))]).astype(float)
    names = ("time", *(f"type{k}" for k in range(1, 8)))
    return BenchmarkDataset(
        data=IVData.from_arrays(z=z, t=t, y=y, x=x, covariates=names),
        effect=float((y1 - y0).mean()),
        sharp_width=_sharp_width(s, price.mean(), price.std()),
        facts={"rho_error": rho, "prices": list(PRICES)},
    )


def _sharp_width(s: np.ndarray, price_mean: float, price_sd: float, points: int = 64) -> float:
    """1 - mean over s of |P(T=1 | z=1, s) - P(T=1 | z=0, s)|, with V integrated out.

    Exact if the instrument pushes everybody with the same s the same way, which it does: Z moves the price by a
    function of s alone.
    """
    v = PRICE_SD * np.array([NormalDist().inv_cdf((k + 0.5) / points) for k in range(points)])
    share = []
    for z in (0.0, 1.0):
        level = (sensf(s) * (-(z - 0.5) / 0.5 + 3) + 25 - PRICE_MEAN)[:, None]
        share.append(expit(((level + v) / PRICE_SD - price_mean) / price_sd).mean(axis=1))
    return float(1 - np.abs(share[1] - share[0]).mean())


PAPER = (
    PaperTable(
        "tab:airplane",
        "Airplane demand",
        ("default",),
        None,
        paper_cells(
            "1.00 0.00  0.257 0.097  0.44 0.04",
            "1.00 0.00  0.625 0.032  31.7 3.6",
            "1.00 0.00  0.844 0.033  58.8 6.0",
            "1.00 0.00  0.652 0.031  61.4 6.4",
            "1.00 0.00  0.619 0.021  193.9 8.5",
            "0.90 0.10  0.127 0.002  251.7 4.3",
        ),
    ),
)
BENCHMARK = Benchmark(
    name="airplane",
    title="ticket demand of the DeepIV generator",
    make=dataset,
    settings=("default",),
    paper=PAPER,
    order=40,
)
