"""The loss of the paper on orbit labels, and the teachers beside it.

Everything is scored in canonical coding: each table is recoded once, with its labels, before the network sees it. That
and all that is random happens where the tables were drawn, on the CPU; then they go to the network's device.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ivicl.learn.network import prepare
from ivicl.learn.network.model import IVNetwork, Prediction, shares
from ivicl.learn.prior import CountBatch, TableBatch
from ivicl.learn.scoring import LossWeights, bin_of
from ivicl.methods.pretrained.streaming.constants import CODINGS


@dataclass(frozen=True)
class Labels:
    """Canonical labels: draws (B,R) of the effect's posterior, and the two ends (B,)."""

    draws: Tensor
    lower: Tensor
    upper: Tensor

    def to(self, device: torch.device) -> Labels:
        return Labels(self.draws.to(device), self.lower.to(device), self.upper.to(device))

    def mirrored(self, mirror: Tensor) -> Labels:
        """Recode where mirror (B,) is 1: the effect changes sign and the ends change places."""
        sign = 1 - 2 * mirror
        return Labels(
            self.draws * sign.unsqueeze(1),
            torch.where(mirror > 0, -self.upper, self.lower),
            torch.where(mirror > 0, -self.lower, self.upper),
        )


def score(prediction: Prediction, labels: Labels) -> tuple[Tensor, Tensor]:
    """Mean negative log probability of the effect's labels, and of the ends' (their mean), in nats."""
    effect = -prediction.effect.gather(1, bin_of(labels.draws)).mean()
    lower = -prediction.lower.gather(1, bin_of(labels.lower).unsqueeze(1)).mean()
    upper = -prediction.upper.gather(1, bin_of(labels.upper).unsqueeze(1)).mean()
    return effect, 0.5 * (lower + upper)


def draw_coding(z: Tensor, t: Tensor, y: Tensor, w: Tensor, network: IVNetwork, rng: torch.Generator) -> Tensor:
    """(B,3) flips of t, y, z: the canonical coding, or one of the tied ones by their weights."""
    weights = prepare.coding_weights(z, t, y, w, network.config.tie_ramp)
    if not network.config.canonical_coding:
        weights = torch.zeros_like(weights)
        weights[:, 0] = 1
    choice = torch.multinomial(weights, 1, generator=rng).squeeze(1)
    return torch.tensor(CODINGS, dtype=torch.float32, device=z.device)[choice]


def count_loss(network: IVNetwork, batch: CountBatch, weights: LossWeights, rng: torch.Generator) -> dict[str, Tensor]:
    """Loss of the summary path on tables without covariates."""
    counts = batch.counts.flatten(1)
    z, t, y = ((torch.arange(8) // k % 2).float().expand(len(counts), 8) for k in (4, 2, 1))
    flips = draw_coding(z, t, y, counts, network, rng)
    mask = (2 * flips[:, 0] + flips[:, 1] + 4 * flips[:, 2]).long()
    canonical = counts.gather(1, torch.arange(8).unsqueeze(0) ^ mask.unsqueeze(1)).float()
    labels = Labels(batch.draws, batch.lower, batch.upper).mirrored((flips[:, 0] - flips[:, 1]).abs())
    effect, ends = score(network.from_counts(canonical.to(network.device)), labels.to(network.device))
    return {"loss": effect + weights.ends * ends, "effect": effect.detach(), "ends": ends.detach()}


def table_loss(
    network: IVNetwork, batch: TableBatch, weights: LossWeights, rng: torch.Generator, one_label: bool = False
) -> dict[str, Tensor]:
    """Loss on tables with covariates; `one_label` scores the one true effect, which would show a broken symmetry."""
    flips = draw_coding(batch.z, batch.t, batch.y, batch.w, network, rng)
    flip_t, flip_y, flip_z = (flips[:, k : k + 1] for k in range(3))
    draws = batch.effect.unsqueeze(1) if one_label else batch.orbit
    labels = Labels(draws, batch.lower, batch.upper).mirrored((flip_t - flip_y).abs().squeeze(1))
    recoded = replace(
        batch,
        x=prepare.standardise(batch.x, batch.w),
        z=(batch.z - flip_z).abs(),
        t=(batch.t - flip_t).abs(),
        y=(batch.y - flip_y).abs(),
    ).to(network.device)
    prediction = network.canonical(recoded.x, recoded.z, recoded.t, recoded.y, recoded.w)
    effect, ends = score(prediction, labels.to(network.device))
    law = law_divergence(prediction, recoded, flips.to(network.device))
    loss = effect + weights.ends * ends + weights.law * law
    return {"loss": loss, "effect": effect.detach(), "ends": ends.detach(), "law": law.detach()}


def law_divergence(prediction: Prediction, batch: TableBatch, flips: Tensor) -> Tensor:
    """Mean over rows and arms of KL(true law of (t, y) given z, x || the row's), in nats; `batch.law` is as drawn."""
    assert prediction.law is not None and prediction.law_tables is not None
    chosen = prediction.law_tables
    if not len(chosen):
        return prediction.effect.new_zeros(())
    flips = flips[chosen]
    mask = (2 * flips[:, 0] + flips[:, 1] + 4 * flips[:, 2]).long()
    index = torch.arange(8, device=mask.device).unsqueeze(0) ^ mask.unsqueeze(1)
    truth = batch.law[chosen].flatten(2).gather(2, index.unsqueeze(1).expand(-1, batch.law.shape[1], -1))
    truth = torch.unflatten(truth, 2, (2, 4)).clamp(min=1e-9)
    divergence = (truth * (truth.log() - prediction.law)).sum(-1).mean(-1)
    mean: Tensor = (divergence * shares(batch.w[chosen]).squeeze(1)).sum(1).mean()
    return mean
