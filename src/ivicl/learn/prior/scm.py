"""Base tables from random networks, after the published scheme that the paper builds on: columns are hidden units.

b tables, N rows, E width. Tables are divided into small groups; depth and width are drawn once per group, the rest once
per table.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ivicl.learn.prior.functions import activate
from ivicl.learn.prior.randomness import coin, integers, log_uniform, normal

GROUP = 8


def network_columns(
    batch: int, rows: int, columns: int, g: torch.Generator, most_layers: int, most_units: int
) -> Tensor:
    """(B, N, columns) random hidden units of random networks with noise after each layer."""
    sizes = [min(GROUP, batch - start) for start in range(0, batch, GROUP)]
    parts = [_group(size, rows, columns, g, most_layers, most_units) for size in sizes]
    return torch.cat(parts) if parts else torch.zeros(0, rows, columns, device=g.device)


def _group(batch: int, rows: int, columns: int, g: torch.Generator, most_layers: int, most_units: int) -> Tensor:
    layers = min(2 + int(_truncated_normal((1,), g, 1, 10)), most_layers)
    needed = -(-2 * columns // layers)  # all layers together have at least twice the columns
    width = max(min(4 + int(_truncated_normal((1,), g, 5, 50)), most_units), needed)
    roots = min(4 + int(_truncated_normal((1,), g, 5, 50)), most_units)
    own_law = coin((batch, 1, 1), g, 0.5)
    root_sd = torch.where(own_law, normal((batch, 1, roots), g).abs(), 1.0)
    root_mean = torch.where(own_law, normal((batch, 1, roots), g), 0.0)
    h = normal((batch, rows, roots), g) * root_sd + root_mean
    weight_sd = _truncated_normal((batch, 1, 1), g, 0.01, 3)
    noise_sd = _truncated_normal((batch, 1, 1), g, 1e-4, 0.5)
    units = []
    for _ in range(layers):
        weight = normal((batch, h.shape[-1], width), g) * weight_sd * _block_diagonal(batch, h.shape[-1], width, g)
        h = activate(h @ weight, g)
        h = h + noise_sd * normal(tuple(h.shape), g)
        units.append(h)
    pool = torch.cat(units, -1)
    chosen = torch.rand(batch, pool.shape[-1], generator=g, device=g.device).argsort(-1)[:, None, :columns]
    return pool.gather(-1, chosen.expand(batch, rows, columns))


def _block_diagonal(batch: int, inputs: int, outputs: int, g: torch.Generator) -> Tensor:
    """(b, inputs, outputs) masks of 1 to sqrt(size) diagonal blocks."""
    most = max(1, int(min(inputs, outputs) ** 0.5))
    blocks = integers((batch, 1), g, 1, most)
    row = torch.arange(inputs, device=g.device) * blocks // inputs
    column = torch.arange(outputs, device=g.device) * blocks // outputs
    return (row[:, :, None] == column[:, None, :]).float()


def _truncated_normal(shape: tuple[int, ...], g: torch.Generator, low: float, high: float) -> Tensor:
    """|normal(mu, sigma)| with mu and sigma log-uniform: the scheme truncates the normal at zero, here it is folded."""
    return (log_uniform(shape, g, low, high) + log_uniform(shape, g, low, high) * normal(shape, g)).abs()
