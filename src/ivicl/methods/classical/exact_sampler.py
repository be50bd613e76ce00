"""Posteriors of tables of counts by the chains of `strata_chains`: of the effect, and of the identified set's ends.

Shapes: B tables, K outcome levels. All chains of several tables advance as one numpy batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ivicl._shared.progress import progress_bar
from ivicl.errors import InputError
from ivicl.identification.strata import GAMMA
from ivicl.methods.classical.strata_chains import StrataChains
from ivicl.methods.joint_draws import MeanDraws, draws_at, joined
from ivicl.posterior import EFFECT_EDGES, N_BINS, BinnedPosterior, IdentifiedSet

BURN_IN = 100
"""Sweeps thrown away, for each outcome level above the first. Chains start at points that fit the counts; with two
levels most forget their start in ten sweeps, a few in fifty."""
ROUND = 25
"""Sweeps between two checks of the precision."""
DRAWS_PER_STATE = 8
"""Effects drawn from each state of a chain: see StrataChains.draw_effects."""
N_GROUPS = 8
"""Groups of chains whose quantiles are compared: their spread is the Monte Carlo error."""
WATCHED = np.array([0.005, 0.05, 0.5, 0.95, 0.995])
MOST_LEVELS = 5
BLOCK = 1024
"""How many chains advance as one numpy batch. Fixed, so that the answer does not depend on the machine."""


@dataclass(frozen=True)
class Question:
    """What the chains are asked, besides the counts."""

    values: tuple[float, ...] = (0.0, 1.0)
    """The values of the outcome's levels, rising from 0 to 1."""
    no_defiers: bool = False
    """Nobody moves against one direction of the instrument; the data say which."""
    sharp: bool = True
    """Ends of the set that the whole law allows; otherwise of the set that the means allow. Equal for two levels."""
    keep_draws: bool = False
    """Also return joint draws."""


BINARY = Question()


@dataclass(frozen=True)
class ExactPosteriors:
    """Posteriors of B tables on 1024 bins of [-1, 1]."""

    effect: np.ndarray
    """(B, bins) probabilities of the average effect."""
    lower: np.ndarray
    """(B, bins) probabilities of the lower end of the identified set."""
    upper: np.ndarray
    """(B, bins) probabilities of its upper end."""
    r_hat: np.ndarray
    """(B,) convergence between chains: 1 when they agree."""
    quantile_se: np.ndarray
    """(B, 5) Monte Carlo standard errors of the 0.5, 5, 50, 95 and 99.5 % quantiles of the effect."""
    visits: np.ndarray
    """(B,) how many values were counted to get the probabilities of the effect's bins."""
    n_states: int
    """States of chains used for each table."""
    draws: tuple[MeanDraws, ...] = ()
    """Joint draws, one entry per table, if they were to be kept."""

    def __len__(self) -> int:
        return len(self.effect)

    def posterior(self, i: int = 0) -> BinnedPosterior:
        return BinnedPosterior(EFFECT_EDGES, self.effect[i])

    def identified_set(self, i: int = 0) -> IdentifiedSet:
        return IdentifiedSet(BinnedPosterior(EFFECT_EDGES, self.lower[i]), BinnedPosterior(EFFECT_EDGES, self.upper[i]))


def exact_posterior(
    counts: Any, gamma: float = GAMMA, rng: np.random.Generator | None = None, **settings: Any
) -> BinnedPosterior:
    """The posterior of the effect for one table of people by [z][t][y]; settings as in `exact_posteriors`."""
    table = np.asarray(counts, dtype=np.float64).reshape(1, 2, 2, 2)
    return exact_posteriors(table, gamma, rng, **settings).posterior()


