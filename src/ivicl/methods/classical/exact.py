"""The exact posterior of the average effect for tables of counts, under a symmetric Dirichlet prior on the strata.

There are two things to know. The posterior of the effect depends on the prior however many people there are, because
the data cannot tell where in the identified set the effect lies. And its 99 % interval can lie slightly inside the
identified set. The posteriors of the two ends of the identified set have neither property: they converge to the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.identification.strata import GAMMA
from ivicl.identification.weaker_ends import sharp
from ivicl.methods.assumptions import NO_DEFIERS
from ivicl.methods.base import Estimates, Method, MethodBounds, Request
from ivicl.methods.classical.exact_sampler import MOST_LEVELS, WATCHED, Question, exact_posteriors
from ivicl.methods.classical.sharp import level_counts
from ivicl.methods.estimands import ALL

ENDS = ("sharp", "means")


@dataclass(frozen=True)
class ExactOptions:
    """The prior, the ends, and how long the chains run."""

    gamma: float = GAMMA
    """Concentration of the symmetric Dirichlet prior on the sixteen strata; with more levels, a quarter of that of each
    treatment type."""
    n_chains: int = 512
    n_draws: int = 150_000
    """The most states of the chains."""
    tolerance: float = 0.0006
    """Monte Carlo error of the quantiles at which the chains may stop, in units of the outcome's range."""
    ends: str = "sharp"
    """For more than two levels: the set that the whole law allows ("sharp"), or the one that the means allow
    ("means"), which is what the network bounds."""

    def __post_init__(self) -> None:
        if self.ends not in ENDS:
            raise InputError(f"ends must be {' or '.join(ENDS)}, but is {self.ends!r}.")


def bounds(data: IVData, request: Request) -> MethodBounds:
    """`method="exact"`: for an outcome on at most five levels, without covariates."""
    own, (low, high) = request.own, data.outcome_range
    counts, values, _, grouped = level_counts(data, MOST_LEVELS)
    if grouped:
        seen, with_ends = len(np.unique(data.y)), len(np.unique([low, high, *data.y]))
        ends = "" if with_ends == seen else f", and {with_ends} with the ends of its range"
        raise InputError(
            f"method 'exact' needs an outcome with at most {MOST_LEVELS} values, but it has {seen}{ends}; use method "
            "'ivicl', or group the outcome."
        )
    question = Question(
        values=tuple(((values - low) / (high - low)).tolist()),
        no_defiers=NO_DEFIERS in request.assume,
        sharp=own.ends == ENDS[0],
        keep_draws=True,
    )
    found = exact_posteriors(
        counts[None],
        own.gamma,
        np.random.default_rng(request.random_state),
        n_chains=own.n_chains,
        n_draws=own.n_draws,
        tolerance=own.tolerance,
        progress=request.progress,
        question=question,
    )
    covers = request.covers or "set"
    posterior, ends_posterior = found.posterior().scaled(high - low), found.identified_set().scaled(high - low)
    lower, upper = (ends_posterior if covers == "set" else posterior).interval(request.alpha)
    warnings = []
    if data.covariates:
        warnings.append("method 'exact' does not use covariates.")
    if found.r_hat[0] > 1.05 or found.quantile_se[0].max() > 0.003:
        warnings.append(
            f"the chains have not converged well (R-hat {found.r_hat[0]:.3f}, Monte Carlo error "
            f"{found.quantile_se[0].max():.4f}); raise n_draws."
        )
    details = {
        "gamma": own.gamma,
        "r_hat": float(found.r_hat[0]),
        "quantile_levels": WATCHED.tolist(),
        "quantile_se": found.quantile_se[0].tolist(),
        "n_states": found.n_states,
    }
    first, last = ends_posterior.lower, ends_posterior.upper
    return MethodBounds(
        lower,
        upper,
        posterior,
        ends_posterior,
        covers,
        estimates=Estimates(first.mean, last.mean, first.sd, last.sd),
        draws=found.draws[0],
        warnings=tuple(warnings),
        details=details,
    )


METHOD = Method(
    name="exact",
    label="Exact posterior",
    load=bounds,
    interval="credible",
    summary="exact posterior of the ATE from a table of counts, Dirichlet prior on the types of people; at most five "
    "outcome values, no covariates",
    procedure="the exact posterior of the table of counts under a Dirichlet prior on the types of people",
    assumptions=("exchangeable", "exclusion", "no-interference", "bounded", "prior"),
    may_assume=(NO_DEFIERS,),
    estimands=ALL,
    means=sharp,
    covers=("set", "effect"),
    lost_outcomes="filled",
    options=ExactOptions,
    colour="#1b1b1b",
)
