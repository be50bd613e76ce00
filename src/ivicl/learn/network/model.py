"""The network: raw data in, three log posteriors out, in the caller's own coding. Reads from top to bottom.

B tables, N rows, D covariates, P kept covariates, E width, M latents, S summary width, K bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ivicl.learn.network import prepare
from ivicl.learn.network.config import NetworkConfig
from ivicl.learn.network.groups import ParameterGroup, parameter_group
from ivicl.learn.network.head import Anchors, make_head, write_bins
from ivicl.learn.network.precision import wide
from ivicl.learn.network.regression import RegressionLayer
from ivicl.learn.network.rows import FullBlock, InducedBlock, log_weights
from ivicl.learn.network.summary import Summary, ends_of, sampling_scale, smoothed_law
from ivicl.learn.network.vertices import CornerTable, Spikes
from ivicl.methods.pretrained.streaming.constants import CODINGS


@dataclass
class Prediction:
    """Log posteriors (B,K) of the effect and of the identified set's ends, and what the rows believe."""

    effect: Tensor
    lower: Tensor
    upper: Tensor
    law: Tensor | None = None
    """(B',N,2,4) log p(t,y|z,x) at each row."""
    law_tables: Tensor | None = None
    """(B',) the tables that `law` is for: those with a covariate that varies."""


Logits = tuple[Tensor, Tensor, Tensor]


