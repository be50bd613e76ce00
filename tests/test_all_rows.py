"""`ivicl.benchmarks.all_rows`: its law, its best standard errors, and what it says of every row used."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ivicl.benchmarks import all_rows
from ivicl.benchmarks.all_rows import Verdict, draw, main, table_of, truth_and_errors
from ivicl.benchmarks.efficiency.best import efficient_se
from ivicl.methods.pretrained import batching


@pytest.mark.parametrize("amounts", [False, True])
def test_the_true_set_is_that_of_a_large_sample(amounts):
    """Nobody defies, so that the ends are sums of four means of the people, weighed by the chance of their arm."""
    made = draw(np.random.default_rng(0), 200_000, amounts)
    chance = np.where(made.z == 1, made.law.propensity, 1 - made.law.propensity)
    sign = (2 * made.z - 1) / chance
    lower = sign * np.where(made.z == 1, made.y * made.t, made.y * (1 - made.t) + made.t)
    upper = sign * np.where(made.z == 1, made.y * made.t + 1 - made.t, made.y * (1 - made.t))
    truth, errors = truth_and_errors(made.law)
    for end, value, best in zip((lower, upper), truth, errors, strict=True):
        error = end.std() / np.sqrt(len(end))
        assert abs(end.mean() - value) < 4 * error < 0.02
        assert best < error, "who knows the law at each row does better than means"
    assert 0.3 < truth[1] - truth[0] < 0.7, "a set worth the name"


def test_by_lot_only_who_is_offered_is_another(monkeypatch):
    made, lot = (draw(np.random.default_rng(2), 20_000, False, by_lot) for by_lot in (False, True))
    assert (
        (made.x == lot.x).all() and (made.law.types == lot.law.types).all() and (made.law.means == lot.law.means).all()
    )
    assert set(lot.law.propensity) == {0.5} and abs(lot.z.mean() - 0.5) < 0.02 < made.law.propensity.std()
    asked = []
    verdict = Verdict(1_000, 1_000, False, (0.1, 0.7), (0.2, 0.6), (0.02, 0.02), (1.0, -1.0), 5.0)
    monkeypatch.setattr(all_rows, "judged", lambda *given: asked.append(given) or verdict)
    for flags in ([], ["--by-lot"]):
        main(["--rows", "1000", "--data-sets", "1", *flags])
    assert asked == [(1_000, 0, False, 0, False), (1_000, 0, False, 0, True)]


def test_blocks_do_not_show(monkeypatch):
    law = draw(np.random.default_rng(1), 1_000, True).law
    monkeypatch.setattr(all_rows, "BLOCK", 300)
    truth, errors = truth_and_errors(law)
    assert truth == pytest.approx(law.truth["ATE"], abs=1e-12)
    assert errors == pytest.approx(efficient_se(law.seen, 1_000)["ATE"], rel=1e-9)


@pytest.mark.parametrize("amounts", [[], ["--amounts"]])
def test_every_row_is_used_in_chunks_and_the_verdict_is_printed(amounts, capsys, monkeypatch):
    monkeypatch.setattr(batching, "MAX_ROWS", 2_000)
    main(["--sizes", "3000,1500", "--data-sets", "2", *amounts])
    said = capsys.readouterr()
    first, second, third, fourth, empty, *table = said.out.splitlines()
    assert all(line.startswith("all 1,500 rows: interval [") for line in (first, second)) and not empty
    assert all(line.startswith("all 3,000 rows, in chunks: interval [") for line in (third, fourth))
    for line in (first, second, third, fourth):
        low, high, lower, upper = map(float, re.findall(r"-?\d\.\d{5}", line))
        assert ("held" in line) == (low <= lower and upper <= high) and lower < upper
    assert "| 3,000 | 2 of 2 |" in table[3] and table[-1].startswith("The margin falls with rows as n^-")
    assert "rows judged on" in said.err and "rows judged on" not in said.out


def test_the_table_counts_what_was_held():
    wide, missed = ((0.1, 0.7), (0.21, 0.7))
    two = [Verdict(4_000, 4_000, True, ends, (0.2, 0.6), (0.02, 0.02), (1.0, -1.0), 5.0) for ends in (wide, missed)]
    (row,) = table_of(two)[2:]
    assert "| 2 of 2 | 1 of 2: 0.500 (0.354) | 0.07250 | 0.05152 | 1.41 (" in row and "+1.00 (0.00), -1.00" in row
    assert [each.held for each in two] == [True, False]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (["--rows", "200"], "200 rows are too few to judge by; ask for at least 1,000."),
        (["--sizes", "1e5"], "--sizes is '1e5'; write whole numbers as in --sizes 100000,1000000."),
        (["--data-sets", "0"], "0 data sets are none to judge by; ask for at least one."),
    ],
)
def test_a_fault_is_a_sentence(call, sentence, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(call)
    said = capsys.readouterr()
    assert stopped.value.code == 2 and not said.out and said.err == f"all_rows: {sentence}\n"
