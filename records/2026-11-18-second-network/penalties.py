"""Is the regression layer the limit for narrow amounts in many covariates? Other penalties, on laws made for this.

Standard error of the ends by the layer's law over that by the true law; error of the one-step ends in best standard
errors; KL of the law. Means of three laws.
    python records/2026-11-18-second-network/penalties.py
"""

import torch

from ivicl.learn.architectures import build
from ivicl.learn.network import prepare
from ivicl.learn.second import regression
from ivicl.learn.second.ends import Rows, arms_of, estimate
from ivicl.learn.second.model import soft_cells
from ivicl.learn.training.config import TrainConfig

CONFIG = TrainConfig.preset("second")
SHIFT = (0.4, -0.4, 0.0)
"""Of always-takers, never-takers, compliers."""
SETTINGS = {
    "as it is": {"HINGES": (4.0, 6.0), "LOGISTIC": 2.5, "SPARSE": 4.0},
    "weaker hinges": {"HINGES": (0.0, 5.0), "LOGISTIC": 2.5, "SPARSE": 4.0},
    "weaker logistic": {"HINGES": (4.0, 6.0), "LOGISTIC": 0.5, "SPARSE": 4.0},
    "weaker sparse": {"HINGES": (4.0, 6.0), "LOGISTIC": 2.5, "SPARSE": 1.5},
}


def drawn(n: int, d: int, seed: int, precision: float, sparse: bool) -> tuple[torch.Tensor, ...]:
    """x, z, t, y and the true soft law (1,N,2,2,2)."""
    torch.manual_seed(seed)
    x, z, slope = torch.randn(1, n, d), (torch.rand(1, n) < 0.5).float(), torch.randn(d, 3)
    slope = slope * 0.9 * (torch.arange(d) < 6).unsqueeze(1) if sparse else slope * 1.8 / d**0.5
    taste, other, health = (x @ slope).unbind(-1)
    shares = torch.stack([taste - 1, -other - 0.6, 0 * taste], -1).softmax(-1)
    kind = torch.multinomial(shares[0], 1).view(1, -1)
    t = torch.where(kind == 0, 1.0, torch.where(kind == 1, 0.0, z))
    mean = torch.sigmoid(1.2 * health + 0.6 * t + torch.tensor(SHIFT)[kind])
    y = torch.distributions.Beta(mean * precision, (1 - mean) * precision).sample() if precision else torch.bernoulli(mean)
    law = torch.zeros(1, n, 2, 2, 2)
    for arm in (0, 1):
        for k, taken in enumerate((1, 0, arm)):
            high = torch.sigmoid(1.2 * health + 0.6 * taken + SHIFT[k])
            law[:, :, arm, taken] += shares[..., k : k + 1] * torch.stack([1 - high, high], -1)
    return x, z, t, y, law


@torch.no_grad()
def judged(n: int, d: int, seed: int, precision: float, sparse: bool) -> list[float]:
    x, z, t, y, truth = drawn(n, d, seed, precision, sparse)
    w, cell, truth = torch.ones_like(z), soft_cells(z, t, y), truth.flatten(3).double()
    kept, score = prepare.order_covariates_scored(prepare.standardise(x.double(), w), cell, w, 64)
    layer = build(CONFIG.network).eval().covariates.regression
    found = layer(kept, score, cell[:, :, :4] + cell[:, :, 4:], arms_of(cell) * w.unsqueeze(-1))
    rows, tie = Rows(cell.double(), torch.zeros(1, n).double(), w.double()), torch.full((1, 1), 0.01).double()
    own = estimate(found.law.double(), found.propensity.double(), rows, tie)
    best = estimate(truth, torch.full((1, n), 0.5).double(), rows, tie)
    ratio, error = own.se / best.se, (own.one_step - best.plug_in).abs() / best.se
    divergence = (truth * (truth.clamp(min=1e-9).log() - found.law.log())).sum(-1).mean()
    return [ratio[0, :2].mean().item(), error[0, :2].mean().item(), divergence.item()]


if __name__ == "__main__":
    for name, setting in SETTINGS.items():
        for constant, value in setting.items():
            setattr(regression, constant, value)
        for sparse, d in ((True, 40), (False, 12)):
            for precision in (80.0, 0.0):
                for n in (1000, 4000):
                    mean = torch.tensor([judged(n, d, seed, precision, sparse) for seed in range(3)]).mean(0).tolist()
                    law = f"{'sparse' if sparse else 'smooth'}, {'narrow' if precision else 'yes/no'}, n={n}"
                    print(f"{name:16} {law:24} se {mean[0]:.2f}  one-step {mean[1]:.2f}  KL {mean[2]:.4f}")
