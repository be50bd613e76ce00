"""What the network is taught, in nats: the effect, the quantities' log densities, and the law at the rows.

Everything is scored in canonical coding: each table is recoded once, with its labels, before the network sees it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ivicl.learn.network import prepare, recode
from ivicl.learn.network.ends import LOWEST, QUANTITIES
from ivicl.learn.network.grids import log_density
from ivicl.learn.network.model import IVNetwork, Prediction
from ivicl.learn.network.precision import moved
from ivicl.learn.network.summary import Moments
from ivicl.learn.prior import CountBatch, TableBatch
from ivicl.learn.prior.batches import Labels
from ivicl.learn.scoring import LossWeights, bin_of
from ivicl.methods.pretrained.streaming.constants import CODINGS

OTHERS = 0.5
"""Weight of the other estimands' ends, beside that of the effect's."""


def draw_coding(z: Tensor, t: Tensor, y: Tensor, w: Tensor, ramp: float, rng: torch.Generator) -> Tensor:
    """(B,) the canonical coding, or one of the tied ones by their weights: an index of CODINGS."""
    weights = prepare.coding_weights(z, t, y, w, ramp)
    return torch.multinomial(weights, 1, generator=rng).squeeze(1)


def flips_of(coding: Tensor) -> Tensor:
    """(B,3) flips of t, y, z."""
    return torch.tensor(CODINGS, dtype=torch.float32)[coding]


def score(
    prediction: Prediction,
    labels: Labels,
    coding: Tensor,
    told: Tensor,
    weights: LossWeights,
) -> dict[str, Tensor]:
    """Negative log probabilities of the labels, recoded: of the effect's draws, the ends of the effect, the others.

    told (B,) is 1 where nobody defies: there the movers' effect is asked for too.
    """
    device = prediction.effect.device
    flips = flips_of(coding)
    sign = 1 - 2 * (flips[:, 0] - flips[:, 1]).abs()
    effect = -prediction.effect.gather(1, bin_of(labels.draws * sign.unsqueeze(1)).to(device)).mean()
    truth = recode.values(torch.cat([labels.ends, labels.late.unsqueeze(1)], 1).double(), coding)
    lowest = prediction.grid.anchor.new_tensor(LOWEST)
    density = log_density(prediction.masses, prediction.grid, lowest, moved(truth, device)).float()  # (B,Q)
    ends, others = -density[:, :2].mean(), -density[:, 2:10].mean()
    late = -(density[:, 10] * moved(told, device).to(density)).mean()
    loss = weights.effect * effect + weights.ends * ends + OTHERS * weights.ends * (others + late)
    parts = {"effect": effect, "ends": ends, "others": others, "late": late}
    return {"loss": loss, **{name: value.detach() for name, value in parts.items()}}


def count_loss(network: IVNetwork, batch: CountBatch, weights: LossWeights, rng: torch.Generator) -> dict[str, Tensor]:
    """Loss of the summary path on tables without covariates."""
    counts = batch.counts.flatten(1)
    size = len(counts)
    z, t, y = ((torch.arange(8) // k % 2).float().expand(size, 8) for k in (4, 2, 1))
    coding = draw_coding(z, t, y, counts, network.config.tie_ramp, rng)
    flips = flips_of(coding)
    mask = (2 * flips[:, 0] + flips[:, 1] + 4 * flips[:, 2]).long()
    turned = counts.gather(1, torch.arange(8).unsqueeze(0) ^ mask.unsqueeze(1))
    spread = batch.spread.flatten(1).gather(1, torch.arange(4).unsqueeze(0) ^ (mask // 2).unsqueeze(1))
    binary = torch.full((size, 1), float(not batch.form.amounts))
    flag = torch.full((size, 1), float(batch.form.no_defiers))
    parts = (turned, spread, binary.double(), flag.double())
    moments = Moments(*(moved(part, network.device) for part in parts))
    return score(network.from_moments(moments), batch, coding, flag[:, 0], weights)


def table_loss(network: IVNetwork, batch: TableBatch, weights: LossWeights, rng: torch.Generator) -> dict[str, Tensor]:
    """Loss on tables with covariates."""
    prediction, coding = predicted(network, batch, rng)
    found = score(prediction, batch, coding, torch.full((len(coding),), float(batch.form.no_defiers)), weights)
    law = law_divergence(prediction, batch, coding)
    return found | {"loss": found["loss"] + weights.law * law, "law": law.detach()}


def predicted(network: IVNetwork, batch: TableBatch, rng: torch.Generator) -> tuple[Prediction, Tensor]:
    """The answer for tables with covariates, in the canonical coding (B,)."""
    coding = draw_coding(batch.z, batch.t, batch.y, batch.w, network.config.tie_ramp, rng)
    flip_t, flip_y, flip_z = (flips_of(coding)[:, k : k + 1] for k in range(3))
    size = len(batch.z)
    inputs = (
        prepare.standardise(batch.x, batch.w), (batch.z - flip_z).abs(), (batch.t - flip_t).abs(),
        (batch.y - flip_y).abs(), batch.v, batch.w, torch.full((size, 1), float(batch.form.no_defiers)),
        torch.ones(size, QUANTITIES),
    )  # fmt: skip
    return network.canonical(*(moved(part, network.device) for part in inputs)), coding


def law_divergence(prediction: Prediction, batch: TableBatch, coding: Tensor) -> Tensor:
    """Mean over rows and arms of KL(true soft law given z, x || the row's), in nats; `batch.law` is as drawn."""
    assert prediction.law is not None and prediction.law_tables is not None
    chosen = prediction.law_tables.cpu()
    flips = flips_of(coding)[chosen]
    mask = (2 * flips[:, 0] + flips[:, 1] + 4 * flips[:, 2]).long()
    index = torch.arange(8).unsqueeze(0) ^ mask.unsqueeze(1)
    truth = batch.law[chosen].flatten(2).gather(2, index.unsqueeze(1).expand(-1, batch.law.shape[1], -1))
    truth = torch.unflatten(truth, 2, (2, 4)).clamp(min=1e-9).to(prediction.law)
    divergence = (truth * (truth.log() - prediction.law)).sum(-1).mean(-1)
    w = batch.w[chosen].to(divergence)
    share = w / w.sum(1, keepdim=True).clamp(min=1e-30)
    return (divergence * share).sum(1).mean().float()
