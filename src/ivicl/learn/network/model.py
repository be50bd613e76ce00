"""The network: merged rows in, posteriors of the effect and of eleven quantities out, in the caller's coding.

B tables, N rows, D covariates, P kept covariates, S summary width, Q quantities (`ends`), M cells (`grids`), K bins.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ivicl.learn.network import prepare, recode
from ivicl.learn.network.config import NetworkConfig
from ivicl.learn.network.ends import LOWEST, Rows
from ivicl.learn.network.grids import Grid, log_masses, mixed
from ivicl.learn.network.groups import ParameterGroup, parameter_group
from ivicl.learn.network.head import Heads, write_effect
from ivicl.learn.network.outward import Limit
from ivicl.learn.network.precision import wide
from ivicl.learn.network.residual import smoothed_law
from ivicl.learn.network.row_laws import CanonicalRows, row_laws
from ivicl.learn.network.rows import CovariatePath, Reading
from ivicl.learn.network.summary import (
    CountEstimates,
    Moments,
    Summary,
    count_estimates,
    features,
    moments_of,
    noise,
    spikes_count,
)
from ivicl.learn.network.vertices import CornerTable, Spikes
from ivicl.methods.pretrained.streaming.constants import CODINGS


@dataclass
class Prediction:
    """Of B tables, in the coding they were given in."""

    effect: Tensor
    """(B,K) log probabilities of the effect's bins."""
    grid: Grid
    """(B,Q) where the quantities' cells lie."""
    masses: Tensor
    """(B,Q,M) log masses of these cells."""
    law: Tensor | None = None
    """(B',N,2,4) log soft law at each row."""
    chance: Tensor | None = None
    """(B',N) P(Z=1 | x)."""
    law_tables: Tensor | None = None
    """(B',) the tables that `law` is for: those with a covariate that varies."""
    rows: CanonicalRows | None = None
    """The same for those who ask what is known of each row."""
    reading: Reading | None = None
    """What the rows of these tables came to, with their moments, for those who keep it (`training.kept`)."""
    moments: Moments | None = None


