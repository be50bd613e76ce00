"""Tables with a few discrete covariates, as weighted rows: one row per covariate cell, z, t and, if y is 0 or 1, y. For
an amount, a row has the number of its people, their mean amount and its variance.

These tables can have populations of any size. B tables, C covariate cells, D columns, at most N = 8 C rows.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ivicl.learn.prior import designs
from ivicl.learn.prior.batches import BINARY, Form, TableBatch
from ivicl.learn.prior.classes import Classes
from ivicl.learn.prior.config import PriorConfig
from ivicl.learn.prior.functions import standardise
from ivicl.learn.prior.instrument import arm_probability
from ivicl.learn.prior.labels import draw_crowds
from ivicl.learn.prior.randomness import coin, dirichlet, integers, log_uniform, multinomial_counts, normal, uniform
from ivicl.learn.prior.sampler import (
    Laws,
    classes_of,
    label,
    laws_given_events,
    settle_strata,
    without_binary_samples,
)
from ivicl.learn.prior.strata import strata_of

ONE_HOT = 3
"""How many levels a factor that is coded as 0/1 columns has."""


def sample_compressed(
    config: PriorConfig,
    generator: torch.Generator,
    batch: int,
    n_rows_max: int = 256,
    n_covariates: int | None = None,
    form: Form = BINARY,
) -> TableBatch:
    """Weighted tables; D is drawn from 1 to 4 for the whole batch unless given. Rows of weight 0 are padding."""
    g = generator
    cells = max(2, n_rows_max // 8)
    columns = int(integers((1,), g, 1, 4)) if n_covariates is None else n_covariates
    columns = min(columns, cells.bit_length() - 1)
    laws = laws_given_events(config, g, batch, form, lambda event: _propose(config, g, event, cells, columns, form))
    return _compress(config, laws, form, g)


def _propose(config: PriorConfig, g: torch.Generator, event: Tensor, cells: int, columns: int, form: Form) -> Laws:
    """Laws on the cells, with the number of people in each."""
    batch = len(event)
    one_hot = coin((batch,), g, config.one_hot_share if columns >= ONE_HOT else 0.0)
    digit, levels = _factors(g, batch, cells, columns, one_hot)
    exists = digit[..., -1] < levels[:, None, -1]
    crowd = dirichlet((batch, cells), g, 1.0).float()
    crowd = crowd * torch.exp(uniform((batch, 1), g, 0, 1.5) * normal((batch, cells), g)) * exists
    people = log_uniform((batch,), g, *config.population).double().round()
    count = multinomial_counts(people, crowd / crowd.sum(-1, keepdim=True), g)
    weight = (count / people[:, None]).float()
    x = standardise(_codes(g, digit, one_hot), weight)
    logits = _logits(g, digit, levels, x, strata_of(form.groups).size)
    chance = _propensity(config, g, event, cells, weight)
    free = torch.zeros(batch, dtype=torch.bool, device=g.device)
    return settle_strata(config, g, x, count, chance, logits, event, free, form)


def _factors(g: torch.Generator, batch: int, cells: int, columns: int, one_hot: Tensor) -> tuple[Tensor, Tensor]:
    """Level of each factor in each cell (B, C, D), and the number of levels (B, D); at most C cells in all."""
    room = torch.full((batch,), cells, device=g.device)
    levels = torch.ones(batch, columns, dtype=torch.long, device=g.device)
    for d in range(columns):
        most = (room // 2 ** (columns - 1 - d)).clamp(2, 10)
        drawn = 2 + (uniform((batch,), g).square() * (most - 1)).long()
        levels[:, d] = torch.minimum(drawn, most)
        if columns >= ONE_HOT and d < ONE_HOT:  # a one-hot factor takes several columns
            levels[:, d] = torch.where(one_hot, ONE_HOT if d == 0 else 1, levels[:, d])
        room = room // levels[:, d]
    rest = torch.arange(cells, device=g.device).expand(batch, cells)
    digits = []
    for d in range(columns):
        if d < columns - 1:
            digits.append(rest % levels[:, d, None])
            rest = rest // levels[:, d, None]
        else:
            digits.append(rest)  # a digit beyond its levels marks a cell that does not exist
    return torch.stack(digits, -1), levels


def _codes(g: torch.Generator, digit: Tensor, one_hot: Tensor) -> Tensor:
    """(B, C, D) numeric codes of the levels, in order or shuffled; or the 0/1 columns of the first factor."""
    batch, _, columns = digit.shape
    most = int(digit.max()) + 1
    order = torch.rand(batch, most, columns, generator=g, device=digit.device).argsort(1)
    codes = torch.where(coin((batch, 1, columns), g, 0.3), order.gather(1, digit), digit).float()
    if columns >= ONE_HOT:
        group = (digit[..., :1] == torch.arange(ONE_HOT, device=digit.device)).float()
        codes[..., :ONE_HOT] = torch.where(one_hot[:, None, None], group, codes[..., :ONE_HOT])
    return codes


def _logits(g: torch.Generator, digit: Tensor, levels: Tensor, x: Tensor, size: int) -> Tensor:
    """(B, C, S) logits: linear in the codes, additive in the levels, or free in every cell of the relevant factors."""
    batch, cells, columns = digit.shape
    relevant = coin((batch, 1, columns), g, torch.where(coin((batch, 1, 1), g, 0.5), 1.0, 0.5))
    linear = (x * relevant) @ normal((batch, columns, size), g)
    most = int(digit.max()) + 1
    table = normal((batch, most * columns, size), g)
    place = (digit + most * torch.arange(columns, device=digit.device))[..., None]
    additive = torch.zeros_like(linear)
    for d in range(columns):
        part = table.gather(1, place[:, :, d].expand(batch, cells, size))
        additive = additive + part * relevant[:, :, d, None]
    radix = torch.where(relevant[:, 0], levels, 1)
    stride = torch.cat([torch.ones_like(radix[:, :1]), radix[:, :-1].cumprod(-1)], -1)
    cell = ((digit * relevant) * stride[:, None]).sum(-1).clamp(max=cells - 1)
    saturated = normal((batch, cells, size), g).gather(1, cell[..., None].expand(batch, cells, size))
    kind = integers((batch, 1, 1), g, 0, 2)
    return torch.where(kind == 0, linear, torch.where(kind == 1, additive, saturated))


def _propensity(config: PriorConfig, g: torch.Generator, event: Tensor, cells: int, weight: Tensor) -> Tensor:
    """(B, C) P(Z=1 | cell): one number per table, or one for each cell."""
    batch = len(event)
    even = arm_probability(config, g, batch)[:, None]
    logit = standardise(normal((batch, cells, 1), g), weight)[..., 0]
    confounded = torch.sigmoid(logit * log_uniform((batch, 1), g, 0.3, 2.0) + torch.logit(even))
    randomised = torch.where(event > 0, max(0.8, config.randomised_share), config.randomised_share)[:, None]
    chance = torch.where(coin((batch, 1), g, randomised), even, confounded)
    return chance.clamp(config.positivity, 1 - config.positivity)


def _compress(config: PriorConfig, laws: Laws, form: Form, g: torch.Generator) -> TableBatch:
    """Draw what the people of every cell show, given the table's event, and lay it out as weighted rows."""
    batch, cells, _ = laws.x.shape
    strata = strata_of(form.groups)
    breaks = designs.breaks(form.groups).to(laws.p)[laws.event]
    arms = torch.stack([1 - laws.propensity, laws.propensity], -1).double()
    allowed = [strata.law_of(laws.p.double() * (1 - breaks[:, None, z]))[..., z, :, :] for z in (0, 1)]
    cell = torch.stack(allowed, 2) * arms[..., None, None]  # (B, C, 2, 2, G)
    classes = classes_of(config, g, batch, form)
    if form.amounts:
        classes, shown, w, y, v = _amounts(config, g, classes, laws, cell)
    else:
        w = multinomial_counts(laws.count, cell.flatten(2), g)
        shown = torch.cartesian_prod(*[torch.arange(2.0, device=w.device)] * 3).T
        y, v = shown[2].repeat(batch, cells), torch.zeros(batch, cells * 8, device=w.device)
    per_cell = shown.shape[1]
    full = label(laws, classes, form, g, laws.x, laws.propensity, laws.propensity, laws.propensity, laws.weight)

    def rows(values: Tensor) -> Tensor:
        return values.repeat_interleave(per_cell, 1)

    flat = w.flatten(1).float()
    used = int((flat > 0).sum(-1).max())
    keep = (flat <= 0).to(torch.uint8).argsort(dim=-1, stable=True)[:, : -(-used // 8) * 8]

    def pick(values: Tensor) -> Tensor:
        index = keep.reshape(*keep.shape, *[1] * (values.dim() - 2)).expand(*keep.shape, *values.shape[2:])
        return values.gather(1, index)

    table = replace(
        full,
        x=pick(rows(laws.x)),
        z=pick(shown[0].repeat(batch, cells)),
        t=pick(shown[1].repeat(batch, cells)),
        y=pick(y),
        v=pick(v),
        w=pick(flat),
        law=pick(rows(full.law)),
        propensity=pick(rows(full.propensity)),
    )
    return without_binary_samples(table)


def _amounts(
    config: PriorConfig, g: torch.Generator, classes: Classes, laws: Laws, cell: Tensor
) -> tuple[Classes, Tensor, Tensor, Tensor, Tensor]:
    """People of each (cell, z, t) with mean and variance of their amounts; the classes in the range used."""
    classes, people = draw_crowds(config, g, classes, laws.count, cell)  # (B, C, 2, 2, L)
    values = classes.values.to(people)[:, None, None, None]
    total = people.sum(-1)
    mean = (people * values).sum(-1) / total.clamp_min(1)
    variance = (people * (values - mean[..., None]).square()).sum(-1) / total.clamp_min(1)
    shown = torch.cartesian_prod(*[torch.arange(2.0, device=people.device)] * 2).T
    return classes, shown, total.flatten(2), mean.flatten(1).float(), variance.flatten(1).float()
