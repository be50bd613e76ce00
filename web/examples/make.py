"""The two simulated examples of the page, made again by `python web/examples/make.py`: the same files every time."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
Row = dict[str, object]


def encouragement(rng: np.random.Generator, n: int = 900) -> list[Row]:
    """Smokers invited to a course: text, numbers and missing values; who attends would have quit more often anyway."""
    rows: list[Row] = []
    for _ in range(n):
        age, sex, region = (
            int(rng.integers(18, 75)),
            rng.choice(["woman", "man"]),
            rng.choice(["north", "south", "east"]),
        )
        cigarettes, keen = int(rng.poisson(14)), rng.normal()
        invited = rng.random() < 0.5
        attended = keen + 0.9 * invited + 0.012 * (age - 45) > (1.1 if invited else 2.2)
        quits = -0.9 + 0.5 * keen + 0.9 * attended - 0.05 * (cigarettes - 14) + 0.3 * (region == "south")
        quit_smoking = rng.logistic() * 0.7 < quits
        seen = "" if rng.random() < 0.04 else cigarettes
        words = {"invited": ("no letter", "letter")[invited], "attended": ("no", "yes")[attended]}
        rows.append(words | {"quit": int(quit_smoking), "age": age, "sex": sex, "region": region, "cigarettes": seen})
    return rows


def earnings(rng: np.random.Generator, n: int = 1200) -> list[Row]:
    """A training programme offered by lot: yearly earnings in thousands, many of them zero."""
    rows: list[Row] = []
    for _ in range(n):
        age, schooling, able = int(rng.integers(19, 60)), int(rng.integers(8, 18)), rng.normal()
        offered = int(rng.random() < 0.6)
        trained = int(able + 0.08 * (schooling - 12) < (0.7 if offered else -1.6))
        level = 14 + 3.2 * able + 1.1 * (schooling - 12) + 3.5 * trained + 7 * rng.normal()
        rows.append({"offered": offered, "trained": trained, "earnings": round(min(max(level, 0.0), 60.0), 1),
                     "age": age, "schooling": schooling})  # fmt: skip
    return rows


def main() -> None:
    for seed, make in enumerate((encouragement, earnings), 1):
        rows = make(np.random.default_rng(seed))
        with (HERE / f"{make.__name__}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
