"""Exact posteriors of amounts on few levels and of tables without defiers: made once, kept in the package.

`python -m ivicl.benchmarks.model_card.level_reference` makes them anew (a quarter of an hour on an idle core).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from ivicl.benchmarks.model_card.count_tables import KINDS, Kind, draw_tables
from ivicl.methods.classical.exact_sampler import Question, exact_posteriors
from ivicl.methods.joint_draws import MeanDraws
from ivicl.methods.pretrained.schema_2 import PAIRS, POINT, QUANTITIES

log = logging.getLogger(__name__)

FILE = "level_reference.npz"
SEED = 20_261_117
TABLES = 16
PEOPLE = (20.0, 1e6)
LEVELS = np.array([0.005, 0.05, 0.5, 0.95, 0.995])


@dataclass(frozen=True)
class LevelReference:
    """Exact posteriors of B tables of one kind; Q quantities in the network's order, nan if one is not defined."""

    counts: np.ndarray
    """(B,2,2,K)."""
    effect: np.ndarray
    """(B,bins) exact posterior of the effect."""
    means: np.ndarray
    """(B,Q) posterior means."""
    quantiles: np.ndarray
    """(B,Q,5) at LEVELS."""
    quantile_se: np.ndarray
    """(B,5) Monte Carlo errors of the effect's quantiles."""


def load(kind: Kind) -> LevelReference:
    with (
        resources.as_file(resources.files("ivicl.benchmarks.model_card") / FILE) as path,
        np.load(path, allow_pickle=False) as file,
    ):
        names = ("counts", "effect", "means", "quantiles", "quantile_se")
        return LevelReference(*(file[f"{kind.name}/{name}"].astype(np.float64) for name in names))


def sample(kind: Kind, tables: int = TABLES) -> LevelReference:
    """Draw tables of a kind, and sample their exact posteriors."""
    rng = np.random.default_rng([SEED, KINDS.index(kind)])
    counts = draw_tables(kind, rng, tables, PEOPLE)
    # sharp=False because the network's bounds use only the outcome's means.
    question = Question(tuple(kind.values), no_defiers=kind.no_defiers, sharp=False, keep_draws=True)
    found = exact_posteriors(counts, rng=rng, n_draws=80_000, question=question, progress=True)
    draws = [_of_quantities(each) for each in found.draws]
    means = np.array([each.mean(axis=1) for each in draws])
    quantiles = np.array([np.quantile(each, LEVELS, axis=1).T for each in draws])
    error, r_hat = found.quantile_se.max(), found.r_hat.max()
    log.info("%s: largest Monte Carlo error of a quantile %.4f, R-hat at most %.3f", kind.name, error, r_hat)
    return LevelReference(counts, found.effect, means, quantiles, found.quantile_se)


def _of_quantities(draws: MeanDraws) -> np.ndarray:
    """(Q, draws)."""
    ends = [end for name in PAIRS for end in draws.of(name)]
    point = draws.of(POINT)[0] if POINT in draws.estimands else np.full(len(draws), np.nan)
    found = np.array([*ends, point])
    assert len(found) == len(QUANTITIES)
    return found


def make(path: Path) -> None:
    """Write the reference of all kinds."""
    arrays: dict[str, np.ndarray] = {}
    for kind in KINDS:
        arrays |= {f"{kind.name}/{name}": values for name, values in vars(sample(kind)).items()}
    narrow: dict[str, Any] = {
        name: values.astype(np.float64 if name.endswith("counts") else np.float32) for name, values in arrays.items()
    }
    np.savez_compressed(path, **narrow)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    make(Path(__file__).with_name(FILE))
