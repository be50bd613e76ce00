"""Ends with the lost outcome free: the table of terms against an enumeration of the dual, and against the program."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog

from enumeration import EFFECT, TAKES, compatible
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.inequalities import excess, nearest_law
from ivicl.identification.laws import soft_law
from ivicl.identification.losses import (
    DOWN,
    TERMS,
    TERMS_WITHOUT_DEFIERS,
    completed,
    free_ends,
    nearest_cells,
    worst_ones,
)
from linear_program import random_laws


def program(cells: np.ndarray, *, defiers: bool = True) -> tuple[float, float] | None:
    """The ends by the program on the sixteen strata: what is seen is there, and each (z, t) has its share."""
    seen, shares = [], []
    for z, t in product((0, 1), repeat=2):
        seen += [(np.isin(np.arange(16), compatible(z, t, y)), cells[z, t, y]) for y in (0, 1)]
        shares.append((TAKES[z] == t, cells[z, t].sum()))
    allowed = [(0.0, 1.0 if defiers or not (TAKES[0, s] and not TAKES[1, s]) else 0.0) for s in range(16)]
    ends = []
    for sign in (1, -1):
        solved = linprog(
            sign * EFFECT,
            A_ub=-np.array([row for row, _ in seen], float),
            b_ub=[-value for _, value in seen],
            A_eq=np.array([row for row, _ in shares], float),
            b_eq=[value for _, value in shares],
            bounds=allowed,
            method="highs",
        )
        if solved.status != 0:
            return None
        ends.append(sign * solved.fun)
    return float(ends[0]), float(ends[1])


def lose(laws: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Cells (..., 2, 2, 3) from laws: each cell loses a share of its own, often none and sometimes all."""
    lost = rng.choice([0.0, 1.0, 0.5], size=laws.shape, p=[0.4, 0.1, 0.5]) * rng.random(laws.shape)
    lost = np.where(rng.random(laws.shape) < 0.05, 1.0, lost)
    return np.concatenate([laws * (1 - lost), (laws * lost).sum(axis=-1, keepdims=True)], axis=-1)


