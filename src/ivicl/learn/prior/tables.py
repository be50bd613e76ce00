"""Step 1 of the prior: covariates. Continuous base columns of several families, some of them made discrete afterwards.

B tables, N rows, D covariates. Columns come out with mean 0 and sd 1.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ivicl.learn.prior.config import PriorConfig
from ivicl.learn.prior.functions import standardise
from ivicl.learn.prior.randomness import choice, coin, integers, log_uniform, normal, uniform
from ivicl.learn.prior.scm import network_columns


def covariates(config: PriorConfig, g: torch.Generator, batch: int, rows: int, columns: int) -> Tensor:
    """(B, N, D) standardised covariates."""
    x = torch.zeros(batch, rows, columns, device=g.device)
    if columns == 0:
        return x
    for name, index in choice(batch, g, config.covariate_families):
        if name == "scm":
            x[index] = network_columns(len(index), rows, columns, g, config.network_layers, config.network_units)
        else:
            x[index] = FAMILIES[name](len(index), rows, columns, g)
    return finish(config, g, x)


def finish(config: PriorConfig, g: torch.Generator, x: Tensor) -> Tensor:
    """Make some columns discrete and standardise all."""
    weight = torch.full(x.shape[:2], 1 / x.shape[1], device=x.device)
    x = standardise(x.nan_to_num(0.0).clamp(-1e6, 1e6), weight)
    chosen = torch.nonzero(coin((len(x),), g, config.discrete_share)).flatten()
    if len(chosen):
        x[chosen] = standardise(_discrete(config, g, x[chosen]), weight[chosen])
    return x


def _discrete(config: PriorConfig, g: torch.Generator, x: Tensor) -> Tensor:
    """Cut all columns, or a random half, into levels; codes are ordered or shuffled; one factor may be one-hot."""
    batch, rows, columns = x.shape
    most = config.max_levels
    share = torch.where(coin((batch, 1, 1), g, 0.3), 1.0, 0.5)
    cut = coin((batch, 1, columns), g, share)
    levels = integers((batch, 1, columns), g, 2, most)
    levels = torch.where(coin((batch, 1, columns), g, 0.4), 2, levels)
    threshold = 1.2 * normal((most - 1, batch, 1, columns), g)
    threshold[torch.arange(most - 1, device=x.device)[:, None, None, None] >= levels - 1] = torch.inf
    code = torch.zeros(batch, rows, columns, dtype=torch.int8, device=x.device)
    for k in range(most - 1):
        code += x > threshold[k]
    code = code.long()
    order = torch.rand(batch, most, columns, generator=g, device=x.device).argsort(1)
    shuffled = order.gather(1, code)
    code = torch.where(coin((batch, 1, columns), g, 0.5), shuffled, code)
    mixed = torch.where(cut, code.to(x), x)
    return _one_hot(config, g, mixed, code)


def _one_hot(config: PriorConfig, g: torch.Generator, x: Tensor, code: Tensor) -> Tensor:
    """Replace the leading columns of some tables by the 0/1 columns of the first factor."""
    batch, _, columns = x.shape
    if columns < 2:
        return x
    width = integers((batch, 1, 1), g, 2, min(columns, config.max_levels))
    level = torch.arange(columns, device=x.device)
    first = code[..., :1] % width
    replaced = (level < width) & coin((batch, 1, 1), g, config.one_hot_share)
    return torch.where(replaced, (first == level).to(x), x)


def _independent(batch: int, rows: int, columns: int, g: torch.Generator) -> Tensor:
    """Independent columns: normal, uniform, or with heavy or one-sided tails."""
    base = normal((batch, rows, columns), g)
    mixed = _warp(base, g)
    one_law = coin((batch, 1, 1), g, 0.5)  # in half of the tables all columns share one plain law
    plain = torch.where(coin((batch, 1, 1), g, 0.5), base, torch.erf(base / 2**0.5))
    return torch.where(one_law, plain, mixed)


def _gaussian(batch: int, rows: int, columns: int, g: torch.Generator) -> Tensor:
    """A factor model with correlated columns, then a warp of each column."""
    rank = max(1, min(columns, 6))
    factors = normal((batch, rows, rank), g) @ normal((batch, rank, columns), g)
    own = normal((batch, rows, columns), g) * log_uniform((batch, 1, columns), g, 0.1, 3.0)
    return _warp(factors / rank**0.5 + own, g)


def _clusters(batch: int, rows: int, columns: int, g: torch.Generator, most: int = 8) -> Tensor:
    """A mixture of normal clusters."""
    member = integers((batch, rows, 1), g, 0, most - 1) % integers((batch, 1, 1), g, 2, most)
    centre = 2 * normal((batch, most, columns), g)
    spread = log_uniform((batch, most, columns), g, 0.2, 1.5)
    member = member.expand(batch, rows, columns)
    return centre.gather(1, member) + spread.gather(1, member) * normal((batch, rows, columns), g)


def _warp(x: Tensor, g: torch.Generator) -> Tensor:
    """Each column as it is, or uniform, or with heavy tails, or with one long tail."""
    kind = uniform((len(x), 1, x.shape[-1]), g)
    power = 1 + 2 * uniform((len(x), 1, x.shape[-1]), g)
    scale = x.std(1, keepdim=True).clamp_min(1e-6)
    unit = x / scale
    warped = torch.where(kind < 0.6, torch.erf(unit / 2**0.5), unit.sign() * unit.abs().pow(power))
    warped = torch.where(kind > 0.8, torch.exp(0.7 * unit.clamp(-6, 6)), warped)
    return torch.where(kind < 0.4, unit, warped)


FAMILIES = {
    "independent": _independent,
    "gaussian": _gaussian,
    "clusters": _clusters,
}
