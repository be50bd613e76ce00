"""A million rows that all differ, every one of them used: does the 99 % interval hold the set, and how wide is it?

`python -m ivicl.benchmarks.all_rows` draws data sets of one smooth law that nobody trained or tuned on: ten even
covariates, and three times Friedman's (1991) test function of regression, for who is offered, who takes and who fares
well. Nobody defies, so that the set is known in closed form. Per data set: the interval, the true set given the
covariates, and how far the one reaches beyond the other as a multiple of what the best interval would (its efficiency;
1 is the limit). With `--sizes 100000,1000000` the last table shows how that margin falls with the number of rows;
with `--by-lot` nobody's covariates decide who is offered.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ivicl._shared.progress import progress_bar
from ivicl.benchmarks.compare import markdown_table
from ivicl.benchmarks.efficiency.best import efficient_se
from ivicl.benchmarks.efficiency.families import expit, outcome_means, type_shares
from ivicl.benchmarks.efficiency.laws import Dataset, Law
from ivicl.benchmarks.efficiency.outcomes import BINARY, beta
from ivicl.benchmarks.efficiency.verdicts import MARGIN
from ivicl.errors import InputError, design_warnings_off
from ivicl.estimator import IVBounds

ALPHA = 0.01
LEAST_ROWS = 1_000
"""With fewer rows, large-sample theory does not yet apply, and the interval may end where the outcome's range ends."""
BLOCK = 100_000
"""Rows whose best standard errors are computed at a time: each row takes 2 kB."""
Ends = tuple[float, float]


