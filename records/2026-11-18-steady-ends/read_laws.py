"""Data sets of our own laws, read once and kept, so that what follows the rows can be tried in seconds.

python read_laws.py runs/carried runs/own.safetensors
"""

import sys
import zlib
from pathlib import Path

import numpy as np
import torch
from own_laws import LAWS

from ivicl.benchmarks.efficiency.best import efficient_se
from ivicl.benchmarks.efficiency.families import Family
from ivicl.learn.files import save_tensors
from ivicl.learn.network import prepare
from ivicl.learn.network.model import IVNetwork
from ivicl.learn.training.run import result_of
from ivicl.methods.pretrained.streaming.constants import CODINGS

SIZES = {300: 24, 1_000: 24, 4_000: 12, 16_000: 6, 64_000: 3}


@torch.no_grad()
def read(network: IVNetwork, family: Family, amounts: bool, n: int, number: int) -> dict[str, torch.Tensor]:
    """What the pool reads of a data set, with the true ends and their best standard errors, in canonical coding."""
    rng = np.random.default_rng([77, zlib.crc32(family.name.encode()), amounts, n, number])
    made = family.dataset(rng, n, amounts)
    x, z, t, y = (torch.tensor(part)[None] for part in (made.x, made.z, made.t, made.y))
    z, t, y = z.float(), t.float(), y.float()
    one = torch.ones_like(z)
    flip_t, flip_y, flip_z = CODINGS[int(prepare.coding_weights(z, t, y, one, network.config.tie_ramp).argmax())]
    rows = ((z - flip_z).abs(), (t - flip_t).abs(), (y - flip_y).abs(), 0 * one, one)
    found = network.canonical(prepare.standardise(x, one), *rows, torch.zeros(1, 1), torch.ones(1, 11))
    (lower, upper), errors = made.law.truth["ATE"], efficient_se(made.law.seen, n)["ATE"]
    if flip_t != flip_y:
        lower, upper, errors = -upper, -lower, errors[::-1]
    return {
        **{f"reading.{name}": part for name, part in found.reading._asdict().items()},
        **{f"moments.{name}": part for name, part in found.moments._asdict().items()},
        "truth": torch.tensor([[lower, upper]]).double(),
        "se": torch.tensor([list(errors)]).double(),
        "law": torch.tensor([[LAWS.index(family), int(amounts), n]]),
    }


if __name__ == "__main__":
    network = result_of(Path(sys.argv[1]))[0].train()
    parts = [
        read(network, family, amounts, n, k)
        for n, sets in SIZES.items()
        for amounts in (False, True)
        for family in LAWS
        for k in range(sets)
    ]
    save_tensors(Path(sys.argv[2]), {name: torch.cat([part[name] for part in parts]) for name in parts[0]}, {})
