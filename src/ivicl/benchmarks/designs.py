"""Clusters and sampling weights: does the interval hold the set as often as it says?

`python -m ivicl.benchmarks.designs` simulates cluster trials (whole clusters assigned, or people within them) with an
intraclass correlation of treatment and outcome, and surveys of two strata that were sampled 1 to 10. Per scenario: how
often the 95 % interval holds the identified set with the design named and without, how wide it is, and how far the
estimated ends lie from the true ones. That distance has two parts: the chance of the data sets drawn, which the
design-weighted plug-in ends of the same data sets show, and what the method adds to it (for a posterior, its prior).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from ivicl.data import DataReport, Design, IVData
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.methods.base import MethodBounds, Request
from ivicl.methods.classical.balke_pearl import outcome_ends
from ivicl.methods.registry import resolve

ALPHA = 0.05
ALWAYS, COMPLIERS = 0.2, 0.5
"""Shares of people who take the treatment anyway, and who do as they are assigned; there are no defiers."""
Ends = tuple[float, float]


def _data(z: np.ndarray, t: np.ndarray, y: np.ndarray, design: Design, x: np.ndarray | None = None) -> IVData:
    covariates = np.zeros((len(z), 0)) if x is None else x[:, None]
    names = () if x is None else ("stratum",)
    report = DataReport(len(z), len(z), 0)
    return IVData(covariates, z, t, y, np.ones(len(z)), names, (0.0, 1.0), True, report, design)


def _ends(rates: Ends, compliers: float) -> Ends:
    """The identified set where P(Y(t)=1) is rates[t], whoever the person is."""
    law = np.empty((2, 2, 2))
    for z, treated in enumerate((ALWAYS, ALWAYS + compliers)):
        for t, share in enumerate((1 - treated, treated)):
            law[z, t] = share * (1 - rates[t]), share * rates[t]
    lower, upper = sharp_ends(law)
    return float(lower), float(upper)


@dataclass(frozen=True)
class Clusters:
    """A trial in clusters of equal size; people of a cluster are alike in taking the treatment and in luck."""

    clusters: int
    size: int
    by_cluster: bool
    icc: float

    @property
    def name(self) -> str:
        how = "by cluster" if self.by_cluster else "within"
        return f"{self.clusters} x {self.size}, {how}, correlation {self.icc:g}"

    @property
    def truth(self) -> Ends:
        return _ends((0.3, 0.5), COMPLIERS)

    def draw(self, rng: np.random.Generator) -> IVData:
        n = self.clusters * self.size
        group = np.repeat(np.arange(self.clusters), self.size)
        z = np.repeat(rng.permutation(self.clusters) % 2, self.size) if self.by_cluster else rng.permutation(n) % 2

        def shared(shares: tuple[float, ...]) -> np.ndarray:
            """Which of several kinds each person is, correlated within clusters."""
            mixed = np.sqrt(self.icc) * np.repeat(rng.standard_normal(self.clusters), self.size)
            mixed += np.sqrt(1 - self.icc) * rng.standard_normal(n)
            kinds: np.ndarray = np.searchsorted([NormalDist().inv_cdf(share) for share in shares], mixed)
            return kinds

        kind, luck = shared((ALWAYS, ALWAYS + COMPLIERS)), shared((0.3, 0.5))
        t = np.where(kind == 0, 1, np.where(kind == 1, z, 0))
        y = np.where(t == 1, luck <= 1, luck == 0)
        return _data(z.astype(float), t.astype(float), y.astype(float), Design(cluster=group))


@dataclass(frozen=True)
class Survey:
    """Two strata of equal size in the population, of which the first was sampled ten times as often."""

    people: int
    scale: float
    """A factor for all weights, which must not matter."""
    adjusted: bool
    """The stratum is a covariate."""

    @property
    def name(self) -> str:
        return f"survey of {self.people:,}, weights x {self.scale:g}" + (
            ", stratum as covariate" if self.adjusted else ""
        )

    @property
    def truth(self) -> Ends:
        parts = [_ends(rates, compliers) for rates, compliers in zip(RATES, SURVEY_COMPLIERS, strict=True)]
        # With these numbers the same term of the bounds is the largest in both strata, so that the average of the sets
        # is the set of the average law.
        return float(np.mean([low for low, _ in parts])), float(np.mean([high for _, high in parts]))

    def draw(self, rng: np.random.Generator) -> IVData:
        stratum = (rng.random(self.people) < 1 / 11).astype(np.intp)
        z = rng.permutation(self.people) % 2
        kind, luck = rng.random((2, self.people))
        complies = np.array(SURVEY_COMPLIERS)[stratum]
        t = np.where(kind < ALWAYS, 1, np.where(kind < ALWAYS + complies, z, 0))
        y = luck < np.array(RATES)[stratum, t]
        design = Design(sampling=self.scale * np.where(stratum == 1, 10.0, 1.0))
        x = stratum.astype(float) if self.adjusted else None
        return _data(z.astype(float), t.astype(float), y.astype(float), design, x)


RATES = ((0.3, 0.5), (0.2, 0.7))
SURVEY_COMPLIERS = (0.5, 0.7)
Scenario = Clusters | Survey
CLUSTERS = tuple(
    Clusters(clusters, size, by_cluster, icc)
    for clusters, size in ((40, 50), (20, 100))
    for by_cluster in (True, False)
    for icc in (0.0, 0.02, 0.1)
)
SURVEYS = (
    *(Survey(2_000, scale, False) for scale in (1e-5, 1.0, 1e3)),
    Survey(2_000, 1.0, True),
    *(Survey(people, 1.0, False) for people in (8_000, 32_000)),
)
"""The last two have the same true ends as the first: the distance of the estimates must vanish with more people."""


@dataclass(frozen=True)
class Verdict:
    """What was found over the simulated data sets."""

    scenario: Scenario
    method: str
    holds: float
    """Share of intervals that hold the set, with the design named."""
    holds_without: float
    """The same without the design."""
    wider: float
    """Mean width with the design, divided by the mean width without it."""
    bias: Ends
    """Mean estimate minus the true lower and upper end."""
    bias_se: Ends
    added: Ends
    """Mean estimate minus the plug-in ends of the population that the same data stand for: what the method adds."""
    added_se: Ends
    spread: Ends
    """Standard deviation of the estimates over the data sets: the unit in which a bias matters to an interval."""
    data_sets: int


def simulate(scenario: Scenario, method: str, data_sets: int, seed: int) -> Verdict:
    rng = np.random.default_rng([seed, *scenario.name.encode()])
    drawn = [scenario.draw(rng) for _ in range(data_sets)]
    chosen = resolve(method)
    request = Request(alpha=ALPHA, covers="set" if "set" in chosen.covers else None, own=chosen.options())
    told = [_found(each) for each in chosen.bounds_of_many(drawn, request)]
    plain = [_found(each) for each in chosen.bounds_of_many([replace(d, design=None) for d in drawn], request)]
    lower, upper = scenario.truth
    guesses = np.array([(each.estimates.lower, each.estimates.upper) for each in told if each.estimates])
    plugin = np.array([outcome_ends(each.population())[:2] for each in drawn])
    bias, bias_se = _mean(guesses - (lower, upper))
    added, added_se = _mean(guesses - plugin)
    return Verdict(
        scenario=scenario,
        method=method,
        holds=float(np.mean([_holds(each, lower, upper) for each in told])),
        holds_without=float(np.mean([_holds(each, lower, upper) for each in plain])),
        wider=float(np.mean([_width(each) for each in told]) / np.mean([_width(each) for each in plain])),
        bias=bias,
        bias_se=bias_se,
        added=added,
        added_se=added_se,
        spread=_ends_of(guesses.std(0)),
        data_sets=data_sets,
    )


def _mean(values: np.ndarray) -> tuple[Ends, Ends]:
    """The mean over the data sets, and its standard error."""
    return _ends_of(values.mean(0)), _ends_of(values.std(0) / np.sqrt(len(values)))


def _ends_of(values: np.ndarray) -> Ends:
    return float(values[0]), float(values[1])


def _found(found: MethodBounds | Exception) -> MethodBounds:
    if not isinstance(found, MethodBounds):
        raise found
    return found


def _width(found: MethodBounds) -> float:
    return found.upper - found.lower


def _holds(found: MethodBounds, lower: float, upper: float) -> bool:
    return found.lower <= lower and upper <= found.upper


def run(
    methods: Sequence[str] = ("ivicl",),
    data_sets: int = 200,
    seed: int = 0,
    scenarios: Sequence[Scenario] | None = None,
) -> Iterator[Verdict]:
    for method in methods:
        for scenario in scenarios or (*CLUSTERS, *SURVEYS):
            yield simulate(scenario, method, data_sets, seed)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="ivicl", help="names, separated by commas (default: ivicl)")
    parser.add_argument("--data-sets", type=int, default=200, help="per scenario (default: 200)")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    head = ["method", "scenario", "holds the set", "without the design", "width over that without"]
    head += ["bias of the ends (s.e.)", "of it the method's (s.e.)", "in their standard deviations"]
    lines = [head, ["---"] * len(head)]
    for line in lines:
        sys.stdout.write(f"| {' | '.join(line)} |\n")
    for each in run(asked.methods.split(","), asked.data_sets, asked.seed):
        shown = [f"{share:.3f}" for share in (each.holds, each.holds_without, each.wider)]
        for values, errors in ((each.bias, each.bias_se), (each.added, each.added_se)):
            shown.append(", ".join(f"{b:+.4f} ({s:.4f})" for b, s in zip(values, errors, strict=True)))
        shown.append(", ".join(f"{b / s:+.2f}" for b, s in zip(each.added, each.spread, strict=True)))
        sys.stdout.write(f"| {' | '.join([each.method, each.scenario.name, *shown])} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
