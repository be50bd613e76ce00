"""What the pool of a run is worth: loss on kept tables of another run, and efficiency on our own laws, in seconds.

python try_pool.py runs/steady runs/other/kept runs/own.safetensors
"""

import sys
from pathlib import Path

import torch
from own_laws import LAWS

from ivicl.learn.files import load_tensors
from ivicl.learn.network.grids import edges
from ivicl.learn.network.rows import Reading
from ivicl.learn.network.summary import Moments
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.kept import KeptTables, kept_loss
from ivicl.learn.training.run import result_of

BANDS = ((0, 300), (300, 1_000), (1_000, 4_000), (4_000, 16_000), (16_000, 70_000))
MARGIN = 2.576


def quantile(mass: torch.Tensor, edge: torch.Tensor, level: float) -> torch.Tensor:
    """Of masses (B,M) between edges (B,M+1)."""
    above = mass.cumsum(-1)
    cell = (above < level).sum(-1, keepdim=True).clamp(max=mass.shape[-1] - 1)
    inside = (level - above.gather(-1, cell)) / mass.gather(-1, cell).clamp(min=1e-12) + 1
    low, high = edge.gather(-1, cell), edge.gather(-1, cell + 1)
    return (low + (high - low) * inside.clamp(0, 1)).squeeze(-1)


run, kept, own = (Path(argument) for argument in sys.argv[1:])
network = result_of(run)[0].eval()
tables = KeptTables.together([KeptTables.of(load_tensors(file)[0]) for file in sorted(kept.glob("*.safetensors"))])
laws = load_tensors(own)[0]
with torch.no_grad():
    for low, high in BANDS:
        some = tables.chosen(((tables.rows >= low) & (tables.rows < high)).nonzero().flatten())
        found = kept_loss(network, some, TrainConfig(network=network.config))
        print(f"{low:6,} to {high:6,} rows: ends {found['ends']:.3f}, others {found['others']:.3f}")
    parts = [{k.removeprefix(p): v for k, v in laws.items() if k.startswith(p)} for p in ("reading.", "moments.")]
    answer = network.from_reading(Reading(**parts[0]), Moments(**parts[1]))
    edge, mass = edges(answer.grid, network.lowest(answer.grid.anchor)), answer.masses.double().exp()
law, amounts, n = laws["law"].unbind(1)


def beyond(alpha: float) -> torch.Tensor:
    """(B,2) by how much the interval reaches beyond the true ends."""
    lower = laws["truth"][:, 0] - quantile(mass[:, 0], edge[:, 0], alpha / 2)
    upper = quantile(mass[:, 1], edge[:, 1], 1 - alpha / 2) - laws["truth"][:, 1]
    return torch.stack([lower, upper], 1)


efficiency = (beyond(0.01) / laws["se"] / MARGIN).mean(1)
held = torch.stack([(beyond(alpha) >= 0).all(1).double() for alpha in (0.5, 0.2, 0.1, 0.05, 0.01)], 1)
for version in (0, 1):
    for k, family in enumerate(LAWS):
        here = (law == k) & (amounts == version)
        shown = [f"{efficiency[here & (n == size)].mean():.2f}" for size in sorted(set(n.tolist()))]
        often = " ".join(f"{share:.2f}" for share in held[here].mean(0))
        print(f"{family.name:10s} {('yes/no', 'amounts')[version]:8s}", *shown, " held", often)
