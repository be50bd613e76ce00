"""Random functions of the covariates. Each family makes random features of x and mixes them with independent weights,
one set for each output, so that the outputs are exchangeable, which the pair swaps need.

b tables, N rows, D covariates (standardised), K outputs.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from ivicl.learn.prior.config import Shares
from ivicl.learn.prior.randomness import choice, coin, integers, log_uniform, normal, uniform

ACTIVATIONS: tuple[Callable[[Tensor], Tensor], ...] = (
    torch.cos,
    torch.sin,
    torch.sign,
    F.elu,
    F.gelu,
    F.hardsigmoid,
    lambda h: h,
    F.leaky_relu,
    F.logsigmoid,
    torch.sigmoid,
    F.silu,
    F.softplus,
    torch.tanh,
)


def random_functions(x: Tensor, outputs: int, families: Shares, g: torch.Generator) -> Tensor:
    """(B, N, K) values of random functions of x (B, N, D); each table draws one family."""
    values = x.new_zeros(*x.shape[:2], outputs)
    if x.shape[-1] == 0:
        return values
    for name, index in choice(len(x), g, families):
        values[index] = FAMILIES[name](x[index], outputs, g)
    return values


def standardise(values: Tensor, weight: Tensor) -> Tensor:
    """Columns (B, N, K) to weighted mean 0 and sd 1; a constant column becomes 0. weight (B, N) sums to 1.

    For numbers made here: float32, without the care that a user's units need (`network.prepare`).
    """
    mean = torch.bmm(weight[:, None], values)
    centred = values - mean
    variance = torch.bmm(weight[:, None], centred.square())
    varies = variance > 1e-10 * (mean.square() + 1e-20)
    return torch.where(varies, centred * variance.clamp_min(1e-30).rsqrt(), 0.0)


def activate(h: Tensor, g: torch.Generator) -> Tensor:
    """Apply one activation per table, drawn from the thirteen, to h (b, N, E)."""
    which = integers((len(h),), g, 0, len(ACTIVATIONS) - 1).tolist()
    return torch.stack([ACTIVATIONS[k](table) for k, table in zip(which, h, strict=True)])


def _linear(x: Tensor, outputs: int, g: torch.Generator) -> Tensor:
    return x @ normal((len(x), x.shape[-1], outputs), g)


def _sparse(x: Tensor, outputs: int, g: torch.Generator) -> Tensor:
    """Linear, with each output depending on a few covariates of its own."""
    batch, _, columns = x.shape
    kept = coin((batch, columns, outputs), g, uniform((batch, 1, 1), g, min(0.5, 1.5 / columns), 0.7))
    return x @ (normal((batch, columns, outputs), g) * kept)


def _index(x: Tensor, outputs: int, g: torch.Generator) -> Tensor:
    """All outputs depend on one to three indices of the covariates."""
    batch, _, columns = x.shape
    rank = integers((batch, 1, 1), g, 1, 3)
    index = x @ (normal((batch, columns, 3), g) / columns**0.5)
    index = torch.where(coin((batch, 1, 1), g, 0.5), index, torch.tanh(2 * index))
    return index @ (normal((batch, 3, outputs), g) * (torch.arange(3, device=x.device)[:, None] < rank))


def _polynomial(x: Tensor, outputs: int, g: torch.Generator) -> Tensor:
    """Linear terms, squares and products of pairs."""
    batch, rows, columns = x.shape
    terms = min(2 * columns, 24)
    pair = integers((2, batch, 1, terms), g, 0, columns - 1).expand(2, batch, rows, terms)
    products = x.gather(-1, pair[0]) * x.gather(-1, pair[1])
    size: Tensor = uniform((batch, 1, 1), g, 0.3, 1.5) * (columns / terms) ** 0.5
    return x @ normal((batch, columns, outputs), g) + products @ (normal((batch, terms, outputs), g) * size)


def _fourier(x: Tensor, outputs: int, g: torch.Generator, features: int = 48) -> Tensor:
    """Random Fourier features: draws from a Gaussian process with a random length scale."""
    batch, _, columns = x.shape
    active = (x != 0).any(1).sum(-1).clamp_min(1)[:, None, None]
    length = log_uniform((batch, 1, 1), g, 0.4, 4.0) * active.sqrt()
    phase = uniform((batch, 1, features), g, 0, 2 * torch.pi)
    waves = torch.cos(x @ (normal((batch, columns, features), g) / length) + phase)
    return waves @ normal((batch, features, outputs), g)


def _mlp(x: Tensor, outputs: int, g: torch.Generator, width: int = 32) -> Tensor:
    """A random network of one to three layers with random activations."""
    batch, _, columns = x.shape
    spread = log_uniform((batch, 1, 1), g, 0.5, 3.0)
    active = (x != 0).any(1).sum(-1).clamp_min(1)[:, None, None]
    h = activate(x @ (normal((batch, columns, width), g) * spread / active.sqrt()) + normal((batch, 1, width), g), g)
    for _ in range(int(integers((1,), g, 0, 2))):
        h = activate(h @ (normal((batch, width, width), g) * spread / width**0.5) + normal((batch, 1, width), g), g)
    return h @ normal((batch, width, outputs), g)


def _trees(x: Tensor, outputs: int, g: torch.Generator, trees: int = 6, depth: int = 3) -> Tensor:
    """A sum of oblivious trees: each level of a tree makes the same split for all rows."""
    batch, rows, _ = x.shape
    questions = trees * depth
    usable = (x != 0).any(1).float() + 1e-6
    column = torch.multinomial(usable, questions, replacement=True, generator=g)
    row = integers((batch, questions), g, 0, rows - 1)
    threshold = x[torch.arange(batch, device=x.device)[:, None], row, column]
    answers = x.gather(-1, column[:, None].expand(batch, rows, questions)) > threshold[:, None]
    powers = 2 ** torch.arange(depth, device=x.device)
    leaf = (torch.unflatten(answers, -1, (trees, depth)) * powers).sum(-1)
    leaves = F.one_hot(leaf, 2**depth).flatten(2).to(x)
    count = integers((batch, 1), g, 1, trees)
    used = (torch.arange(trees, device=x.device) < count).repeat_interleave(2**depth, -1)[..., None]
    return leaves @ (normal((batch, trees * 2**depth, outputs), g) * used)


def _centres(x: Tensor, outputs: int, g: torch.Generator, most: int = 24) -> Tensor:
    """Constant on the cells of rows that have the same nearest neighbour among a few random rows."""
    batch, rows, columns = x.shape
    row = integers((batch, most, 1), g, 0, rows - 1).expand(batch, most, columns)
    centre = x.gather(1, row)
    distance = centre.square().sum(-1)[:, None] - 2 * x @ centre.mT
    unused = torch.arange(most, device=x.device) >= integers((batch, 1), g, 2, most)
    nearest = distance.masked_fill(unused[:, None], torch.inf).argmin(-1)
    return F.one_hot(nearest, most).to(x) @ normal((batch, most, outputs), g)


FAMILIES: dict[str, Callable[[Tensor, int, torch.Generator], Tensor]] = {
    "linear": _linear,
    "sparse": _sparse,
    "index": _index,
    "polynomial": _polynomial,
    "fourier": _fourier,
    "mlp": _mlp,
    "trees": _trees,
    "centres": _centres,
}