def exact_posteriors(
    counts: Any,
    gamma: float = GAMMA,
    rng: np.random.Generator | None = None,
    n_chains: int = 256,
    n_draws: int = 200_000,
    tolerance: float = 0.0006,
    progress: bool = False,
    question: Question = BINARY,
) -> ExactPosteriors:
    """The posteriors of B tables (B, 2, 2, K) indexed [z][t][level], all chains of all tables advancing together.

    The 4 K^2 strata have a symmetric Dirichlet prior; its concentration is `gamma` for K = 2, and in general such that
    the four treatment types keep theirs. Each table gets `n_chains` chains. They stop when the Monte Carlo standard
    error of every watched quantile of every table in a block is below `tolerance`, or after `n_draws` states per table.
    The same seed gives the same answer; `rng` defaults to seed 0.
    """
    tables = _checked_tables(counts, question)
    if not gamma > 0:
        raise InputError(f"gamma must be positive, but is {gamma}.")
    if n_chains < 4 * N_GROUPS or n_chains % (2 * N_GROUPS):
        raise InputError(f"n_chains must be a multiple of {2 * N_GROUPS}, at least {4 * N_GROUPS}, but is {n_chains}.")
    rng = np.random.default_rng(0) if rng is None else rng
    most = max(1, -(-n_draws // (n_chains * ROUND)))
    burn_in = BURN_IN * (len(question.values) - 1)
    per_block = max(1, BLOCK // n_chains)
    parts = [tables[i : i + per_block] for i in range(0, len(tables), per_block)]
    blocks = [_Block(part, gamma, n_chains, g, question) for part, g in zip(parts, rng.spawn(len(parts)), strict=True)]

    with progress_bar("exact posterior", len(blocks) * (most * ROUND + burn_in), on=progress) as advance:
        # Blocks run one after the other: their steps are many small numpy calls, and two threads would only compete for
        # the interpreter (15 s per table instead of 6).
        for block in blocks:
            block.burn_in(burn_in)
            advance(burn_in)
            for done in range(1, most + 1):
                block.run_round()
                advance(ROUND)
                if block.precise_enough(tolerance):
                    advance((most - done) * ROUND)
                    break

    found = [block.result() for block in blocks]
    names = ("effect", "lower", "upper", "r_hat", "quantile_se", "visits")
    together = {name: np.concatenate([getattr(f, name) for f in found]) for name in names}
    draws = tuple(one for f in found for one in f.draws)
    return ExactPosteriors(**together, n_states=min(f.n_states for f in found), draws=draws)


class _Block:
    """Some tables, with all their chains in one numpy batch, and the histograms of the values they visited."""

    def __init__(
        self, tables: np.ndarray, gamma: float, n_chains: int, rng: np.random.Generator, question: Question
    ) -> None:
        self.n_tables, self.n_chains, self.question = len(tables), n_chains, question
        self.values = np.array(question.values)
        concentration = 4 * gamma / len(self.values) ** 2
        states = np.repeat(tables, n_chains, axis=0)
        self.chains = StrataChains(states, concentration, rng, self.values, defiers=not question.no_defiers)
        self.share = tables[:, 1].sum(axis=(1, 2)) / tables.sum(axis=(1, 2, 3))
        self.kept: list[list[MeanDraws]] = [[] for _ in tables]
        group = np.arange(n_chains) % N_GROUPS
        table = np.arange(self.n_tables)[:, None]
        self.offset = ((table * N_GROUPS + group) * N_BINS).ravel()
        self.effect = np.zeros((self.n_tables, N_GROUPS, N_BINS))
        self.lower, self.upper = np.zeros_like(self.effect), np.zeros_like(self.effect)
        self.n_sweeps = 0
        self.sums = np.zeros((2, self.n_tables * n_chains))

    def burn_in(self, n_sweeps: int) -> None:
        for _ in range(n_sweeps):
            self.chains.sweep()
        self.centre = self.chains.expected_effect()

    def run_round(self) -> None:
        for _ in range(ROUND):
            self.chains.sweep()
            self._count(self.effect, self.chains.draw_effects(DRAWS_PER_STATE, self.n_tables))
            lower, upper = self._ends()
            self._count(self.lower, lower)
            self._count(self.upper, upper)
            shifted = self.chains.expected_effect() - self.centre
            self.sums += shifted, shifted**2
            self.n_sweeps += 1

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Draws of the ends at the chains' states; the joint draws are kept, if they are wanted."""
        laws = self.chains.laws()
        late = self.chains.movers_effect() if self.question.no_defiers else None
        ends = []
        for i in range(self.n_tables):
            own = slice(i * self.n_chains, (i + 1) * self.n_chains)
            movers = None if late is None else late[own]
            draws = draws_at(laws[own], self.values, self.share[i], self.question.sharp, movers)
            ends.append(draws.of("ATE"))
            if self.question.keep_draws:
                self.kept[i].append(draws)
        lower, upper = (np.concatenate([pair[k] for pair in ends]) for k in (0, 1))
        return lower, upper

    def _count(self, histogram: np.ndarray, values: np.ndarray) -> None:
        bins = np.clip(((values + 1.0) * (N_BINS / 2)).astype(np.int64), 0, N_BINS - 1) + self.offset
        histogram += np.bincount(bins.ravel(), minlength=histogram.size).reshape(histogram.shape)

    def precise_enough(self, tolerance: float) -> bool:
        # With eight groups the spread is known to about 25 %: do not trust it after only a few sweeps.
        return self.n_sweeps >= 8 * ROUND and bool(self.quantile_se().max() < tolerance and self.r_hat().max() < 1.02)

    def quantile_se(self) -> np.ndarray:
        """(B, 5) Monte Carlo errors of the watched quantiles, from the spread between groups of chains."""
        quantiles = np.array([[_quantiles(h) for h in table] for table in self.effect])
        errors: np.ndarray = quantiles.std(axis=1, ddof=1) / np.sqrt(N_GROUPS)
        return errors

    def r_hat(self) -> np.ndarray:
        """(B,) Gelman and Rubin's ratio for the effect, with the unseen outcomes averaged out."""
        shift, square = self.sums / self.n_sweeps
        within = np.maximum(square - shift**2, 0.0).reshape(self.n_tables, -1).mean(axis=1)
        between = (shift + self.centre).reshape(self.n_tables, -1).var(axis=1, ddof=1)
        ratio: np.ndarray = np.sqrt((within + between) / np.maximum(within, 1e-300))
        return ratio

    def result(self) -> ExactPosteriors:
        summed = [histogram.sum(axis=1) for histogram in (self.effect, self.lower, self.upper)]
        effect, lower, upper = (h / h.sum(axis=1, keepdims=True) for h in summed)
        visits = summed[0].sum(axis=1)
        n_states = self.n_sweeps * self.n_chains
        draws = tuple(joined(parts) for parts in self.kept if parts)
        return ExactPosteriors(effect, lower, upper, self.r_hat(), self.quantile_se(), visits, n_states, draws)


def _quantiles(histogram: np.ndarray) -> np.ndarray:
    return BinnedPosterior(EFFECT_EDGES, histogram).quantile(WATCHED)


def _checked_tables(counts: Any, question: Question) -> np.ndarray:
    tables, levels = np.asarray(counts, dtype=np.float64), len(question.values)
    if not 2 <= levels <= MOST_LEVELS:
        raise InputError(f"an outcome must have 2 to {MOST_LEVELS} levels here, but has {levels}.")
    if question.values[0] != 0 or question.values[-1] != 1 or min(np.diff(question.values)) <= 0:
        raise InputError(f"the levels' values must rise from 0 to 1, but are {', '.join(map(str, question.values))}.")
    if tables.ndim != 4 or tables.shape[1:] != (2, 2, levels):
        raise InputError(f"tables of counts must have shape (B, 2, 2, {levels}), but have {tables.shape}.")
    if not np.isfinite(tables).all() or (tables < 0).any() or (tables != np.round(tables)).any():
        raise InputError("counts must be whole numbers of at least 0.")
    return tables
