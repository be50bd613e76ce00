"""Tables of distinct rows: the four steps of the prior in order, for a batch of tables of one shape and form.

B tables, N rows, D covariates, S = 4 G^2 strata of G outcome classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TypeVar

import torch
from torch import Tensor

from ivicl.learn.prior import designs
from ivicl.learn.prior.batches import BINARY, CountBatch, Form, TableBatch
from ivicl.learn.prior.classes import Classes, binary_classes, draw_amounts, draw_classes
from ivicl.learn.prior.config import PriorConfig
from ivicl.learn.prior.functions import random_functions, standardise
from ivicl.learn.prior.instrument import propensity
from ivicl.learn.prior.labels import clip_to_sample, estimand_ends, movers_effect, orbit_draws
from ivicl.learn.prior.randomness import coin, integers, log_uniform, normal, uniform
from ivicl.learn.prior.scm import network_columns
from ivicl.learn.prior.shift import strata_probabilities
from ivicl.learn.prior.strata import soft_law, strata_of
from ivicl.learn.prior.tables import covariates, finish

Batch = TypeVar("Batch", TableBatch, CountBatch)


@dataclass(frozen=True)
class Laws:
    """Parameters of B tables, each at the rows of its own X."""

    x: Tensor
    """(B, N, D) covariates."""
    count: Tensor
    """(B, N) float64 number of people in each row: 1, or the people in a cell of discrete covariates."""
    weight: Tensor
    """(B, N) each row's share of the people; sums to 1."""
    propensity: Tensor
    """(B, N) P(Z=1|x)."""
    p: Tensor
    """(B, N, S) strata probabilities."""
    target: Tensor
    """(B, S) Dirichlet target of their mean."""
    shifted: Tensor
    """(B,) whether the mean was moved to the target."""
    event: Tensor
    """(B,) the event that the data were chosen for; 0 is none."""


def draw_form(config: PriorConfig, g: torch.Generator) -> Form:
    """The kind of a batch's tables: their outcome, and whether anybody may move against the instrument."""
    amounts, no_defiers = (coin((2,), g, torch.tensor([config.amounts_share, config.no_defiers_share]))).tolist()
    groups = int(integers((1,), g, 2, config.most_classes))
    return Form(groups if amounts else 2, amounts, no_defiers)


@dataclass(frozen=True)
class RowDraw:
    """A batch of row tables with what produced it."""

    table: TableBatch
    laws: Laws
    stratum: Tensor
    """(B, N) each row's stratum."""


def sample_rows(
    config: PriorConfig,
    generator: torch.Generator,
    batch: int,
    n_rows: int,
    n_covariates: int,
    form: Form = BINARY,
) -> TableBatch:
    """Tables of distinct rows, all of weight 1."""
    return draw_rows(config, generator, batch, n_rows, n_covariates, form).table


def draw_rows(
    config: PriorConfig,
    g: torch.Generator,
    batch: int,
    rows: int,
    columns: int,
    form: Form = BINARY,
) -> RowDraw:
    """Like `sample_rows`, with the parameters and the strata as well."""
    laws = laws_given_events(config, g, batch, form, lambda event: propose_laws(config, g, event, rows, columns, form))
    z, stratum = _people(laws, g, form.groups)
    t, which = strata_of(form.groups).observe(stratum, z)
    classes = classes_of(config, g, batch, form)
    y = draw_amounts(classes, which, g)
    if form.amounts:
        chosen = coin((batch,), g, config.sample_range_share)
        classes, low, length = clip_to_sample(classes, chosen, y.amin(1), y.amax(1))
        y = ((y - low[:, None]) / length[:, None]).clamp(0, 1)
    table = label(laws, classes, form, g, laws.x, z, t.float(), y.float(), laws.count.float())
    table = without_binary_samples(table)
    return RowDraw(table, laws, stratum)


def classes_of(config: PriorConfig, g: torch.Generator, batch: int, form: Form) -> Classes:
    return draw_classes(config, g, batch, form.groups) if form.amounts else binary_classes(batch, g.device)


def without_binary_samples(table: TableBatch) -> TableBatch:
    """Replace tables of amounts whose sample happens to be all 0 and 1 by another table of the batch."""
    if not table.form.amounts:
        return table
    spread = (table.w * ((table.y - table.y.square()) + table.v)).sum(1)
    return with_amounts(table, spread > 1e-6)


