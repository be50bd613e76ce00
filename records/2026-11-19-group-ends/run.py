"""How often do 1.96 standard errors about a group's ends, given everybody, hold the group's true ends?

Studies of 1,500 people in groups of about 750, 600 and 150, in which age decides too who takes the treatment and who
fares well. Nobody defies, so that the ends of each group given its people's covariates are known in closed form.

Run: python records/2026-11-19-group-ends/run.py [--studies 300]
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
import polars as pl

from ivicl import IVBounds
from ivicl._shared.progress import progress_bar
from ivicl.benchmarks.efficiency.families import outcome_means, type_shares
from ivicl.benchmarks.efficiency.laws import Law
from ivicl.benchmarks.efficiency.outcomes import BINARY, Character, beta
from ivicl.errors import design_warnings_off

PEOPLE = 1_500
GROUPS = np.array(["a", "b", "c"])
SHARES = (0.5, 0.4, 0.1)
KINDS = {"yes/no": BINARY, "amount": beta(5.0)}
METHODS = {"network": "ivicl", "ridge regression": "no-defiers"}


def drawn(rng: np.random.Generator, character: Character) -> tuple[pl.DataFrame, Law, np.ndarray]:
    """People of one study, their law and their groups; the groups differ in who complies and in the effect."""
    group = rng.choice(3, PEOPLE, p=SHARES)
    age = rng.normal(size=PEOPLE)
    always = -1.2 + 0.7 * age + 0.4 * (group == 1)
    types = type_shares(always, -0.4 - 0.7 * age + 0.6 * (group == 2))
    means = outcome_means(-0.4 + 0.9 * age, 0.2 + 0.9 * (group == 1) - 0.3 * age, 0.4)
    law = Law(np.full(PEOPLE, 0.5), types, means, character)
    z, t, y = law.draw(rng)
    frame = {"group": GROUPS[group], "age": 50 + 12 * age, "z": z.astype(int), "t": t.astype(int), "y": y}
    return pl.DataFrame(frame), law, group


def true_ends(law: Law, people: np.ndarray) -> tuple[float, float]:
    part = Law(law.propensity[people], law.types[people], law.means[people], law.character)
    return part.truth["ATE"]


def judged(method: str, character: Character, study: int) -> tuple[np.ndarray, np.ndarray]:
    """By group and end: (3, 2) errors of the ends given everybody, and their standard errors."""
    frame, law, group = drawn(np.random.default_rng([2, study]), character)
    roles = {"outcome": "y", "treatment": "t", "instrument": "z"}
    limits = None if character is BINARY else (0, 1)
    with design_warnings_off():
        fitted = IVBounds(method).fit(frame, covariates=["group", "age"], outcome_range=limits, **roles)
        found = [entry.given_all for entry in fitted.by("group").entries]
    truth = [true_ends(law, group == k) for k in range(3)]
    return (
        np.array([(ends.lower, ends.upper) for ends in found]) - truth,
        np.array([(ends.se_lower, ends.se_upper) for ends in found]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=300)
    studies = parser.parse_args().studies
    rows = []
    with progress_bar("studies", len(METHODS) * len(KINDS) * studies) as advance:
        for (name, method), (kind, character) in product(METHODS.items(), KINDS.items()):
            found = []
            for study in range(studies):
                found.append(judged(method, character, study))
                advance(1)
            errors, spreads = (np.array(part) for part in zip(*found, strict=True))
            held = (np.abs(errors) <= 1.96 * spreads).mean(axis=0)
            off = (errors / spreads).mean(axis=0)
            for k, share in enumerate(SHARES):
                rows.append(
                    f"| {name} | {kind} | {PEOPLE * share:.0f} | {held[k, 0]:.3f}, {held[k, 1]:.3f} |"
                    f" {spreads[:, k].mean():.4f} | {off[k, 0]:+.2f}, {off[k, 1]:+.2f} |"
                )
    print("| law at the rows | outcome | people | ends held | mean s.e. | mean error, in s.e. |")
    print("|---|---|---|---|---|---|", *rows, sep="\n")


if __name__ == "__main__":
    main()
