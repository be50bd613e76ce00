"""Outcomes lost in one arm only, and never at random: does the interval hold, and is anybody warned?

`python -m ivicl.benchmarks.lost_outcomes` simulates count tables of trials in which a tenth or a fifth of one arm lose
their outcome, all of them with the same outcome where there are enough of those. Per scenario it says how often the
95 % interval holds the identified set when the lost are left free and when they are dropped, and how often dropping
them has a finding.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ivicl.benchmarks.compare import markdown_table
from ivicl.data import IVData
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.losses import LOST, free_ends
from ivicl.identification.strata import N_STRATA, TREATMENT, law_of
from ivicl.methods.base import MethodBounds, Request
from ivicl.methods.registry import resolve
from ivicl.results.making import make_result

ALPHA = 0.05


@dataclass(frozen=True)
class Scenario:
    """One kind of trial and one kind of loss."""

    family: str
    """"trial": nine in ten comply; "sparse": few types of people, as in the prior."""
    people: int
    share: float
    """The share of one arm whose outcomes are lost."""

    def strata(self, rng: np.random.Generator) -> np.ndarray:
        if self.family == "sparse":
            return rng.dirichlet(np.full(N_STRATA, 0.1))
        types = np.where(
            (TREATMENT[0] == 0) & (TREATMENT[1] == 1), 0.9, np.where(TREATMENT[0] != TREATMENT[1], 0, 0.05)
        )
        drawn = rng.dirichlet(np.ones(4), 4).ravel() * types
        strata: np.ndarray = drawn / drawn.sum()
        return strata

    def cells(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The true law, and its cells [z][t][0, 1, lost] after the loss."""
        law = law_of(self.strata(rng))
        arm, outcome = rng.integers(0, 2, 2)
        hit = law[arm, :, outcome].sum()
        lost = np.zeros((2, 2, 2))
        # First lose people with the one outcome, in proportion; then, if they are too few, some of the others.
        lost[arm, :, outcome] = law[arm, :, outcome] * min(1.0, self.share / max(hit, 1e-12))
        rest = self.share - lost[arm].sum()
        if rest > 1e-12:
            lost[arm, :, 1 - outcome] = law[arm, :, 1 - outcome] * rest / law[arm, :, 1 - outcome].sum()
        return law, np.concatenate([law - lost, lost.sum(axis=-1, keepdims=True)], axis=-1)


SCENARIOS = tuple(
    Scenario(family, people, share)
    for family in ("trial", "sparse")
    for people in (1_000, 10_000)
    for share in (0.1, 0.2)
)


@dataclass(frozen=True)
class Verdict:
    """Shares of the simulated data sets."""

    scenario: Scenario
    method: str
    free_holds_set: float
    """`missing_outcome="bounds"` holds the identified set of the law before the loss."""
    free_holds_free_set: float
    """It holds the larger set that is left once the outcomes are lost: what its 95 % are about."""
    dropped_holds_set: float
    warned: float
    """Dropping the lost people gives the finding *lost outcomes*, of grade look or stop."""
    data_sets: int


def simulate(scenario: Scenario, method: str, data_sets: int, seed: int) -> Verdict:
    rng = np.random.default_rng([seed, scenario.people, round(100 * scenario.share), len(scenario.family)])
    drawn = [scenario.cells(rng) for _ in range(data_sets)]
    half = scenario.people // 2
    tables = [
        [rng.multinomial(half, np.clip(cells[z].ravel(), 0, 1) / cells[z].sum()) for z in (0, 1)] for _, cells in drawn
    ]
    chosen = resolve(method)
    request = Request(alpha=ALPHA, own=chosen.options())
    kept = [np.reshape(table, (2, 2, LOST + 1)) for table in tables]
    free = chosen.bounds_of_many([IVData.from_counts(table, "bounds") for table in kept], request)
    without = [IVData.from_counts(table, "drop") for table in kept]
    dropped = chosen.bounds_of_many(without, request)
    holds, holds_free, holds_dropped, warned = [], [], [], []
    for (law, cells), one, other, data in zip(drawn, free, dropped, without, strict=True):
        ends, free_set = sharp_ends(law), free_ends(cells)
        holds.append(_holds(one, ends))
        holds_free.append(_holds(one, free_set))
        holds_dropped.append(_holds(other, ends))
        if not isinstance(other, MethodBounds):
            raise other
        findings = make_result(chosen, other, data, request, ladder=False).findings
        warned.append(any(f.name == "lost outcomes" and f.grade != "ok" for f in findings))
    return Verdict(
        scenario=scenario,
        method=method,
        free_holds_set=float(np.mean(holds)),
        free_holds_free_set=float(np.mean(holds_free)),
        dropped_holds_set=float(np.mean(holds_dropped)),
        warned=float(np.mean(warned)),
        data_sets=data_sets,
    )


def _holds(found: MethodBounds | Exception, ends: tuple[np.ndarray, np.ndarray]) -> bool:
    if not isinstance(found, MethodBounds):
        raise found
    return bool(found.lower <= float(ends[0]) + 1e-9 and float(ends[1]) <= found.upper + 1e-9)


def run(
    methods: Sequence[str] = ("ivicl",), data_sets: int = 200, seed: int = 0, scenarios: Sequence[Scenario] = SCENARIOS
) -> Iterator[Verdict]:
    for method in methods:
        for scenario in scenarios:
            yield simulate(scenario, method, data_sets, seed)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="ivicl", help="names, separated by commas (default: ivicl)")
    parser.add_argument("--data-sets", type=int, default=200, help="per scenario (default: 200)")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    head = ["method", "law", "people", "lost in one arm", "bounds holds the set", "... and the set with the lost free"]
    head += ["drop holds the set", "drop has a finding"]
    lines = []
    for each in run(asked.methods.split(","), asked.data_sets, asked.seed):
        where = each.scenario
        shares = (each.free_holds_set, each.free_holds_free_set, each.dropped_holds_set, each.warned)
        first = [each.method, where.family, f"{where.people:,}", f"{100 * where.share:.0f} %"]
        lines.append([*first, *(f"{share:.3f}" for share in shares)])
    sys.stdout.write(markdown_table(head, lines) + "\n")


if __name__ == "__main__":
    main()