def vertices(*, defiers: bool) -> set[tuple[int, ...]]:
    """All vertices of the dual of the lower end: f[z][t][y], and g[z][t] below both of them for what is lost.

    f[0] at what a stratum shows with Z=0, plus f[1] at what it shows with Z=1, is at most its effect. A constant may
    go from one arm to the other, so g[0][0] is zero.
    """
    rows, most = [], []
    for s in range(16):
        if defiers or not (TAKES[0, s] and not TAKES[1, s]):
            shows = [s in compatible(z, t, y) for z, t, y in product((0, 1), repeat=3)]
            rows.append(np.array([*shows, 0, 0, 0, 0], float))
            most.append(EFFECT[s])
    for place, (z, t, y) in enumerate(product((0, 1), repeat=3)):
        row = np.zeros(12)
        row[8 + 2 * z + t], row[place] = 1.0, -1.0
        assert place == 4 * z + 2 * t + y
        rows.append(row)
        most.append(0.0)
    # Of constraints with the same left side only the smallest right side binds: unseen outcomes make such pairs.
    smallest: dict[tuple[float, ...], float] = {}
    for row, limit in zip(rows, most, strict=True):
        smallest[tuple(row)] = min(limit, smallest.get(tuple(row), np.inf))
    system, limits = np.array(list(smallest)), np.array(list(smallest.values()))
    system = np.delete(system, 8, axis=1)
    found: set[tuple[int, ...]] = set()
    chosen = np.array(list(combinations(range(len(system)), 11)))
    for part in np.array_split(chosen, max(1, len(chosen) // 20_000)):
        regular = np.abs(np.linalg.det(system[part])) > 1e-9
        points = np.linalg.solve(system[part][regular], limits[part][regular][..., None])[..., 0]
        feasible = points[(points @ system.T <= limits + 1e-9).all(axis=1)]
        whole = np.insert(feasible, 8, 0.0, axis=1)
        assert np.allclose(whole, np.round(whole))
        found |= {tuple(point) for point in np.round(whole).astype(int).tolist()}
    return found


@pytest.mark.parametrize(("table", "defiers"), [(TERMS, True), (TERMS_WITHOUT_DEFIERS, False)])
def test_the_table_is_every_vertex_of_the_dual(table: np.ndarray, defiers: bool) -> None:
    rows = {(*term[..., :2].ravel().astype(int).tolist(), *term[..., 2].ravel().astype(int).tolist()) for term in table}
    assert len(rows) == len(table)
    assert rows == vertices(defiers=defiers)


@pytest.mark.parametrize("concentration", [0.02, 0.05, 0.1, 0.3, 1.0])
def test_the_ends_are_those_of_the_program(concentration: float) -> None:
    rng = np.random.default_rng(int(100 * concentration))
    cells = lose(random_laws(100, concentration, rng), rng)
    lower, upper = free_ends(cells)
    for i, each in enumerate(cells):
        assert (lower[i], upper[i]) == pytest.approx(program(each), abs=1e-7)


def test_without_defiers_the_ends_are_those_of_the_program_where_the_cells_allow_it() -> None:
    rng = np.random.default_rng(3)
    checked = 0
    for _ in range(300):
        strata = rng.dirichlet(np.full(16, 0.15)) * ~((TAKES[0] == 1) & (TAKES[1] == 0))
        strata = strata / strata.sum()
        law = np.array([strata[compatible(z, t, y)].sum() for z, t, y in product((0, 1), repeat=3)]).reshape(2, 2, 2)
        cells = lose(law, rng)
        solved = program(cells, defiers=False)
        if solved is None:  # rounding at the edge of what is possible
            continue
        checked += 1
        ends = free_ends(cells, without_defiers=True)
        assert (float(ends[0]), float(ends[1])) == pytest.approx(solved, abs=1e-7)
    assert checked > 280


def test_amounts_enter_by_their_soft_law() -> None:
    """The set of effects of an amount on three levels, its lost values anywhere between 0 and 1, given the means."""
    rng = np.random.default_rng(5)
    levels = np.array([0.0, 0.3, 1.0])
    for _ in range(40):
        law = rng.dirichlet(np.full(6, 0.5), 2).reshape(2, 2, 3)
        lost = law * rng.random((2, 2, 1)) * 0.4
        seen = law - lost
        soft = soft_law(seen @ levels, seen.sum(axis=-1))
        cells = np.concatenate([soft, lost.sum(axis=-1)[..., None]], axis=-1)
        solved = program(cells)
        if solved is not None:
            ends = free_ends(cells)
            assert (float(ends[0]), float(ends[1])) == pytest.approx(solved, abs=1e-7)


def test_where_nothing_is_lost_the_ends_are_balke_and_pearls() -> None:
    laws = random_laws(200, 0.1, np.random.default_rng(6))
    cells = np.concatenate([laws, np.zeros((200, 2, 2, 1))], axis=-1)
    np.testing.assert_allclose(free_ends(cells), sharp_ends(laws), atol=1e-12)


def test_the_simple_fill_is_never_wider_and_for_sparse_laws_often_too_narrow() -> None:
    rng = np.random.default_rng(7)
    cells = lose(random_laws(400, 0.05, rng), rng)
    down, up = completed(cells, DOWN), completed(cells, 1 - DOWN)
    lower, upper = free_ends(cells)
    assert (sharp_ends(down)[0] >= lower - 1e-12).all() and (sharp_ends(up)[1] <= upper + 1e-12).all()
    assert 0.05 < (sharp_ends(down)[0] > lower + 1e-6).mean() < 0.5


def test_the_worst_completion_is_possible_and_reaches_the_ends() -> None:
    rng = np.random.default_rng(17)
    cells = lose(random_laws(60, 0.08, rng), rng)
    other = 0
    for each in cells:
        lower, upper = free_ends(each)
        down, up = worst_ones(each)
        for ones, place, end in ((down, 0, lower), (up, 1, upper)):
            assert ones.min() >= 0 and ones.max() <= 1
            law = completed(each, ones)
            assert excess(law).max() <= 1e-7
            assert float(sharp_ends(law)[place]) == pytest.approx(float(end), abs=1e-7)
        other += not (np.array_equal(down, DOWN) and np.array_equal(up, 1 - DOWN))
    assert other > 5


def test_every_sharing_out_of_the_lost_lies_inside() -> None:
    """The set holds the one of each completed law, and some completion reaches its ends nearly."""
    rng = np.random.default_rng(8)
    cells = lose(random_laws(50, 0.3, rng), rng)
    lower, upper = free_ends(cells)
    share = rng.random((4000, 50, 2, 2)) * 1.2 - 0.1
    share = np.clip(share, 0.0, 1.0)
    laws = np.stack([cells[..., 0] + (1 - share) * cells[..., 2], cells[..., 1] + share * cells[..., 2]], axis=-1)
    possible = np.maximum(laws[..., 0, :, :], laws[..., 1, :, :]).sum(axis=-1).max(axis=-1) <= 1.0
    low, high = sharp_ends(laws)
    assert (np.where(possible, low, np.inf) >= lower - 1e-9).all()
    assert (np.where(possible, high, -np.inf) <= upper + 1e-9).all()
    assert np.median(np.where(possible, low, np.inf).min(axis=0) - lower) < 0.01


def test_nearest_cells_is_nearest_law_where_nothing_is_lost_and_possible_where_something_is() -> None:
    rng = np.random.default_rng(9)
    counts = rng.integers(0, 30, (500, 2, 2, 2)) * (rng.random((500, 2, 2, 2)) < 0.5)
    counts = counts[(counts.sum(axis=(-2, -1)) > 0).all(axis=-1)].astype(float)
    none = np.concatenate([counts, np.zeros((*counts.shape[:-1], 1))], axis=-1)
    np.testing.assert_allclose(nearest_cells(none)[..., :2], nearest_law(counts), atol=1e-12)
    lost = np.concatenate(
        [counts, rng.integers(0, 10, (*counts.shape[:-1], 1)) * (rng.random((len(counts), 2, 2, 1)) < 0.5)], -1
    )
    cells = nearest_cells(lost)
    assert cells.min() >= 0
    np.testing.assert_allclose(cells.sum(axis=(-2, -1)), 1.0)
    lower, upper = free_ends(cells)
    assert (lower <= upper + 1e-12).all()
    for each in cells[:40]:
        assert program(np.round(each, 12)) is not None


def test_an_impossible_table_of_which_much_was_lost_is_possible() -> None:
    table = np.array([[[199, 0], [1, 0]], [[0, 199], [0, 1]]], float)
    whole = np.concatenate([table, np.zeros((2, 2, 1))], axis=-1)
    assert not np.allclose(nearest_cells(whole), whole / 200)
    half = np.concatenate([table / 2, (table / 2).sum(axis=-1, keepdims=True)], axis=-1)
    np.testing.assert_allclose(nearest_cells(half), half / 200)