class IVNetwork(nn.Module):
    """`forward` is the exported graph; `canonical` and `from_moments` are its inside, which training calls."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.corners = CornerTable(config.gamma)
        self.summary = Summary(config.summary_width, config.summary_depth)
        self.summary_heads = Heads(config.summary_width, zero=False)
        self.covariates = CovariatePath(config)
        self.covariate_heads = Heads(config.covariate_width, zero=True)

    def parameter_groups(self) -> dict[str, ParameterGroup]:
        """Every trained parameter, in exactly one group."""
        return {
            "summary": parameter_group(self, "counts", self.summary, self.summary_heads),
            "rows": parameter_group(self, "tables", self.covariates, self.covariate_heads),
        }

    def teach_pool_alone(self) -> None:
        """What comes before the pool stays as it is: tables may then be read once and kept.

        So do the heads, which are ten times as large, and what the pool takes from rows and counts: these would learn
        kept tables by heart. What the formulas say of a table is too little to know it by.
        """
        taught = (self.covariates.heed, self.covariates.pool, self.covariates.trust)
        own = {id(parameter) for part in taught for parameter in part.parameters()}
        for parameter in self.parameters():
            parameter.requires_grad_(id(parameter) in own)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def lowest(self, like: Tensor) -> Tensor:
        return like.new_tensor(LOWEST)

    def from_moments(self, moments: Moments) -> Prediction:
        """The summary path alone: the whole answer for a table without covariates."""
        hidden, estimates, spikes = self._summarised(moments)
        grid = Grid(estimates.value, _possible(estimates.se))
        return self._written(self.summary_heads(hidden), grid, grid, moments, spikes)

    def _summarised(self, moments: Moments) -> tuple[Tensor, CountEstimates, Spikes]:
        counts = moments.counts.float()
        spikes = self.corners(smoothed_law(counts, self.config.pseudo_count), counts.view(-1, 2, 4).sum(-1))
        estimates = count_estimates(moments, self.config.pseudo_count)
        hidden = self.summary(features(moments, estimates, spikes, self.config.pseudo_count))
        return hidden, estimates, spikes

    def _written(
        self,
        raw: tuple[Tensor, Tensor],
        grid: Grid,
        about_effect: Grid,
        moments: Moments,
        spikes: Spikes,
        limit: Limit | None = None,
    ) -> Prediction:
        """`about_effect`: the grid as the effect reads it."""
        spiked = spikes_count(moments)
        shown = None if self.training and not spiked.any() else spikes
        effect = write_effect(raw[0], about_effect, shown, spiked)
        return Prediction(effect, grid, log_masses(raw[1], grid, self.lowest(grid.anchor), limit))

    def canonical(
        self, x: Tensor, z: Tensor, t: Tensor, y: Tensor, v: Tensor, w: Tensor, no_defiers: Tensor, design: Tensor
    ) -> Prediction:
        """x (B,N,D) standardised; z, t, y in the coding to answer in; no_defiers (B,1), design (B,Q)."""
        cell = soft_cells(z, t, y)
        counts, spread, binary = moments_of(cell, y, v, w, self.config.max_count)
        # Clusters or weights make the people worth fewer: the summary path reads the smaller number of the effect's.
        smaller = design[:, :2].amin(1, keepdim=True)
        worth = smaller.clamp(max=1)
        moments = Moments(counts * wide(worth), spread, binary, wide(no_defiers))
        kept, score = prepare.order_covariates(x, cell, w, self.config.max_features)
        # The summary path learns from count tables alone: gradients of a step's few row tables would only be noise.
        with torch.no_grad():
            hidden, estimates, spikes = self._summarised(moments)
            base = self.summary_heads(hidden)
        # `_widened` allows for the design once and for all: the standard error is that of the people there are.
        estimates = estimates._replace(se=estimates.se * wide(worth).sqrt())
        varies = kept.abs().amax((1, 2)) > 0
        place = torch.arange(varies.shape[0], device=x.device)
        # Some runtimes fail on an empty batch: where no table has covariates, the first goes along and is not used.
        chosen = (varies | ((place == 0) & ~varies.any())).nonzero(as_tuple=True)[0]
        rows = Rows(cell[chosen], v[chosen], w[chosen])
        plain = CountEstimates(estimates.value[chosen], estimates.se[chosen])
        found = self.covariates(kept[chosen], score[chosen], rows, hidden[chosen], plain, noise(counts)[chosen])
        there = self.covariates.settle(found.reading, hidden[chosen], counts[chosen], wide(worth)[chosen])
        extra = self.covariate_heads(there.pooled)
        gate = varies.float().unsqueeze(1)
        back = (place.unsqueeze(1) == chosen.unsqueeze(0)).float() * gate
        anchor, unit = (
            wide(back) @ moved + (1 - wide(gate)) * own
            for moved, own in zip(there.grid, (estimates.value, estimates.se), strict=True)
        )
        limit = Limit(*(wide(back) @ part for part in there.limit))  # nowhere relied on without covariates
        raw = (base[0] + back @ extra[0], base[1] + torch.einsum("bc,cqm->bqm", back, extra[1]))
        grid, about_effect = (Grid(anchor, _widened(unit, factor)) for factor in (design, smaller))
        answer = self._written(raw, grid, about_effect, moments, spikes, limit)
        answer.law, answer.chance, answer.law_tables = found.law, found.chance, chosen
        answer.rows = CanonicalRows(found.layer, found.law, found.chance, back, counts)
        answer.reading, answer.moments = found.reading, Moments(*(part[chosen] for part in moments))
        return answer

    def from_reading(self, reading: Reading, moments: Moments) -> Prediction:
        """The answer for tables with covariates whose rows were read before: no design, every table varies."""
        with torch.no_grad():
            hidden, _, spikes = self._summarised(moments)
            base = self.summary_heads(hidden)
        pooled, grid, limit = self.covariates.settle(reading, hidden, moments.counts)
        extra = self.covariate_heads(pooled)
        grid = Grid(grid.anchor, _possible(grid.unit))
        return self._written((base[0] + extra[0], base[1] + extra[1]), grid, grid, moments, spikes, limit)

    def forward(
        self, x: Tensor, z: Tensor, t: Tensor, y: Tensor, v: Tensor, w: Tensor, no_defiers: Tensor, design: Tensor
    ) -> tuple[Tensor, ...]:
        """x (B,N,D) float64; z, t, y, v, w (B,N) float32, y and v of the row's people; no_defiers (B,1); design (B,Q).

        Log probabilities (B,K) of the effect; anchors and units (B,Q) float64 and log masses (B,Q,M); and, for those
        who ask, the parts of `RowLaws`.
        """
        standard = prepare.standardise(x, w)
        weights = prepare.coding_weights(z, t, y, w, self.config.tie_ramp)
        # One copy of the table for each coding that counts: one, except near ties.
        table, coding = (weights > 0).nonzero(as_tuple=True)
        flips = torch.tensor(CODINGS, dtype=z.dtype, device=z.device)[coding]
        flip_t, flip_y, flip_z = (flips[:, k : k + 1] for k in range(3))
        answer = self.canonical(
            standard[table], (z[table] - flip_z).abs(), (t[table] - flip_t).abs(), (y[table] - flip_y).abs(),
            v[table], w[table], no_defiers[table], recode.pick(design[table], coding),
        )  # fmt: skip
        owner = (table.unsqueeze(0) == torch.arange(x.shape[0], device=x.device).unsqueeze(1)).float()
        share = owner * weights[table, coding].unsqueeze(0)
        mirrored = (flip_t - flip_y).abs()
        effect = torch.lerp(answer.effect.exp(), answer.effect.exp().flip(1), mirrored)
        grid = Grid(recode.values(answer.grid.anchor, coding), recode.pick(answer.grid.unit, coding))
        masses, reference = mixed(recode.masses(answer.masses, coding), grid, wide(share))
        assert answer.rows is not None
        each = row_laws(answer.rows, flips, share, self.config.pseudo_count)
        return (share @ effect).clamp(min=1e-30).log(), reference.anchor, reference.unit, masses, *each


def soft_cells(z: Tensor, t: Tensor, y: Tensor) -> Tensor:
    """(B,N,8) the row's weight in the cells [z][t][y]: 1-y and y at its own z and t."""
    own = (2 * z + t).unsqueeze(-1) == torch.arange(4, device=z.device, dtype=z.dtype)
    return (own.to(y.dtype).unsqueeze(-1) * torch.stack([1 - y, y], -1).unsqueeze(2)).flatten(2)


def _widened(unit: Tensor, design: Tensor) -> Tensor:
    """A design that is worth a share f of its people makes standard errors 1/sqrt(f) as large; within what can be."""
    return _possible(unit / wide(design).clamp(min=1e-6).sqrt())


def _possible(unit: Tensor) -> Tensor:
    return unit.clamp(min=1e-7, max=0.5)