def with_amounts(batch: Batch, good: Tensor) -> Batch:
    """The same batch, with the first good table in place of those that are not good."""
    place = torch.nonzero(good).flatten()
    if len(place) in (0, len(good)):
        return batch
    return batch.take(torch.where(good, torch.arange(len(good), device=good.device), place[0]))


def propose_laws(config: PriorConfig, g: torch.Generator, event: Tensor, rows: int, columns: int, form: Form) -> Laws:
    """Covariates, instrument and strata; if an event is set, a proposal of a table for which the event is likely."""
    batch = len(event)
    if config.logits_from_covariates:
        x, logits = covariates(config, g, batch, rows, columns), None
    else:
        size = strata_of(form.groups).size
        base = network_columns(batch, rows, columns + size, g, config.network_layers, config.network_units)
        x, logits = finish(config, g, base[..., :columns]), base[..., columns:]
    weight = torch.full((batch, rows), 1 / rows, device=g.device)
    # Most one-sided designs are trials. The instrument may depend on the event, because it is ancillary.
    randomised = torch.where(event > 0, max(0.8, config.randomised_share), config.randomised_share)
    chance = propensity(config, g, x, weight, randomised)
    null = coin((batch, 1, 1), g, config.null_share)
    if logits is None:
        size = strata_of(form.groups).size
        logits = random_functions(x * relevance(config, g, batch, columns), size, config.function_families, g)
        logits = torch.where(null, 0.0, logits)
    free = coin((batch,), g, config.free_intercept_share) & ~null[:, 0, 0] & (event == 0) & (columns > 0)
    count = torch.ones(batch, rows, dtype=torch.float64, device=g.device)
    return settle_strata(config, g, x, count, chance, logits, event, free, form)


def relevance(config: PriorConfig, g: torch.Generator, batch: int, columns: int) -> Tensor:
    """(B, 1, D) which covariates may matter for the strata: all, or each with a probability drawn for the table."""
    share = torch.where(coin((batch, 1, 1), g, config.all_relevant_share), 1.0, uniform((batch, 1, 1), g, 0.05, 1.0))
    score = torch.rand(batch, 1, columns, generator=g, device=g.device)
    return (score <= share) | (score == score.amin(-1, keepdim=True)) if columns else score > 0


def settle_strata(
    config: PriorConfig,
    g: torch.Generator,
    x: Tensor,
    count: Tensor,
    chance: Tensor,
    logits: Tensor,
    event: Tensor,
    free: Tensor,
    form: Form,
) -> Laws:
    """Scale the logit columns (B, N, S), draw the Dirichlet target, and shift the mean to it (or leave it free)."""
    batch, people, size = len(x), count.sum(-1), strata_of(form.groups).size
    weight = (count / people[:, None]).float()
    scale = log_uniform((batch, 1, 1), g, *config.logit_scale)
    scale = torch.where(free[:, None, None], log_uniform((batch, 1, 1), g, *config.free_intercept_scale), scale)
    uneven = torch.exp(0.7 * normal((batch, 1, size), g))
    uneven = torch.where(coin((batch, 1, 1), g, config.uneven_scale_share), uneven, 1.0)
    ratio = log_uniform((batch, 1, 1), g, *config.free_intercept_ratio)
    intercept = torch.where(free[:, None, None], normal((batch, 1, size), g) * ratio * scale, 0.0)
    if config.standardise_logits:
        logits = standardise(logits, weight) * scale * uneven
    allowed = allowed_strata(g, batch, form, config.unsaid_share if x.shape[-1] else 0.0)
    event = designs.possible(event, allowed, form.groups)
    eps = designs.SLACK * designs.smallest_arm(event, chance)
    concentration = config.concentration(form.groups)
    target = designs.propose_target(event, people, eps, concentration, g, form.groups, allowed)
    target = target.clamp_min(config.target_floor)
    if allowed is not None:
        logits = logits.masked_fill(~allowed[:, None], -torch.inf)
    target = target / target.sum(-1, keepdim=True)
    p = torch.empty_like(logits)
    shifted = torch.nonzero(~free).flatten()
    kept = torch.nonzero(free).flatten()
    p[shifted] = strata_probabilities(
        logits[shifted], weight[shifted], target[shifted], config.shift_tolerance, config.shift_steps
    )
    p[kept] = torch.softmax(logits[kept] + intercept[kept], -1)
    return Laws(x, count, weight, chance, p, target, ~free, event)


