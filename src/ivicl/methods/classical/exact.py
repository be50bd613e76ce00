"""The exact posterior of the average effect for tables of counts, under a symmetric Dirichlet prior on the 16 strata.

Two things to know. The posterior of the effect depends on the prior however many people there are, because the data
cannot tell where in the identified set the effect lies. And its 99 % interval can lie slightly inside the identified
set. The posteriors of the two ends of the identified set have neither property: they settle on the truth.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ivicl._shared.progress import progress_bar
from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.strata import GAMMA
from ivicl.methods.base import Estimates, Method, MethodBounds, Request
from ivicl.methods.classical.strata_chains import StrataChains
from ivicl.posterior import EFFECT_EDGES, N_BINS, BinnedPosterior, IdentifiedSet

BURN_IN = 100
"""Sweeps thrown away. Chains start at points that fit the counts; most forget them in ten sweeps, a few in fifty."""
ROUND = 25
"""Sweeps between two looks at the precision."""
DRAWS_PER_STATE = 8
"""Effects drawn from each state of a chain: see StrataChains.draw_effects."""
N_GROUPS = 8
"""Groups of chains whose quantiles are compared: their spread is the Monte Carlo error."""
WATCHED = np.array([0.005, 0.05, 0.5, 0.95, 0.995])
BLOCK = 1024
"""Chains that advance as one numpy batch. Fixed, so that the answer does not depend on the machine."""


@dataclass(frozen=True)
class ExactPosteriors:
    """Posteriors of B tables on K = 1024 bins of [-1, 1]."""

    effect: np.ndarray
    """(B, K) probabilities of the average effect."""
    lower: np.ndarray
    """(B, K) of the lower end of the identified set."""
    upper: np.ndarray
    """(B, K) of its upper end."""
    r_hat: np.ndarray
    """(B,) convergence between chains: 1 when they agree."""
    quantile_se: np.ndarray
    """(B, 5) Monte Carlo standard errors of the 0.5, 5, 50, 95 and 99.5 % quantiles of the effect."""
    n_states: int
    """States of chains used for each table."""

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
) -> ExactPosteriors:
    """The posteriors of B tables (B, 2, 2, 2) indexed [z][t][y], all chains of all tables advancing together.

    Each table gets `n_chains` chains. They stop when the Monte Carlo standard error of every watched quantile of every
    table of a block is below `tolerance`, or after `n_draws` states a table. One seed, one answer; `rng` defaults to
    seed 0.
    """
    tables = _checked_tables(counts)
    if not gamma > 0:
        raise InputError(f"gamma must be positive, but is {gamma}.")
    if n_chains < 4 * N_GROUPS or n_chains % (2 * N_GROUPS):
        raise InputError(f"n_chains must be a multiple of {2 * N_GROUPS}, at least {4 * N_GROUPS}, but is {n_chains}.")
    rng = np.random.default_rng(0) if rng is None else rng
    most = max(1, -(-n_draws // (n_chains * ROUND)))
    per_block = max(1, BLOCK // n_chains)
    parts = [tables[i : i + per_block] for i in range(0, len(tables), per_block)]
    blocks = [_Block(part, gamma, n_chains, g) for part, g in zip(parts, rng.spawn(len(parts)), strict=True)]

    with progress_bar("exact posterior", len(blocks) * (most * ROUND + BURN_IN), on=progress) as advance:
        # One after the other: the steps are many small numpy calls, and two threads only fight for the interpreter
        # (15 s a table instead of 6).
        for block in blocks:
            block.burn_in()
            advance(BURN_IN)
            for done in range(1, most + 1):
                block.run_round()
                advance(ROUND)
                if block.precise_enough(tolerance):
                    advance((most - done) * ROUND)
                    break

    found = [block.result() for block in blocks]
    names = ("effect", "lower", "upper", "r_hat", "quantile_se")
    joined = {name: np.concatenate([getattr(f, name) for f in found]) for name in names}
    return ExactPosteriors(**joined, n_states=min(f.n_states for f in found))


class _Block:
    """Some tables, with all their chains in one numpy batch, and the histograms of what they visited."""

    def __init__(self, tables: np.ndarray, gamma: float, n_chains: int, rng: np.random.Generator) -> None:
        self.n_tables, self.n_chains = len(tables), n_chains
        self.chains = StrataChains(np.repeat(tables, n_chains, axis=0), gamma, rng)
        group = np.arange(n_chains) % N_GROUPS
        table = np.arange(self.n_tables)[:, None]
        self.offset = ((table * N_GROUPS + group) * N_BINS).ravel()
        self.effect = np.zeros((self.n_tables, N_GROUPS, N_BINS))
        self.lower, self.upper = np.zeros_like(self.effect), np.zeros_like(self.effect)
        self.n_sweeps = 0
        self.sums = np.zeros((2, self.n_tables * n_chains))

    def burn_in(self) -> None:
        self.chains.burn_in(BURN_IN)
        self.centre = self.chains.expected_effect()

    def run_round(self) -> None:
        for _ in range(ROUND):
            self.chains.sweep()
            self._count(self.effect, self.chains.draw_effects(DRAWS_PER_STATE, self.n_tables))
            lower, upper = sharp_ends(self.chains.laws())
            self._count(self.lower, lower)
            self._count(self.upper, upper)
            shifted = self.chains.expected_effect() - self.centre
            self.sums += shifted, shifted**2
            self.n_sweeps += 1

    def _count(self, histogram: np.ndarray, values: np.ndarray) -> None:
        bins = np.clip(((values + 1.0) * (N_BINS / 2)).astype(np.int64), 0, N_BINS - 1) + self.offset
        histogram += np.bincount(bins.ravel(), minlength=histogram.size).reshape(histogram.shape)

    def precise_enough(self, tolerance: float) -> bool:
        # Eight groups estimate their spread to about 25 %: do not trust it from a handful of sweeps.
        return self.n_sweeps >= 8 * ROUND and bool(self.quantile_se().max() < tolerance and self.r_hat().max() < 1.02)

    def quantile_se(self) -> np.ndarray:
        """(B, 5) Monte Carlo errors of the watched quantiles, from the spread between groups of chains."""
        quantiles = np.array([[_quantiles(h) for h in table] for table in self.effect])
        errors: np.ndarray = quantiles.std(axis=1, ddof=1) / np.sqrt(N_GROUPS)
        return errors

    def r_hat(self) -> np.ndarray:
        """(B,) Gelman and Rubin's ratio on the effect with the unseen outcomes averaged out."""
        shift, square = self.sums / self.n_sweeps
        within = np.maximum(square - shift**2, 0.0).reshape(self.n_tables, -1).mean(axis=1)
        between = (shift + self.centre).reshape(self.n_tables, -1).var(axis=1, ddof=1)
        ratio: np.ndarray = np.sqrt((within + between) / np.maximum(within, 1e-300))
        return ratio

    def result(self) -> ExactPosteriors:
        summed = (histogram.sum(axis=1) for histogram in (self.effect, self.lower, self.upper))
        effect, lower, upper = (h / h.sum(axis=1, keepdims=True) for h in summed)
        n_states = self.n_sweeps * self.n_chains
        return ExactPosteriors(effect, lower, upper, self.r_hat(), self.quantile_se(), n_states)


