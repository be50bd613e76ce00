"""How far inward the innermost steady ends are, in units, on tables of the prior.

    python errors.py runs/carried runs/far

Rows: what the standard error means (unit times people of the smaller arm), and whether the instrument was drawn by lot.
"""

import sys
from pathlib import Path

import torch

from ivicl.learn.files import load_tensors
from ivicl.learn.network import recode
from ivicl.learn.network.outward import Limit
from ivicl.learn.network.steady import STEADY
from ivicl.learn.training.kept import KeptTables
from ivicl.learn.training.run import result_of
from ivicl.methods.pretrained.streaming.constants import OUTWARD

SIDE = torch.tensor(OUTWARD).double()[:6]
GROUPS = {"ATE": slice(0, 2), "EY1, EY0": slice(2, 6)}
BY_LOT = 0.02
BANDS = (0, 2, 4, 8, 15, 25, 1e9)


def tables(folder: Path, *kinds: str) -> KeptTables:
    return KeptTables.together([KeptTables.of(load_tensors(folder / f"{kind}.safetensors")[0]) for kind in kinds])


def truth_of(kept: KeptTables) -> torch.Tensor:
    """(B,Q) in canonical coding."""
    return recode.values(torch.cat([kept.labels.ends, kept.labels.late.unsqueeze(1)], 1).double(), kept.coding)


def limit_of(network, kept: KeptTables) -> tuple[Limit, torch.Tensor]:
    """And the people of the smaller arm (B,1)."""
    fewest = torch.unflatten(kept.moments.counts.double(), 1, (2, 4)).sum(-1).amin(1, keepdim=True)
    ends = kept.reading.plug_in.unsqueeze(1) + kept.reading.unit.unsqueeze(1) * kept.reading.steps[:, -STEADY:]
    return Limit.of(ends, kept.reading.unit, kept.reading.spread, fewest), fewest


if __name__ == "__main__":
    network = result_of(Path(sys.argv[1]))[0].eval()
    for kinds in (("short", "middle", "middle-trees"), ("long", "long-trees"), ("cells",)):
        kept = tables(Path(sys.argv[2]), *kinds)
        limit, fewest = limit_of(network, kept)
        inward = ((limit.place - truth_of(kept))[:, :6] * SIDE) / kept.reading.unit[:, :6]
        means = (kept.reading.unit * fewest)[:, :6]
        lot = (kept.reading.spread < BY_LOT).expand_as(inward)
        print(f"\n{', '.join(kinds)}: {len(kept.rows):,} tables\n")
        print("| ends of | unit x people | by lot | ends | > 2 | > 3 | > 4 | > 5 units inward | < -5: outward |")
        print("|---|---|---|---|---|---|---|---|---|")
        for name, columns in GROUPS.items():
            for low, high in zip(BANDS, BANDS[1:], strict=False):
                for by_lot in (True, False):
                    here = (means >= low) & (means < high) & (lot == by_lot)
                    some = inward[:, columns][here[:, columns]]
                    if len(some) < 30:
                        continue
                    shares = " | ".join(f"{100 * (some > most).double().mean():.1f} %" for most in (2, 3, 4, 5))
                    far = f"{100 * (some < -5).double().mean():.1f} %"
                    band = f"{low:g} to {high:g}" if high < 1e9 else f"{low:g} and more"
                    print(f"| {name} | {band} | {'yes' if by_lot else 'no'} | {len(some):,} | {shares} | {far} |")