def allowed_strata(g: torch.Generator, batch: int, form: Form, unsaid: float = 0.0) -> Tensor | None:
    """(B, S) the strata that remain if nobody moves against one direction, which is drawn for each table.

    The network is not told which, because it recodes the instrument by the sample's first stage. The same holds for a
    share `unsaid` of the tables whose form does not say so.
    """
    if not form.no_defiers and not unsaid:
        return None
    takes = strata_of(form.groups).takes.to(g.device)
    against = coin((batch, 1), g, 0.5)
    moved = torch.where(against, takes[:, 0] < takes[:, 1], takes[:, 0] > takes[:, 1])
    return ~moved if form.no_defiers else ~moved | ~coin((batch, 1), g, unsaid)


def laws_given_events(
    config: PriorConfig, g: torch.Generator, batch: int, form: Form, propose: Callable[[Tensor], Laws]
) -> Laws:
    """Laws of a batch: mostly ordinary ones, and some drawn given an event (`designs`).

    A rejected proposal becomes an ordinary table. Spare ordinary tables are drawn in the same pass, because a second
    pass would cost more.
    """
    event = designs.draw_events(batch, config.one_sided_share, config.perfect_share, g)
    proposals = int((event > 0).sum())
    if proposals == 0:
        return propose(event)
    spare = 2 + proposals // 2
    laws = propose(torch.cat([event, event.new_zeros(spare)]))
    kept = designs.accept(laws.event, laws.p, laws.propensity, laws.count, laws.target, g, form.groups)
    rejected = torch.nonzero(~kept).flatten()
    if len(rejected) > spare:
        laws = _map(torch.cat, laws, propose(event.new_zeros(len(rejected) - spare)))
    chosen = torch.arange(batch, device=event.device)
    chosen[rejected] = batch + torch.arange(len(rejected), device=event.device)
    return _map(lambda parts: parts[0][chosen], laws)


def _map(function: Callable[[list[Tensor]], Tensor], *laws: Laws) -> Laws:
    """Apply a function to each field of one or more batches of laws."""
    return Laws(**{f.name: function([getattr(law, f.name) for law in laws]) for f in fields(Laws)})


def label(
    laws: Laws,
    classes: Classes,
    form: Form,
    g: torch.Generator,
    x: Tensor,
    z: Tensor,
    t: Tensor,
    y: Tensor,
    w: Tensor,
) -> TableBatch:
    """Data and labels of tables whose rows are those of `laws`."""
    strata = strata_of(form.groups)
    mass = torch.bmm(laws.weight[:, None], laws.p)[:, 0]
    mean = classes.mean
    effect = strata.effect(mean)
    draws = orbit_draws(mass, effect, strata.orbits(g))
    law = soft_law(strata.law_of(laws.p), mean)
    ends = estimand_ends(law, laws.propensity, laws.weight)
    late = movers_effect(mass, effect, strata)
    return TableBatch(draws[:, 0], draws, ends, late, x, z, t, y, torch.zeros_like(y), w, law, laws.propensity, form)


def _people(laws: Laws, g: torch.Generator, groups: int) -> tuple[Tensor, Tensor]:
    """Instrument and stratum of each row, given the table's event: both (B, N)."""
    shape = tuple(laws.propensity.shape)
    broken = designs.unsafe_mass(laws.event, laws.p, groups)
    one = laws.propensity * (1 - broken[..., 1])
    zero = (1 - laws.propensity) * (1 - broken[..., 0])
    z = coin(shape, g, one / (one + zero)).float()
    breaks = designs.breaks(groups).to(laws.p)[laws.event]  # (B, 2, S)
    chosen = torch.nonzero(laws.event).flatten()
    p = laws.p
    if len(chosen):
        p = p.clone()
        side = torch.where(z[chosen, :, None] > 0, breaks[chosen, None, 1], breaks[chosen, None, 0])
        p[chosen] = p[chosen] * (1 - side)
    ladder = p.cumsum(-1)
    u = torch.rand(*shape, 1, generator=g, device=g.device) * ladder[..., -1:]
    stratum = (ladder <= u).sum(-1).clamp(max=ladder.shape[-1] - 1)
    return z, stratum