def _quantiles(histogram: np.ndarray) -> np.ndarray:
    return BinnedPosterior(EFFECT_EDGES, histogram).quantile(WATCHED)


def _checked_tables(counts: Any) -> np.ndarray:
    tables = np.asarray(counts, dtype=np.float64)
    if tables.ndim != 4 or tables.shape[1:] != (2, 2, 2):
        raise InputError(f"tables of counts must have shape (B, 2, 2, 2), but have {tables.shape}.")
    if not np.isfinite(tables).all() or (tables < 0).any() or (tables != np.round(tables)).any():
        raise InputError("counts must be whole numbers of at least 0.")
    return tables


@dataclass(frozen=True)
class ExactOptions:
    """The prior, and how long the chains run."""

    gamma: float = GAMMA
    """Concentration of the symmetric Dirichlet prior on the sixteen strata."""
    n_chains: int = 512
    n_draws: int = 150_000
    """States of the chains at most."""
    tolerance: float = 0.0006
    """Monte Carlo error of the quantiles at which the chains may stop."""


def bounds(data: IVData, request: Request) -> MethodBounds:
    """`method="exact"`: for a binary outcome, without covariates."""
    if not data.binary:
        raise InputError("method 'exact' needs a binary outcome, but the outcome has more than two values.")
    rng = np.random.default_rng(request.random_state)
    found = exact_posteriors(data.counts()[None], rng=rng, progress=request.progress, **asdict(request.own))
    covers = request.covers or "set"
    posterior, ends = found.posterior(), found.identified_set()
    lower, upper = (ends if covers == "set" else posterior).interval(request.alpha)
    warnings = []
    if data.covariates:
        warnings.append("method 'exact' does not use covariates.")
    if found.r_hat[0] > 1.05 or found.quantile_se[0].max() > 0.003:
        warnings.append(
            f"the chains have not converged well (R-hat {found.r_hat[0]:.3f}, Monte Carlo error "
            f"{found.quantile_se[0].max():.4f}); raise n_draws."
        )
    details = {
        "gamma": request.own.gamma,
        "r_hat": float(found.r_hat[0]),
        "quantile_levels": WATCHED.tolist(),
        "quantile_se": found.quantile_se[0].tolist(),
        "n_states": found.n_states,
    }
    estimates = Estimates(ends.lower.mean, ends.upper.mean, ends.lower.sd, ends.upper.sd)
    return MethodBounds(
        lower, upper, posterior, ends, covers, estimates=estimates, warnings=tuple(warnings), details=details
    )


METHOD = Method(
    name="exact",
    label="Exact posterior",
    load=bounds,
    interval="credible",
    summary="exact posterior of the ATE from a table of counts, Dirichlet(0.1) prior on the 16 strata; no covariates",
    procedure="the exact posterior of the table of counts under a Dirichlet prior on the sixteen types of people",
    assumptions=("exchangeable", "exclusion", "no-interference", "bounded", "prior"),
    covers=("set", "effect"),
    lost_outcomes="filled",
    options=ExactOptions,
    colour="#1b1b1b",
)
