"""The exact posteriors that the network is judged by: made once, kept in the package.

`python -m ivicl.benchmarks.model_card.reference` makes them anew (half an hour on two cores).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

log = logging.getLogger(__name__)

FILE = "exact_reference.npz"
SEED = 20_261_115
PRIOR_TABLES, ONE_SIDED_TABLES = 200, 50


@dataclass(frozen=True)
class Reference:
    """Count tables (B,2,2,2), exact posteriors (B,K) of the effect, and the Monte Carlo error of their quantiles."""

    counts: np.ndarray
    effect: np.ndarray
    quantile_se: np.ndarray

    def part(self, which: str) -> Reference:
        """`prior`: 200 draws of the prior; `one-sided`: 50 tables with nobody treated in one arm, or everybody."""
        rows = slice(0, PRIOR_TABLES) if which == "prior" else slice(PRIOR_TABLES, None)
        return Reference(self.counts[rows], self.effect[rows], self.quantile_se[rows])


def load() -> Reference:
    with (
        resources.as_file(resources.files("ivicl.benchmarks.model_card") / FILE) as path,
        np.load(path, allow_pickle=False) as file,
    ):
        visits = file["visits"]
        # In single precision, as the figures of older cards were computed.
        effect = (visits / visits.sum(1, keepdims=True)).astype(np.float32).astype(np.float64)
        return Reference(file["counts"], effect, file["quantile_se"])


def draw_tables() -> np.ndarray:
    """200 tables of the prior without oversampled designs, N from 20 to a million, then 50 one-sided ones."""
    from ivicl.learn.prior import PriorConfig, generator_for, sample_counts

    plain = PriorConfig.default().with_options(population=(20.0, 1e6), one_sided_share=0.0, perfect_share=0.0)
    designed = plain.with_options(one_sided_share=0.9)
    tables = sample_counts(plain, generator_for(SEED, 0), PRIOR_TABLES, n_draws=1).counts.numpy()
    many = sample_counts(designed, generator_for(SEED, 1), 400, n_draws=1).counts.numpy()
    people = many.sum(-1)
    one_sided = many[((people == 0).any(-1)).sum(-1) == 1]
    return np.concatenate([tables, one_sided[:ONE_SIDED_TABLES]])


def make(path: Path) -> None:
    """Sample the exact posteriors of `draw_tables` and write them."""
    from ivicl.methods.classical.exact_sampler import exact_posteriors

    counts = draw_tables()
    found = exact_posteriors(counts, rng=np.random.default_rng(SEED), n_draws=150_000, progress=True)
    # Whole numbers take two thirds of the space that shares would.
    visits = np.rint(found.effect * found.visits[:, None]).astype(np.uint32)
    np.savez_compressed(path, counts=counts, visits=visits, quantile_se=found.quantile_se.astype(np.float32))
    error, r_hat = found.quantile_se.max(), found.r_hat.max()
    log.info("largest Monte Carlo error of a quantile: %.4f, R-hat at most %.3f", error, r_hat)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    make(Path(__file__).with_name(FILE))
