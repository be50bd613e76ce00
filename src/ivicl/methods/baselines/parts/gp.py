"""Sparse variational Gaussian processes with a softmax on top, for `bayes-bp` and `bayes`.

Shapes: n rows, D covariates, C latent functions, M inducing points, S draws. The latents are independent a priori,
f_c ~ GP(0, constant + scaled RBF), and q has one Gaussian over the inducing values of each latent. The likelihood is
any function of the C latents at a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import gpytorch
import numpy as np
import torch
from torch import Tensor

from ivicl._shared.scaling import standardise
from ivicl.methods.baselines.parts.options import GPOptions

JITTER = 5e-4
"""Added to kernel matrices: enough for float32, in which the fit runs because it is twice as fast (draws: float64)."""
BLOCK_ROWS = 512
"""Rows whose residuals given the inducing values are drawn jointly; blocks are independent given those values."""


class LatentGP(torch.nn.Module):
    """C independent latent functions on the same inducing points, whitened: inducing values = chol(K_mm) v, v ~ q.

    The kernels are gpytorch's. Its VariationalStrategy gives the same numbers (a test holds us to it), but builds the
    whole covariance of the batch for each latent; here only its diagonal is formed, and one Cholesky factor is shared.
    """

    inducing: Tensor

    def __init__(self, inducing: Tensor, n_latents: int, shared_kernel: bool, config: GPOptions) -> None:
        super().__init__()
        self.register_buffer("inducing", inducing)
        m, dims = inducing.shape
        self.full = config.family == "full"
        self.centre = torch.nn.Parameter(torch.zeros(n_latents, m))
        start = torch.eye(m).repeat(n_latents, 1, 1) if self.full else torch.ones(n_latents, m)
        self.spread = torch.nn.Parameter(start)
        batch = torch.Size([]) if shared_kernel else torch.Size([n_latents])
        rbf = gpytorch.kernels.RBFKernel(ard_num_dims=dims, batch_shape=batch)
        self.smooth = gpytorch.kernels.ScaleKernel(rbf, batch_shape=batch)
        self.level = gpytorch.kernels.ConstantKernel(batch_shape=batch)
        # half of the prior variance for the overall level, half for how the latent varies with x
        self.smooth.outputscale = config.prior_scale**2 / 2
        self.level.constant = torch.full((*batch, 1), config.prior_scale**2 / 2)
        rbf.lengthscale = float(np.sqrt(dims))
        for module in (self.smooth, self.level):
            module.requires_grad_(config.learn_prior)

    def kernel(self, a: Tensor, b: Tensor) -> Tensor:
        """(rows of a, rows of b), with a leading C if each latent has a kernel of its own."""
        covariance: Tensor = self.smooth(a, b).to_dense() + self.level(a, b).to_dense()
        return covariance

    def prior_variance(self) -> Tensor:
        """() or (C, 1): the kernel is the same at every x."""
        variance: Tensor = self.smooth.outputscale.unsqueeze(-1) + self.level.constant
        return variance

    def root(self) -> Tensor:
        """(C, M, M) lower triangular: the Cholesky factor of q's covariance."""
        return self.spread.tril() if self.full else torch.diag_embed(self.spread)

    def interpolation(self, x: Tensor) -> Tensor:
        """A = chol(K_mm)^-1 K_mb, ([C,] M, b): the mean of f(x) given v is v A."""
        eye = torch.eye(len(self.inducing), dtype=x.dtype)
        chol = torch.linalg.cholesky(self.kernel(self.inducing, self.inducing) + JITTER * eye)
        weights: Tensor = torch.linalg.solve_triangular(chol, self.kernel(self.inducing, x), upper=False)
        return weights

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of each latent at each row under q, both (C, b)."""
        a = self.interpolation(x)
        mean = (self.centre.unsqueeze(-2) @ a).squeeze(-2)
        unexplained = self.prior_variance() - a.square().sum(-2)
        if self.full:
            from_q = (self.root().mT @ a).square().sum(-2)
        else:
            from_q = (self.spread.square().unsqueeze(-2) @ a.square()).squeeze(-2)
        return mean, unexplained.clamp_min(0.0) + from_q

    def kl(self) -> Tensor:
        """KL(q || N(0, I)) of the whitened inducing values, over all latents."""
        diagonal = self.spread.diagonal(dim1=-2, dim2=-1) if self.full else self.spread
        squares = (self.spread.tril() if self.full else self.spread).square().sum() + self.centre.square().sum()
        return 0.5 * (squares - diagonal.numel()) - diagonal.abs().clamp_min(1e-12).log().sum()


@contextmanager
def quiet_torch(seed: int) -> Iterator[torch.Generator]:
    """Yields its own generator; the global random state and the number of threads are restored afterwards."""
    threads = torch.get_num_threads()
    torch.set_num_threads(min(threads, 2))
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # nothing here uses the global state; this is in case a library does
            yield torch.Generator().manual_seed(seed)
    finally:
        torch.set_num_threads(threads)


def standardised_columns(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Columns with weighted mean 0 and sd 1, without constant ones; if none is left, one column of zeros."""
    columns = standardise(x, weight)
    columns = columns[:, (columns != 0).any(axis=0)]
    return columns if columns.shape[1] else np.zeros((len(x), 1))


