"""The covariates' part: rows -> what they believe of the law, where the ends lie by it, and a pooled representation.

B tables, N rows, P kept covariates, E width, Q quantities.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ivicl.learn.network.attention import InducedBlock, log_weights
from ivicl.learn.network.config import NetworkConfig
from ivicl.learn.network.doubts import DOUBTS, doubts
from ivicl.learn.network.ends import QUANTITIES, Rows, arms_of, estimate
from ivicl.learn.network.grids import Grid
from ivicl.learn.network.outward import Limit
from ivicl.learn.network.precision import wide
from ivicl.learn.network.regression import RegressionLayer
from ivicl.learn.network.steady import STEADY, STEADY_NEWS, steady
from ivicl.learn.network.summary import CountEstimates
from ivicl.methods.pretrained.streaming.constants import CALM, CANDIDATES, PACE, PERSON, TRUST

NEWS = 5 * QUANTITIES + 2 * CANDIDATES + DOUBTS + STEADY_NEWS
"""What the formulas say at the rows' laws, for the pool."""
STEPS = 2 + STEADY
"""Ends that the answer may lie at, beside the plug-in end."""


class Reading(NamedTuple):
    """What B tables come to, whatever their number of rows: all that the pool and the grids are made from."""

    pooled: Tensor
    """(B,2E+NEWS) means of rows and latents, and what the formulas say."""
    plug_in: Tensor
    """(B,Q) float64, as the next two."""
    unit: Tensor
    """(B,Q)."""
    steps: Tensor
    """(B,STEPS,Q) in units, from the plug-in end to the one-step end, to the network's own plug-in end, to the steady
    ones."""
    spread: Tensor
    """(B,1) standard deviation of P(Z=1 | x)."""


class RowAnswer(NamedTuple):
    """What the rows of B tables say."""

    reading: Reading
    layer: Tensor
    """(B,N,2,4) soft law at each row as the regression layer has it, which has not seen the row."""
    law: Tensor
    """(B,N,2,4) its logarithm as the network corrects it."""
    chance: Tensor
    """(B,N) P(Z=1 | x)."""


class Settled(NamedTuple):
    """What follows for B tables."""

    pooled: Tensor
    """(B,C) for the heads."""
    grid: Grid
    """Where the ends lie, and the unit of what is not known about that."""
    limit: Limit