class CovariatePath(nn.Module):
    """What the covariates add: rows -> a pooled representation (B,C), and the law at each row."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        width = config.width
        self.config = config
        self.bf16 = False
        """Set by the trainer: the rows' blocks, and nothing else, compute in bf16."""
        self.regression = None
        inputs = config.max_features + 8
        if config.regression != "none":
            learned = config.regression == "learned"
            self.regression = RegressionLayer(
                config.max_features, config.regression_features, config.penalties, learned, config.pseudo_count
            )
            inputs += self.regression.outputs
        self.embed = nn.Linear(inputs, width)
        block = InducedBlock if config.attention == "induced" else FullBlock
        self.blocks = nn.ModuleList(block(width, config.heads, config.row_hidden) for _ in range(config.depth))
        pooled = width
        if config.attention == "induced":
            self.latents = nn.Parameter(torch.randn(config.latents, width))
            pooled += width
        if config.summary_width:
            self.condition = nn.Linear(config.summary_width, width)
            pooled += config.summary_width + 3
        self.row_norm = nn.LayerNorm(width)
        self.law = nn.Linear(width, 8)
        nn.init.zeros_(self.law.weight)
        nn.init.zeros_(self.law.bias)
        if config.summary_width:
            self.pool = nn.Sequential(
                nn.Linear(pooled, config.covariate_width), nn.GELU(approximate="tanh"),
                nn.Linear(config.covariate_width, config.covariate_width), nn.LayerNorm(config.covariate_width),
            )  # fmt: skip

    def forward(
        self, x: Tensor, cell: Tensor, w: Tensor, counts: Tensor, summary: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """x (B,N,P) prepared, cell (B,N,8), w (B,N), counts (B,8), summary (B,S).

        Returns the pooled representation, the law (B,N,2,4) of each row in logs, and the law it started from.
        Outside training the laws are in double where there is a regression layer, as the anchors made of them must be.
        """
        parts = [x, cell]
        prior = smoothed_law(counts, self.config.pseudo_count).flatten(2).log()
        prior = prior.unsqueeze(1).expand(-1, x.shape[1], -1, -1)
        if self.regression is not None:
            arm = torch.unflatten(cell, 2, (2, 4)).sum(-1) * w.unsqueeze(-1)
            outcome = cell[:, :, :4] + cell[:, :, 4:]
            fitted, law = self.regression(x, outcome, arm)
            parts.append(fitted)
            prior = law.log()
        with torch.autocast(x.device.type, torch.bfloat16, enabled=self.bf16):
            rows, latents = self._attend(torch.cat(parts, 2), w, summary)
        rows = self.row_norm(rows.float())
        law = (prior + torch.unflatten(self.law(rows), 2, (2, 4)).to(prior.dtype)).log_softmax(-1)
        mean = (shares(w) @ rows).flatten(1)
        if summary is None:
            return mean, law, prior
        lower, upper = (end.float() for end in row_ends(law.detach(), w))
        extra = [latents.float().mean(1)] if self.config.attention == "induced" else []
        return self.pool(torch.cat([mean, *extra, summary, lower, upper, upper - lower], 1)), law, prior

    def _attend(self, inputs: Tensor, w: Tensor, summary: Tensor | None) -> tuple[Tensor, Tensor]:
        """Rows and latents after all blocks."""
        rows = self.embed(inputs)
        latents = rows.new_zeros(())
        if self.config.attention == "induced":
            latents = self.latents.expand(rows.shape[0], -1, -1)
            if summary is not None:
                latents = latents + self.condition(summary).unsqueeze(1)
        scores = log_weights(w)
        for block in self.blocks:
            rows, latents = block(rows, latents, scores)
        return rows, latents


def shares(w: Tensor) -> Tensor:
    """(B,1,N) weights that sum to one."""
    return (w / w.sum(1, keepdim=True).clamp(min=1e-30)).unsqueeze(1)


def row_ends(law: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Mean over rows of the conditional ends: (B,1) each, from law (B,N,2,4) in logs and weights (B,N)."""
    share = shares(w.to(law.dtype))
    lower, upper = ends_of(torch.unflatten(law.exp(), -1, (2, 2)))
    return (share @ lower.unsqueeze(-1)).flatten(1), (share @ upper.unsqueeze(-1)).flatten(1)


class IVNetwork(nn.Module):
    """`forward` is the exported graph; `canonical` is its inside, which training calls on one coding a table."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.covariates = CovariatePath(config)
        self.summary: Summary | None = None
        if config.summary_width:
            self.corners = CornerTable(config.gamma)
            self.summary = Summary(config.summary_width, config.summary_depth, config.pseudo_count)
            self.summary_head = make_head(config.summary_width, config.anchored_head, zero=False)
            self.covariate_head = make_head(config.covariate_width, config.anchored_head, zero=True)
            self.anchor = nn.Linear(config.covariate_width, 2)
            nn.init.zeros_(self.anchor.weight)
            nn.init.zeros_(self.anchor.bias)
        else:
            self.linear_head = make_head(config.width, anchored=False, zero=False)

    def parameter_groups(self) -> dict[str, ParameterGroup]:
        """Every trained parameter, in exactly one group: a new head is a new entry."""
        if self.summary is None:
            return {"rows": parameter_group(self, "tables", self.covariates, self.linear_head)}
        return {
            "summary": parameter_group(self, "counts", self.summary, self.summary_head),
            "rows": parameter_group(self, "tables", self.covariates, self.covariate_head, self.anchor),
        }

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def counts_of(self, cell: Tensor, w: Tensor) -> Tensor:
        """(B,8) people in each cell, scaled down to the training range where there are more."""
        counts = (wide(cell) * wide(w).unsqueeze(-1)).sum(1)
        total = counts.sum(1, keepdim=True).clamp(min=1e-30)
        return (counts * (self.config.max_count / total).clamp(max=1)).float()

    def from_counts(self, counts: Tensor) -> Prediction:
        """The summary path alone: the whole answer for a table without covariates. counts (B,8), canonical coding."""
        assert self.summary is not None
        spikes = self.spikes_of(counts)
        raw = self.summary_head(self.summary(counts, spikes))
        return _normalised(*self._written(raw, self._count_anchors(counts), spikes))

    def spikes_of(self, counts: Tensor) -> Spikes | None:
        """Where a table without covariates would have its spikes."""
        if not self.config.spikes:
            return None
        law = smoothed_law(counts, self.config.pseudo_count)
        spikes: Spikes = self.corners(law, counts.view(-1, 2, 4).sum(-1))
        return spikes

    def _count_anchors(self, counts: Tensor) -> Anchors:
        counts = wide(counts)
        lower, upper = ends_of(smoothed_law(counts, self.config.pseudo_count))
        return Anchors(lower.unsqueeze(1), upper.unsqueeze(1), sampling_scale(counts))

    def _written(self, raw: Sequence[Tensor], anchors: Anchors, spikes: Spikes | None) -> Logits:
        effect, lower, upper = raw
        if not self.config.anchored_head:
            return effect, lower, upper
        return write_bins(effect, lower, upper, anchors, spikes)

    def canonical(self, x: Tensor, z: Tensor, t: Tensor, y: Tensor, w: Tensor) -> Prediction:
        """x (B,N,D) standardised; z, t, y in the coding to answer in."""
        cell = prepare.cells(z, t, y)
        counts = self.counts_of(cell, w)
        kept = prepare.order_covariates(x, cell, w, self.config.max_features)
        if self.summary is None:
            pooled, law, _ = self.covariates(kept, cell, w.float(), counts, None)
            effect, lower, upper = self.linear_head(pooled)
            return _normalised(effect, lower, upper, law, torch.arange(x.shape[0], device=x.device))
        # The summary path learns from count tables alone: gradients of a step's few row tables would only be noise.
        spikes = self.spikes_of(counts)
        hidden = self.summary(counts, spikes).detach()
        base = [raw.detach() for raw in self.summary_head(hidden)]
        # With no covariate that varies, the summary path alone answers.
        varies = kept.abs().amax((1, 2)) > 0
        place = torch.arange(varies.shape[0], device=x.device)
        # Some runtimes fail on an empty batch: where no table has covariates, the first goes along and is not used.
        chosen = (varies | ((place == 0) & ~varies.any())).nonzero(as_tuple=True)[0]
        rows = (kept[chosen], cell[chosen], w[chosen].float(), counts[chosen], hidden[chosen])
        pooled, law, first_law = self.covariates(*rows)
        extra = self.covariate_head(pooled)
        gate = varies.float().unsqueeze(1)
        back = (place.unsqueeze(1) == chosen.unsqueeze(0)).float() * gate
        moved = self._moved_anchors(pooled, law, first_law, w[chosen], counts[chosen])
        plain = self._count_anchors(counts)
        anchors = Anchors(*(wide(back) @ m + (1 - gate) * p for m, p in zip(moved, plain, strict=True)))
        raw = [b + back @ e for b, e in zip(base, extra, strict=True)]
        return _normalised(*self._written(raw, anchors, spikes), law, chosen)

    def _moved_anchors(self, pooled: Tensor, law: Tensor, first_law: Tensor, w: Tensor, counts: Tensor) -> Anchors:
        """Where the grids lie when there are covariates: at the ends of the regression layer's law, which is right for
        many people, moved towards those of the rows' own law, and with a wider unit, by as much as has been learnt.

        Nothing flows back from here into the rows: where a sharp peak lies has gradients that would drown all else.
        """
        weights = wide(self.anchor(pooled.detach()))
        trust = (weights[:, :1] - 2).sigmoid()
        first, own = row_ends(first_law.detach(), w), row_ends(law.detach(), w)
        lower, upper = (f + trust * (o - f) for f, o in zip(first, own, strict=True))
        return Anchors(lower, upper, sampling_scale(wide(counts)) * (2 * weights[:, 1:].tanh()).exp())

    def forward(self, x: Tensor, z: Tensor, t: Tensor, y: Tensor, w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """x (B,N,D) float64; z, t, y, w (B,N) float32. Log posteriors (B,K) of effect, lower, upper."""
        standard = prepare.standardise(x, w)
        weights = prepare.coding_weights(z, t, y, w, self.config.tie_ramp)
        if not self.config.canonical_coding:
            weights = torch.zeros_like(weights)
            weights[:, 0] = 1
        # One copy of the table for each coding that counts: one, except near ties.
        table, coding = (weights > 0).nonzero(as_tuple=True)
        flips = torch.tensor(CODINGS, dtype=z.dtype, device=z.device)[coding]
        flip_t, flip_y, flip_z = (flips[:, k : k + 1] for k in range(3))
        answer = self.canonical(
            standard[table], _flip(z[table], flip_z), _flip(t[table], flip_t), _flip(y[table], flip_y), w[table]
        )
        # A flip of t or of y mirrors the effect and swaps the ends; both together change nothing.
        mirrored = (flip_t - flip_y).abs()
        effect = torch.lerp(answer.effect.exp(), answer.effect.exp().flip(1), mirrored)
        lower = torch.lerp(answer.lower.exp(), answer.upper.exp().flip(1), mirrored)
        upper = torch.lerp(answer.upper.exp(), answer.lower.exp().flip(1), mirrored)
        owner = (table.unsqueeze(0) == torch.arange(x.shape[0], device=x.device).unsqueeze(1)).float()
        mix = owner * weights[table, coding].unsqueeze(0)
        return tuple((mix @ p).clamp(min=1e-30).log() for p in (effect, lower, upper))  # type: ignore[return-value]


def _flip(values: Tensor, flip: Tensor) -> Tensor:
    return (values - flip).abs()


def _normalised(
    effect: Tensor, lower: Tensor, upper: Tensor, law: Tensor | None = None, law_tables: Tensor | None = None
) -> Prediction:
    return Prediction(effect.log_softmax(1), lower.log_softmax(1), upper.log_softmax(1), law, law_tables)