def spread_points(x: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """At most `count` distinct rows of a sample: the first at random, each next one farthest from those chosen."""
    pool = np.unique(x, axis=0)
    if len(pool) > 20 * count:
        pool = pool[np.sort(rng.choice(len(pool), 20 * count, replace=False))]
    chosen = [int(rng.integers(len(pool)))]
    distance = ((pool - pool[chosen[0]]) ** 2).sum(1)
    while len(chosen) < count and distance.max() > 1e-12:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, ((pool - pool[chosen[-1]]) ** 2).sum(1))
    return pool[chosen]


@dataclass(frozen=True)
class FitReport:
    """How the optimisation went."""

    steps: int
    evidence_bound: float
    stopped_early: bool


def fit(
    model: LatentGP,
    x: Tensor,
    weight: Tensor,
    log_likelihood: Callable[[Tensor, Tensor], Tensor],
    config: GPOptions,
    generator: torch.Generator,
    on_step: Callable[[int], None],
) -> FitReport:
    """Maximise the evidence bound by Adam. log_likelihood(f (S, C, b), rows (b,)) -> (S, b)."""
    with torch.no_grad():  # equal latents would be a saddle point: break the symmetry between strata
        model.centre.copy_(0.1 * torch.randn(model.centre.shape, generator=generator, dtype=x.dtype))
    optimiser = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, config.max_steps, config.learning_rate / 10)
    people, n = weight.sum(), len(x)
    batch = min(config.batch, n)
    history: list[float] = []
    best, waited, step = -np.inf, 0, 0
    for step in range(1, config.max_steps + 1):
        rows = torch.randperm(n, generator=generator)[:batch] if batch < n else torch.arange(n)
        mean, variance = model(x[rows])
        noise = torch.randn((config.mc_draws, *mean.shape), generator=generator, dtype=x.dtype)
        f = mean + variance.clamp_min(1e-10).sqrt() * noise
        fit_term = (weight[rows] * log_likelihood(f, rows).mean(0)).sum() * (n / batch)
        bound = fit_term - model.kl()
        optimiser.zero_grad()
        torch.autograd.backward(-bound / people)
        optimiser.step()
        schedule.step()
        history.append(bound.item())
        on_step(step)
        if step % config.window == 0:
            recent = np.array(history[-config.window :])
            if recent.mean() > best + recent.std() / np.sqrt(config.window):
                best, waited = recent.mean(), 0
            else:
                waited += 1
            if waited >= config.patience:
                break
    return FitReport(step, float(np.mean(history[-config.window :])), step < config.max_steps)


@torch.no_grad()
def posterior_latents(
    model: LatentGP, x: Tensor, draws: int, generator: torch.Generator
) -> Iterator[tuple[slice, Tensor]]:
    """Joint posterior draws of the latents, in blocks of rows: yields (rows, f (S, C, b)).

    The inducing values are drawn once and shared by all blocks; the rest of f, given them, is drawn jointly within each
    block.
    """
    noise = torch.randn((draws, *model.centre.shape), generator=generator, dtype=x.dtype)
    values = model.centre + (model.root() @ noise.unsqueeze(-1)).squeeze(-1)  # (S, C, M)
    n_latents = values.shape[1]
    for start in range(0, len(x), BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, len(x)))
        a = model.interpolation(x[rows])
        left = model.kernel(x[rows], x[rows]) - a.mT @ a
        chol = torch.linalg.cholesky(left + JITTER * torch.eye(left.shape[-1], dtype=x.dtype))
        a, chol = a.expand(n_latents, -1, -1), chol.expand(n_latents, -1, -1)
        noise = torch.randn((n_latents, draws, left.shape[-1]), generator=generator, dtype=x.dtype)
        f = values.transpose(0, 1) @ a + noise @ chol.mT  # (C, S, b)
        yield rows, f.transpose(0, 1)
