"""The paper's synthetic binary benchmark: 16 strata whose probabilities are a softmax of linear functions of X.

What the paper leaves open, and what we chose (written once here, repeated in docs/benchmarks.md):

- the law of the covariates is drawn once per column (not once per table or per entry): N(5, 1) or Unif(-10, 5);
- N(1, 2) has mean 1 and standard deviation 2, the convention of numpy and of most code;
- W follows the law the paper gives for w_Z, drawn once per table: N(1, 2) or Unif(-2, 2);
- E follows the law the paper gives for the instrument's noise, drawn once per table: N(0, 1) or Laplace(0, 1).

With these choices the strata logits of the first hundred tables have a standard deviation of 4.7 to 29.

There are two truths. The paper averages the Balke-Pearl bounds given (X, E) over the rows. No method sees E, so the
bounds that a method can hope to find are those given X alone; they are wider on average, and we compute them by
integrating E out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ivicl.benchmarks.base import Benchmark
from ivicl.benchmarks.dataset import BenchmarkDataset
from ivicl.benchmarks.paper_tables import PaperTable, paper_cells
from ivicl.data import IVData
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.strata import N_STRATA, effect_of, law_of, observe


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: np.ndarray = powers / powers.sum(axis=-1, keepdims=True)
    return shares


@dataclass(frozen=True)
class SyntheticDataset:
    """One table of the benchmark with both of its truths."""

    seed: int
    x: np.ndarray
    """(N, D) covariates."""
    z: np.ndarray
    t: np.ndarray
    y: np.ndarray
    strata: np.ndarray
    """(N, 16) strata probabilities given (X, E)."""
    linear_logits: np.ndarray
    """(N, 16) X W, the logits without the noise E."""
    noise_law: str
    """Law of E: normal or laplace."""
    noise_draws: int
    """Draws of E per row when it is integrated out."""

    @cached_property
    def data(self) -> IVData:
        return IVData.from_arrays(z=self.z, t=self.t, y=self.y, x=self.x)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        lower, upper = sharp_ends(law_of(self.strata))
        return float(lower.mean()), float(upper.mean())

    @property
    def lower(self) -> float:
        """Mean over the rows of the lower bound given (X, E): the paper's truth."""
        return self._ends[0]

    @property
    def upper(self) -> float:
        return self._ends[1]

    @cached_property
    def sate(self) -> float:
        """Mean over the rows of E[Y(1) - Y(0) | X, E]."""
        return float(effect_of(self.strata).mean())

    @cached_property
    def strata_given_x(self) -> np.ndarray:
        """(N, 16) strata probabilities given X alone, with E integrated out by antithetic draws for each row.

        Computed on first use, in about 0.5 s: with 256 draws per row the mean over 2,048 rows is exact to about 0.0005.
        """
        rng = np.random.default_rng([self.seed, 1])
        half = self.noise_draws // 2
        total = np.zeros_like(self.linear_logits)
        for _ in range(half):
            noise = _noise(rng, self.noise_law, self.linear_logits.shape)
            total += softmax(self.linear_logits + noise) + softmax(self.linear_logits - noise)
        return total / (2 * half)

    @cached_property
    def _ends_x(self) -> tuple[float, float]:
        lower, upper = sharp_ends(law_of(self.strata_given_x))
        return float(lower.mean()), float(upper.mean())

    @property
    def lower_x(self) -> float:
        """Mean over the rows of the lower bound given X alone: what a method can hope to find."""
        return self._ends_x[0]

    @property
    def upper_x(self) -> float:
        return self._ends_x[1]

    @cached_property
    def sate_x(self) -> float:
        """Mean over the rows of E[Y(1) - Y(0) | X]."""
        return float(effect_of(self.strata_given_x).mean())


def _weights(rng: np.random.Generator, law: str, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(1.0, 2.0, shape) if law == "normal" else rng.uniform(-2.0, 2.0, shape)


def _noise(rng: np.random.Generator, law: str, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(size=shape) if law == "normal" else rng.laplace(size=shape)


def _either(rng: np.random.Generator, first: str, second: str) -> str:
    return first if rng.random() < 0.5 else second


def generate(seed: int, n: int = 2048, d: int | None = None, noise_draws: int = 256) -> SyntheticDataset:
    """One table of the benchmark; the same seed gives the same table. `d` is uniform on 5..10 unless it is given."""
    rng = np.random.default_rng(seed)
    width = int(rng.integers(5, 11))
    d = width if d is None else d
    columns = [rng.normal(5.0, 1.0, n) if rng.random() < 0.5 else rng.uniform(-10.0, 5.0, n) for _ in range(d)]
    x = np.column_stack(columns)

    z_logits = x @ _weights(rng, _either(rng, "normal", "uniform"), (d,))
    z_logits = z_logits + _noise(rng, _either(rng, "normal", "laplace"), (n,))
    z_logits = (z_logits - z_logits.mean()) / z_logits.std()
    z = (rng.random(n) < 1 / (1 + np.exp(-z_logits))).astype(int)

    linear_logits = x @ _weights(rng, _either(rng, "normal", "uniform"), (d, N_STRATA))
    noise_law = _either(rng, "normal", "laplace")
    strata = softmax(linear_logits + _noise(rng, noise_law, (n, N_STRATA)))
    cumulative = strata.cumsum(axis=1)
    stratum = (rng.random((n, 1)) * cumulative[:, -1:] > cumulative).sum(axis=1)
    t, y = observe(stratum, z)
    return SyntheticDataset(
        seed=seed,
        x=x,
        z=z.astype(float),
        t=t.astype(float),
        y=y.astype(float),
        strata=strata,
        linear_logits=linear_logits,
        noise_law=noise_law,
        noise_draws=noise_draws,
    )


def dataset(setting: str, seed: int) -> BenchmarkDataset:
    """The table as the runner wants it. There is one setting, `default`: 2,048 rows."""
    made = generate(seed)
    return BenchmarkDataset(
        data=made.data,
        effect=made.sate,
        bounds=(made.lower, made.upper),
        bounds_x=(made.lower_x, made.upper_x),
        sharp_width=made.upper - made.lower,
        facts={"sate_x": made.sate_x, "d": made.x.shape[1]},
    )


def truths(seeds: Iterator[int] | range, n: int = 2048) -> np.ndarray:
    """(seeds, 6): lower, upper, lower_x, upper_x, sate, sd of the strata logits; what docs/benchmarks.md quotes."""
    rows = []
    for seed in seeds:
        d = generate(seed, n)
        rows.append((d.lower, d.upper, d.lower_x, d.upper_x, d.sate, d.linear_logits.std(axis=0).mean()))
    return np.array(rows)


PAPER = (
    PaperTable(
        "tab:binary-and-jobs",
        "Synthetic, binary outcome",
        ("default",),
        None,
        paper_cells(
            "1.00 0.00  0.609 0.158  0.18 0.01",
            "0.50 0.17  0.530 0.147  1.18 0.26",
            "1.00 0.00  0.641 0.158  2.15 0.35",
            "0.90 0.10  0.575 0.147  2.30 0.35",
            "0.70 0.15  0.588 0.113  6.35 0.32",
            "0.00 0.00  0.169 0.038  8.82 0.35",
        ),
    ),
)
BENCHMARK = Benchmark(
    name="synthetic",
    title="16 strata by a softmax of linear functions, binary outcome",
    make=dataset,
    settings=("default",),
    binary=True,
    paper=PAPER,
    order=10,
)
