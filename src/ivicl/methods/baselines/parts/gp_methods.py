"""`bayes-bp` and `bayes`: Gaussian-process posteriors of the bounds, and of the effect itself.

`bayes-bp` infers p(y, t | z, x), which the data do identify, and evaluates the Balke-Pearl bounds on each posterior
draw. `bayes` infers the law of the 16 strata (T(0), T(1), Y(0), Y(1)) given x, which the data do not identify, and
averages the effect over the rows of each draw. Its variational posterior is too narrow; see docs/baselines.md for how
much and why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.laws import cell_index
from ivicl.identification.strata import EFFECT, LAW
from ivicl.methods.base import Estimates, MethodBounds, Request
from ivicl.methods.baselines.parts.dependencies import require
from ivicl.methods.baselines.parts.folds import merge_rows
from ivicl.methods.baselines.parts.levels import OutcomeLevels, outcome_levels
from ivicl.methods.baselines.parts.options import GPOptions
from ivicl.posterior import EFFECT_EDGES, BinnedPosterior, IdentifiedSet

if TYPE_CHECKING:
    from torch import Tensor


def bounds_of_ends(data: IVData, request: Request) -> MethodBounds:
    """[Q_{alpha/2} of the lower bound, Q_{1-alpha/2} of the upper bound]."""
    run = _Run(data, request, "bayes-bp")
    n_levels = len(run.levels.steps) + 1
    log_likelihood = _cell_likelihood(run, n_levels)
    lower, upper = np.zeros(run.config.draws), np.zeros(run.config.draws)
    for rows, f in run.fit_and_draw(4 * n_levels, False, log_likelihood):
        law = f.reshape(len(f), 2, 2 * n_levels, -1).softmax(2).numpy()
        law = np.moveaxis(law.reshape(len(f), 2, 2, n_levels, -1), -1, 1)  # (S, b, z, t, level)
        total = law.sum(-1)
        for j, step in enumerate(run.levels.steps, start=1):
            above = law[..., j:].sum(-1)
            low, high = sharp_ends(np.stack([total - above, above], axis=-1))
            lower += step * (low @ run.share[rows])
            upper += step * (high @ run.share[rows])
    edges = EFFECT_EDGES * run.span
    q = request.alpha / 2
    low_end, high_end = float(np.quantile(lower, q)), float(np.quantile(upper, 1 - q))
    return MethodBounds(
        lower=min(low_end, high_end),
        upper=max(low_end, high_end),
        identified_set=IdentifiedSet(
            BinnedPosterior.from_samples(lower, edges), BinnedPosterior.from_samples(upper, edges)
        ),
        estimates=Estimates(float(lower.mean()), float(upper.mean()), float(lower.std()), float(upper.std())),
        warnings=run.warnings(),
        details=run.details(),
    )


def bounds_of_effect(data: IVData, request: Request) -> MethodBounds:
    """Quantiles alpha/2 and 1 - alpha/2 of the posterior of the average effect over the rows."""
    run = _Run(data, request, "bayes")
    if not data.binary and request.combine == "randomised":
        raise InputError('method "bayes" combines thresholds as "comonotone" or "independent", not "randomised".')
    m = len(run.levels.steps)
    effects = np.zeros((m, run.config.draws))
    for rows, f in run.fit_and_draw(16 * m, True, _strata_likelihood(run, m)):
        strata = f.reshape(len(f), m, 16, -1).softmax(2).numpy()
        effects += np.einsum("sjkb,k,b->js", strata, EFFECT, run.share[rows])
    if m == 1:
        draws = effects[0] * run.span
        posterior = BinnedPosterior.from_samples(draws, EFFECT_EDGES * run.span)
        low, high = np.quantile(draws, [request.alpha / 2, 1 - request.alpha / 2])
    else:
        parts = [BinnedPosterior.from_samples(e).scaled(s) for e, s in zip(effects, run.levels.steps, strict=True)]
        independent = request.combine == "independent"
        add = BinnedPosterior.combine_independent if independent else BinnedPosterior.combine_comonotone
        posterior = add(parts)
        low, high = posterior.interval(request.alpha)
    return MethodBounds(
        lower=float(low),
        upper=float(high),
        posterior=posterior,
        covers="effect",
        warnings=(
            *run.warnings(),
            "the variational posterior of the effect is narrower than the exact one and often misses it.",
        ),
        details=run.details(),
    )


class _Run:
    """The data as the Gaussian process sees them, and the report of one fit."""

    def __init__(self, data: IVData, request: Request, method: str) -> None:
        require("torch", method)
        require("gpytorch", method)
        from ivicl.methods.baselines.parts.gp import standardised_columns

        self.started = time.perf_counter()
        self.config: GPOptions = request.own
        self.request, self.method = request, method
        self.levels: OutcomeLevels = outcome_levels(data, request.n_thresholds)
        self.span = float(self.levels.steps.sum())
        columns = np.column_stack([standardised_columns(data.x, data.w), data.z, data.t, self.levels.level])
        merged, self.people = merge_rows(columns, data.w)
        self.x = merged[:, :-3]
        self.z, self.t, self.level = (merged[:, k].astype(np.int64) for k in (-3, -2, -1))
        self.share = self.people / self.people.sum()
        self.report: dict[str, Any] = {}

    def fit_and_draw(
        self, n_latents: int, shared_kernel: bool, log_likelihood: Callable[[Tensor, Tensor], Tensor]
    ) -> Iterator[tuple[slice, Tensor]]:
        """Fit, then yield joint posterior draws of the latents block by block."""
        import torch

        from ivicl.methods.baselines.parts.gp import LatentGP, fit, posterior_latents, quiet_torch, spread_points

        rng = np.random.default_rng(self.request.random_state)
        with quiet_torch(self.request.random_state) as generator:
            x = torch.as_tensor(self.x, dtype=torch.float32)
            inducing = torch.as_tensor(spread_points(self.x, self.config.inducing, rng), dtype=torch.float32)
            people = torch.as_tensor(self.people, dtype=torch.float32)
            model = LatentGP(inducing, n_latents, shared_kernel, self.config)
            with _progress(self.request.progress, f"{self.method}: fitting", self.config.max_steps) as on_step:
                done = fit(model, x, people, log_likelihood, self.config, generator, on_step)
            self.report = {
                **asdict(done),
                "inducing": len(inducing),
                "prior_sd": float((model.smooth.outputscale.mean() + model.level.constant.mean()).sqrt().item()),
            }
            yield from posterior_latents(model.double(), x.double(), self.config.draws, generator)

    def warnings(self) -> tuple[str, ...]:
        notes = list(self.levels.notes)
        if self.report and not self.report["stopped_early"]:
            notes.append(f"the fit used all {self.report['steps']} steps; raise max_steps to let it settle.")
        return tuple(notes)

    def details(self) -> dict[str, Any]:
        return {
            **self.report,
            "family": self.config.family,
            "prior_scale_at_start": self.config.prior_scale,
            "prior_learned": self.config.learn_prior,
            "draws": self.config.draws,
            "thresholds": len(self.levels.steps),
            "slack": self.levels.slack,
            "seconds": time.perf_counter() - self.started,
        }


def _cell_likelihood(run: _Run, n_levels: int) -> Callable[[Tensor, Tensor], Tensor]:
    """log P(T=t, level | Z=z, f): a softmax over the 2 L cells of the row's own arm."""
    import torch

    cell = torch.as_tensor(run.z * 2 * n_levels + run.t * n_levels + run.level)

    def log_likelihood(f: Tensor, rows: Tensor) -> Tensor:
        log_p = f.reshape(len(f), 2, 2 * n_levels, -1).log_softmax(2).reshape(len(f), 4 * n_levels, -1)
        return log_p.gather(1, cell[rows].expand(len(f), 1, -1)).squeeze(1)

    return log_likelihood


def _strata_likelihood(run: _Run, m: int) -> Callable[[Tensor, Tensor], Tensor]:
    """Sum over the m thresholds of log P(T=t, Y_j=y_j | Z=z, f_j): the four strata that can show the cell."""
    import torch

    above = run.level[:, None] >= np.arange(1, m + 1)  # (n, m)
    cells = cell_index(run.z[:, None], run.t[:, None], above)
    impossible = torch.as_tensor(LAW.T[cells] == 0).permute(1, 2, 0)  # (m, 16, n)

    def log_likelihood(f: Tensor, rows: Tensor) -> Tensor:
        log_strata = f.reshape(len(f), m, 16, -1).log_softmax(2)
        return log_strata.masked_fill(impossible[..., rows], -torch.inf).logsumexp(2).sum(1)

    return log_likelihood


@contextmanager
def _progress(show: bool, description: str, total: int) -> Iterator[Callable[[int], None]]:
    if not show:
        yield lambda step: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(description, total=total)
        yield lambda step: bar.update(task, completed=step)