class CovariatePath(nn.Module):
    """x (B,N,P) strongest first, and the rows -> RowAnswer."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        width = config.width
        self.bf16 = False
        """Set by the trainer: the rows' blocks, and nothing else, compute in bf16."""
        self.regression = RegressionLayer(
            config.max_features, config.regression_features, config.trees, config.tree_depth, config.pseudo_count
        )
        self.embed = nn.Linear(config.max_features + 8 + RegressionLayer.outputs, width)
        self.blocks = nn.ModuleList(InducedBlock(width, config.heads, config.row_hidden) for _ in range(config.depth))
        self.latents = nn.Parameter(torch.randn(config.latents, width))
        self.condition = nn.Linear(config.summary_width, width)
        self.row_norm = nn.LayerNorm(width)
        self.law = nn.Linear(width, 8)
        self.gather = nn.Linear(2 * width + config.summary_width, config.covariate_width)
        self.heed = nn.Linear(NEWS, config.covariate_width, bias=False)
        self.pool = nn.Sequential(
            nn.GELU(approximate="tanh"), nn.Linear(config.covariate_width, config.covariate_width),
            nn.LayerNorm(config.covariate_width),
        )  # fmt: skip
        self.trust = nn.Linear(config.covariate_width, (1 + STEPS) * QUANTITIES)
        for linear in (self.law, self.trust):
            nn.init.zeros_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(
        self, x: Tensor, score: Tensor, rows: Rows, summary: Tensor, plain: CountEstimates, noise: Tensor
    ) -> RowAnswer:
        """score (B,P) of the covariates, summary (B,S), plain: the quantities without covariates, noise (B,1)."""
        cell, w = rows.cell.float(), rows.w.float()
        arm = arms_of(cell) * w.unsqueeze(-1)
        regressed = self.regression(x, score, cell[:, :, :4] + cell[:, :, 4:], arm)
        with torch.autocast(x.device.type, torch.bfloat16, enabled=self.bf16):
            tokens, latents = self._attend(torch.cat([x, cell, regressed.features], 2), w, summary)
        tokens = self.row_norm(tokens.float())
        first = regressed.law
        law = (first.log() + torch.unflatten(self.law(tokens), 2, (2, 4)).to(first.dtype)).log_softmax(-1)
        # Nothing flows back from the formulas into the rows: where a sharp peak lies has gradients that drown all else.
        exact = Rows(*(wide(part) for part in rows))
        chance = wide(regressed.propensity)
        by_layer = estimate(wide(first), chance, exact, wide(noise))
        by_rows = estimate(wide(law.detach().exp()), chance, exact, wide(noise))
        # Adjusting for covariates takes away part of the variance, seldom nearly all.
        unit = torch.maximum(by_layer.se, 0.15 * plain.se)
        steps = [(by_layer.one_step - by_layer.plug_in) / unit, (by_rows.plug_in - by_layer.plug_in) / unit]
        apart = (by_rows.one_step - by_layer.one_step) / unit
        news = [by_layer.plug_in, unit.log() / 9 + 1, (steps[0] / 3).clamp(-3, 3)]
        # The network's own law errs by an amount, not by units: at many rows a large number here would tell nothing.
        news += [(step / 3).clamp(-0.5, 0.5) for step in (steps[1], apart)]
        doubt = doubts(wide(first), chance, exact, unit)
        news += [regressed.shares.flatten(1), doubt.news]
        firm = steady(wide(first), chance, exact, wide(noise))
        news.append(firm.news(by_layer.one_step, unit))
        share = (w / w.sum(1, keepdim=True).clamp(min=1e-30)).unsqueeze(1)
        mean = (share @ tokens).squeeze(1)
        pooled = torch.cat([mean, latents.float().mean(1), *(part.float() for part in news)], 1)
        firm_steps = (firm.ends - by_layer.plug_in.unsqueeze(1)) / unit.unsqueeze(1)
        every = torch.cat([torch.stack(steps, 1), firm_steps], 1)
        return RowAnswer(Reading(pooled, by_layer.plug_in, unit, every, doubt.spread), first, law, chance)

    def settle(self, reading: Reading, summary: Tensor, counts: Tensor, worth: Tensor | float = 1.0) -> Settled:
        """counts (B,8) of people, worth (B,1) the share of them that a design leaves."""
        edge = 2 * self.embed.out_features
        gathered = self.gather(torch.cat([reading.pooled[:, :edge], summary], 1))
        pooled = self.pool(gathered + self.heed(reading.pooled[:, edge:]))
        weights = PACE * wide(self.trust(pooled.detach())).view(-1, 1 + STEPS, QUANTITIES)
        ahead = weights.new_tensor([0.0, TRUST] + [0.0] * (STEPS - 1)).view(1, -1, 1)
        mix = (weights + ahead).softmax(1)
        anchor = reading.plug_in + reading.unit * (mix[:, 1:] * reading.steps).sum(1).clamp(-40, 40)
        # The unit is the formula's: a learnt factor and the shape of the masses can undo each other, and did. But
        # nothing is known to less than about a person, and the factors of CALM were measured after all was learnt.
        arms = torch.unflatten(wide(counts), 1, (2, 4)).sum(-1)
        unit = torch.maximum(reading.unit, PERSON / arms.sum(1, keepdim=True).clamp(min=1))
        grid = Grid(anchor, unit * unit.new_tensor(CALM))
        # Fewer people have larger units: what decides is the root of how many are left.
        fewest = arms.amin(1, keepdim=True) * worth**0.5
        firm = reading.plug_in.unsqueeze(1) + reading.unit.unsqueeze(1) * reading.steps[:, -STEADY:]
        return Settled(pooled, grid, Limit.of(firm, unit, reading.spread, fewest))

    def _attend(self, inputs: Tensor, w: Tensor, summary: Tensor) -> tuple[Tensor, Tensor]:
        """Rows and latents after all blocks."""
        rows: Tensor = self.embed(inputs)
        latents = self.latents.expand(rows.shape[0], -1, -1) + self.condition(summary).unsqueeze(1)
        scores = log_weights(w)
        for block in self.blocks:
            rows, latents = block(rows, latents, scores)
        return rows, latents
