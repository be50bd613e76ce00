"""When the limit on how far out an end may lie is to be relied on: ways to say so, on tables of the prior.

    SEED=12 python ../2026-11-18-how-far-out/read.py runs/carried runs/far
    python ways.py runs/carried runs/far

Of the ends of the ATE, E Y(1) and E Y(0) of all tables on which any of the ways relies on it: differences of log
densities at the truth from no limit, with standard errors; true ends outside of the 0.5, 2.5 and 10 % quantile on the
outer side; and how far the 0.5 % quantile lies beyond the true end, in units (60 at most). Below each table: how often
the innermost steady end lies inward of the truth where the way that was chosen relies on it altogether.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "2026-11-18-how-far-out"))

from errors import SIDE, limit_of, tables, truth_of  # noqa: E402
from undamped import Undamped, shown  # noqa: E402

from ivicl.learn.training.run import result_of  # noqa: E402
from ivicl.methods.pretrained.streaming.constants import SLACK  # noqa: E402


class Way(NamedTuple):
    near: float
    """Units from the innermost steady end from which on log masses are lowered."""
    sure: tuple[float, float]
    """The unit times the people of the smaller arm: relied on from here, and altogether from there."""
    units: tuple[float, float] | None = None
    """A spread of P(Z=1 | x) of so many units: not relied on from here, and altogether up to there."""
    by_lot: bool = True
    """Only up to a spread of .02 to .03."""

    def trust(self, unit: torch.Tensor, fewest: torch.Tensor, spread: torch.Tensor) -> torch.Tensor:
        even = between(spread, 0.03, 0.02) if self.by_lot else torch.ones_like(unit)
        if self.units:
            even = torch.minimum(even, between(spread / unit, *self.units))
        return between(unit * fewest, *self.sure) * even


def between(value: torch.Tensor, none: float, whole: float) -> torch.Tensor:
    return ((value - none) / (whole - none)).clamp(0, 1)


FEW, SOME, MANY = (6.0, 4.0), (10.0, 6.0), (15.0, 10.0)
WAYS = {
    "as before: by lot, from 2, sure 3 to 6": Way(2.0, (3.0, 6.0)),
    "and up to 10 units": Way(2.0, (3.0, 6.0), MANY),
    "and from 2.5": Way(2.5, (3.0, 6.0), MANY),
    "and sure 2 to 4": Way(2.5, (2.0, 4.0), MANY),
    "and sure 1.5 to 3": Way(2.5, (1.5, 3.0), MANY),
    "and sure 1 to 2": Way(2.5, (1.0, 2.0), MANY),
    "and sure .5 to 1": Way(2.5, (0.5, 1.0), MANY),
    "up to 10 units, from 2.5, sure 2 to 4": Way(2.5, (2.0, 4.0), MANY, False),
    "up to 10 units, from 2.5, sure 1.5 to 3": Way(2.5, (1.5, 3.0), MANY, False),
    "up to 6 units, from 2.5, sure 2 to 4": Way(2.5, (2.0, 4.0), SOME, False),
    "up to 6 units, from 2.5, sure 1.5 to 3": Way(2.5, (1.5, 3.0), SOME, False),
    "up to 6 units, from 2.5, sure 1 to 2": Way(2.5, (1.0, 2.0), SOME, False),
    "up to 6 units, from 3, sure 1.5 to 3": Way(3.0, (1.5, 3.0), SOME, False),
    "up to 4 units, from 2.5, sure 1.5 to 3": Way(2.5, (1.5, 3.0), FEW, False),
}

CHOSEN = "up to 6 units, from 2.5, sure 2 to 4"

if __name__ == "__main__":
    network = result_of(Path(sys.argv[1]))[0].eval()
    present = {path.stem for path in Path(sys.argv[2]).glob("*.safetensors")}
    for kinds in (("short",), ("middle", "middle-trees"), ("long", "long-trees"), ("cells",)):
        kept = tables(Path(sys.argv[2]), *(kind for kind in kinds if kind in present))
        limit, fewest = limit_of(network, kept)
        free = Undamped.of(network, kept)
        trusts = {
            name: way.trust(kept.reading.unit, fewest, kept.reading.spread)[:, :6] for name, way in WAYS.items()
        }
        here = torch.stack(list(trusts.values())).amax(0) > 0
        print(f"\n{', '.join(kinds)}: {len(kept.rows):,} tables, {int(here.sum()):,} ends\n")
        print("| limit | relied on | log density | missed 0.5 % | 2.5 % | 10 % | reach |\n|---|---|---|---|---|---|---|")
        before = free.lowered(torch.zeros_like(free.masses))
        print(f"| none | 0 | {shown(before, before, here)} |")
        for name, way in WAYS.items():
            outside = (free.outside(limit.place, SLACK) - way.near).clamp(min=0)
            change = free.lowered(0.5 * trusts[name].unsqueeze(-1) * outside.square())
            print(f"| {name} | {trusts[name][here].mean():.2f} | {shown(change, before, here)} |", flush=True)
        inward = ((limit.place - truth_of(kept))[:, :6] * SIDE / kept.reading.unit[:, :6])[trusts[CHOSEN] == 1]
        shares = ", ".join(f"more than {most:g} in {100 * (inward > most).double().mean():.1f} %" for most in (2, 2.5, 3, 4))
        print(f"\nInnermost steady end, units inward of the truth: {shares} of {len(inward):,}.")