def friedman(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Friedman's function of uniform columns on [0, 1], shifted and scaled to a mean of 0 and a variance of about 1."""
    value: np.ndarray = (10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e - 14.4) / 4.9
    return value


def draw(rng: np.random.Generator, n: int, amounts: bool, by_lot: bool = False) -> Dataset:
    """Draw people from the one law; all ten columns matter, and some of them affect several things."""
    x = rng.random((n, 10))
    a, b, c, d, e, f, g, h, i, j = x.T
    health, taste, offered = friedman(a, b, c, d, e), friedman(f, g, h, d, i), friedman(i, j, a, h, d)
    law = Law(
        np.full(n, 0.5) if by_lot else expit(0.5 * offered - 0.2),
        type_shares(-1.1 + 0.8 * taste, -0.3 - 0.8 * taste),
        outcome_means(-0.9 + 1.2 * health, 0.6 + 0.4 * taste, 0.4),
        beta(5.0) if amounts else BINARY,
    )
    return Dataset(x, *law.draw(rng), law)


def truth_and_errors(law: Law) -> tuple[Ends, Ends]:
    """The ends of the effect given the covariates, and their best standard errors, block by block."""
    n = len(law.propensity)
    ends, variances, people = [], [], []
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        part = Law(law.propensity[rows], law.types[rows], law.means[rows], law.character)
        ends.append(part.truth["ATE"])
        variances.append(np.square(efficient_se(part.seen, 1)["ATE"]))  # for one person, so that they can be averaged
        people.append(len(part.propensity))
    lower, upper = np.average(ends, axis=0, weights=people)
    best = np.sqrt(np.average(variances, axis=0, weights=people) / n)
    return (float(lower), float(upper)), (float(best[0]), float(best[1]))


@dataclass(frozen=True)
class Verdict:
    """One interval beside the truth."""

    rows: int
    used: int
    """Rows that the network saw."""
    in_chunks: bool
    interval: Ends
    truth: Ends
    errors: Ends
    """The best standard errors of the true ends."""
    bias: Ends
    """Best guess minus true end, in those standard errors."""
    seconds: float

    @property
    def held(self) -> bool:
        return self.interval[0] <= self.truth[0] and self.truth[1] <= self.interval[1]

    @property
    def margin(self) -> float:
        """How far the interval reaches beyond a true end; the mean of the two."""
        return (self.truth[0] - self.interval[0] + self.interval[1] - self.truth[1]) / 2

    @property
    def best_margin(self) -> float:
        return MARGIN * (self.errors[0] + self.errors[1]) / 2


def judged(rows: int, number: int, amounts: bool, seed: int, by_lot: bool = False) -> Verdict:
    """One data set, judged; it is the same whatever else is asked for."""
    made = draw(np.random.default_rng([seed, rows, number, int(amounts)]), rows, amounts, by_lot)
    truth, errors = truth_and_errors(made.law)
    data = made.data
    start = time.perf_counter()
    with design_warnings_off():
        found = IVBounds(alpha=ALPHA).fit_data(data)
    seconds = time.perf_counter() - start
    about = found.estimates
    assert about is not None  # the network always has them
    bias = (about.lower - truth[0]) / errors[0], (about.upper - truth[1]) / errors[1]
    used, in_chunks = int(found.details["rows_used"]), bool(found.details["in_chunks"])
    return Verdict(rows, used, in_chunks, (found.lower, found.upper), truth, errors, bias, seconds)


def sizes_asked(text: str) -> list[int]:
    """Numbers of rows, the smaller first."""
    try:
        sizes = sorted({int(part) for part in text.split(",")})
    except ValueError as error:
        raise InputError(f"--sizes is '{text}'; write whole numbers as in --sizes 100000,1000000.") from error
    if sizes[0] < LEAST_ROWS:
        raise InputError(f"{sizes[0]:,} rows are too few to judge by; ask for at least {LEAST_ROWS:,}.")
    return sizes


def line_of(each: Verdict) -> str:
    """One data set in words."""
    rows = f"all {each.rows:,} rows" if each.used == each.rows else f"{each.used:,} of {each.rows:,} rows"
    return (
        f"{rows}{', in chunks' if each.in_chunks else ''}: interval [{each.interval[0]:.5f}, {each.interval[1]:.5f}], "
        f"true set [{each.truth[0]:.5f}, {each.truth[1]:.5f}] {'held' if each.held else 'MISSED'}, "
        f"margin {each.margin / each.best_margin:.2f} times the best, {each.seconds:.1f} s"
    )


def table_of(verdicts: Sequence[Verdict]) -> list[str]:
    """One line per size, in Markdown, with standard errors over the data sets in brackets."""
    head = ["rows", "every row used", "set held (s.e.)", "mean margin", "best margin", "efficiency (s.e.)"]
    head += ["bias of the ends, in best s.e. (s.e.)", "seconds"]
    lines = []
    sizes = list(dict.fromkeys(each.rows for each in verdicts))
    falls = []
    for size in sizes:
        here = [each for each in verdicts if each.rows == size]
        margins, best = (np.array([getattr(each, name) for each in here]) for name in ("margin", "best_margin"))
        held, every = sum(each.held for each in here), sum(each.used == size for each in here)
        error = np.sqrt(held * (len(here) - held) / len(here) ** 3)
        lower, upper = np.array([each.bias for each in here]).T
        shown = [f"{size:,}", f"{every} of {len(here)}", f"{held} of {len(here)}: {held / len(here):.3f} ({error:.3f})"]
        shown += [f"{margins.mean():.5f}", f"{best.mean():.5f}", _mean(margins / best.mean())]
        shown += [f"{_mean(lower, '+')}, {_mean(upper, '+')}", f"{np.mean([each.seconds for each in here]):.1f}"]
        lines.append(shown)
        falls.append([margins.mean(), best.mean()])
    found = markdown_table(head, lines).splitlines()
    if len(sizes) > 1 and np.min(falls) > 0:
        margin, best = -np.polyfit(np.log(sizes), np.log(falls), 1)[0]
        found.append(f"The margin falls with rows as n^-{margin:.2f}, the best one as n^-{best:.2f}.")
    return found


def _mean(values: np.ndarray, sign: str = "") -> str:
    """The mean with its standard error, or with "-" if there is only one value."""
    error = f"{values.std(ddof=1) / np.sqrt(len(values)):.2f}" if len(values) > 1 else "-"
    return f"{values.mean():{sign}.2f} ({error})"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--rows", type=int, default=1_000_000, help="of a data set (default: 1,000,000)")
    size.add_argument("--sizes", help="several numbers of rows instead, separated by commas")
    parser.add_argument("--data-sets", type=int, default=20, help="of each size (default: 20)")
    parser.add_argument(
        "--amounts", action="store_true", help="the outcome is an amount between 0 and 1, not yes or no"
    )
    parser.add_argument("--by-lot", action="store_true", help="half are offered, whatever their covariates")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    try:
        sizes = sizes_asked(asked.sizes or str(asked.rows))
        if asked.data_sets < 1:
            raise InputError(f"{asked.data_sets} data sets are none to judge by; ask for at least one.")
    except InputError as error:
        parser.exit(2, f"all_rows: {error}\n")
    # While the bar is shown, rich redirects sys.stdout to print above it. That is right on a terminal, but when stdout
    # is a file the lines must go there and not to the bar's stderr, so the original stdout is kept.
    out = None if sys.stdout.isatty() else sys.stdout
    verdicts = []
    with progress_bar("rows judged on", asked.data_sets * sum(sizes)) as advance:
        for rows, number in product(sizes, range(asked.data_sets)):
            verdicts.append(judged(rows, number, asked.amounts, asked.seed, asked.by_lot))
            (out or sys.stdout).write(f"{line_of(verdicts[-1])}\n")
            (out or sys.stdout).flush()
            advance(rows)
    sys.stdout.write("\n" + "".join(f"{line}\n" for line in table_of(verdicts)))


if __name__ == "__main__":
    main()
