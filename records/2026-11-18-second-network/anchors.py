"""How far the formulas' ends are from the truth, in their own standard errors, on tables of the prior.

Nothing learnt takes part: the regression layer, the plug-in and the one-step end. Positive is wide, negative narrow.
    python records/2026-11-18-second-network/anchors.py
"""

import torch

from ivicl.learn.architectures import build
from ivicl.learn.network import prepare
from ivicl.learn.network.precision import wide
from ivicl.learn.prior import Form, generator_for, sample_rows
from ivicl.learn.second import losses, recode
from ivicl.learn.second.ends import Rows, arms_of, estimate
from ivicl.learn.second.model import soft_cells
from ivicl.learn.second.summary import Moments, count_estimates, moments_of, noise
from ivicl.learn.training.config import TrainConfig

QUANTILES = torch.tensor([0.005, 0.05, 0.25, 0.5, 0.75, 0.95, 0.995]).double()
OUTWARD = torch.tensor([1.0, -1.0]).double()
CONFIG = TrainConfig.preset("second")


@torch.no_grad()
def errors(network, batch) -> dict[str, torch.Tensor]:
    """(B,2) of both ends of the effect, by estimate."""
    coding = losses.draw_coding(batch.z, batch.t, batch.y, batch.w, 0.02, torch.Generator().manual_seed(0))
    flip_t, flip_y, flip_z = (losses.flips_of(coding)[:, k : k + 1] for k in range(3))
    x = prepare.standardise(batch.x, batch.w)
    z, t, y = (batch.z - flip_z).abs(), (batch.t - flip_t).abs(), (batch.y - flip_y).abs()
    cell = soft_cells(z, t, y)
    counts, spread, binary = moments_of(cell, y, batch.v, batch.w, 1e8)
    kept, score = prepare.order_covariates_scored(x, cell, batch.w, 64)
    plain = count_estimates(Moments(counts, spread, binary, torch.zeros_like(binary)), 0.4)
    layer = network.covariates.regression(
        kept, score, cell[:, :, :4] + cell[:, :, 4:], arms_of(cell) * batch.w.unsqueeze(-1)
    )
    rows = Rows(wide(cell), wide(batch.v), wide(batch.w))
    found = estimate(wide(layer.law), wide(layer.propensity), rows, wide(noise(counts)))
    unit = torch.maximum(found.se, 0.15 * plain.se)[:, :2]
    truth = recode.values(torch.cat([batch.ends, batch.late.unsqueeze(1)], 1).double(), coding)[:, :2]
    return {
        "plug-in": (truth - found.plug_in[:, :2]) * OUTWARD / unit,
        "one-step": (truth - found.one_step[:, :2]) * OUTWARD / unit,
    }


if __name__ == "__main__":
    network = build(CONFIG.network).eval()
    for form in (Form(), Form(4, True)):
        for n, d in ((256, 4), (256, 16), (1024, 4), (1024, 16), (4096, 4), (4096, 16)):
            tables = max(4, min(48, 16384 // n * 2))
            drawn = [sample_rows(CONFIG.prior, generator_for(77, s, n * 100 + d), tables, n, d, form) for s in range(6)]
            parts = [errors(network, batch) for batch in drawn]
            for name in parts[0]:
                found = torch.quantile(torch.cat([part[name] for part in parts]).flatten(), QUANTILES)
                values = " ".join(f"{value:6.2f}" for value in found.tolist())
                print(f"{'amounts' if form.amounts else 'yes/no':8} n={n:<5} d={d:<3} {name:9} {values}")
