"""Bounds under weakened assumptions: against programs on types, against each other, and their table of vertices."""

from __future__ import annotations

from itertools import combinations, islice, product

import numpy as np
import pytest

from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.relaxations import (
    least_defiers,
    most_defiers,
    relaxed_complier_effect,
    relaxed_effect,
    vertices,
)
from linear_program import random_laws
from relaxation_programs import defiers_program, exclusion_program, independence_program

EPS = np.array([0.0, 0.02, 0.1, 0.3, 0.8])
SOME_OR_ALL = pytest.mark.parametrize("n", [12, pytest.param(200, marks=pytest.mark.slow)])


def laws_of(n: int, seed: int) -> np.ndarray:
    """Half of them sparse, with cells that nobody is in."""
    rng = np.random.default_rng(seed)
    return np.concatenate([random_laws(n // 2, 1.0, rng), random_laws(n - n // 2, 0.1, rng)])


@SOME_OR_ALL
@pytest.mark.parametrize("program", [exclusion_program, independence_program])
def test_exclusion_and_independence_against_a_program_on_types(program, n):
    rng = np.random.default_rng(1)
    for p in laws_of(n, seed=2):
        z_share = float(rng.uniform(0.05, 0.95))
        found = np.stack(relaxed_effect(p, EPS, z_share), axis=-1)
        expected = [program(p, float(eps), z_share) for eps in EPS]
        assert np.abs(found - expected).max() < 1e-7


@SOME_OR_ALL
def test_defiers_against_a_program_on_types(n):
    compared = 0
    for p in laws_of(n, seed=3):
        p = p if p[1, 1].sum() >= p[0, 1].sum() else p[::-1]
        # A program cannot go below the least share, and its ratio means nothing where there are no compliers.
        eps = least_defiers(p) + EPS[1:] * (most_defiers(p) - least_defiers(p))
        if p[1, 1].sum() - p[0, 1].sum() + least_defiers(p) < 1e-3:
            continue
        found = np.stack(relaxed_complier_effect(p, eps), axis=-1)
        expected = [defiers_program(p, float(e) + 1e-12) for e in eps]
        assert np.abs(found - expected).max() < 1e-6
        compared += 1
    assert compared > 0.8 * n


def test_nothing_fails_at_zero():
    laws = laws_of(500, seed=4)
    for z_share in (0.1, 0.5, 0.7):
        found = relaxed_effect(laws, np.zeros(1), z_share)
        assert np.abs(np.stack(found)[..., 0] - sharp_ends(laws)).max() < 1e-12


def test_no_defiers_is_walds_ratio():
    rng = np.random.default_rng(5)
    strata = rng.dirichlet(np.full(12, 0.5), 300)
    types = [s for s in product((0, 1), repeat=4) if s[:2] != (1, 0)]
    laws = np.zeros((300, 2, 2, 2))
    for share, stratum in zip(strata.T, types, strict=True):
        for z in (0, 1):
            laws[:, z, stratum[z], stratum[2 + stratum[z]]] += share
    moved = laws[:, 1, 1].sum(-1) - laws[:, 0, 1].sum(-1)
    ratio = (laws[:, 1, :, 1].sum(-1) - laws[:, 0, :, 1].sum(-1)) / moved
    strong = moved > 1e-3
    assert least_defiers(laws).max() < 1e-12
    for end in relaxed_complier_effect(laws[strong], np.zeros(1)):
        assert np.abs(end[:, 0] - ratio[strong]).max() < 1e-9


@pytest.mark.parametrize("ends", [lambda p, eps: relaxed_effect(p, eps, 0.4), relaxed_complier_effect])
def test_the_more_may_fail_the_wider(ends):
    lower, upper = ends(laws_of(400, seed=6), np.linspace(0, 1, 30))
    assert (np.diff(lower) <= 1e-12).all() and (np.diff(upper) >= -1e-12).all() and (lower <= upper + 1e-12).all()


def test_at_one_nothing_is_assumed():
    """Manski: the width is the outcome's range, whatever the law."""
    lower, upper = relaxed_effect(laws_of(100, seed=7), np.ones(1), 0.3)
    assert np.abs(upper - lower - 1).max() < 1e-12


def test_the_table_has_every_vertex_of_the_dual():
    """All 293,930 sets of nine constraints, at two values of P(Z=1): the feasible solutions are the table."""
    for z_share in (0.3, 0.85):
        rows, limits = dual_constraints(z_share)
        found: set[tuple[float, ...]] = set()
        sets = combinations(range(len(rows)), 9)
        while chunk := list(islice(sets, 50_000)):
            chosen = np.array(chunk)
            regular = np.abs(np.linalg.det(rows[chosen])) > 0.5  # entries are 0 and 1: the determinant is whole
            solved = np.linalg.solve(rows[chosen[regular]], limits[chosen[regular]][..., None])[..., 0]
            feasible = solved[(solved @ rows.T <= limits + 1e-9).all(axis=1)]
            found |= {tuple(np.round(point, 9) + 0.0) for point in feasible}
        worth, prices = vertices(z_share)
        table = np.column_stack([worth, prices.reshape(-1, 8)])
        assert {tuple(np.round(line, 9) + 0.0) for line in table} == found
        assert len(found) == len(worth) == 17


def dual_constraints(z_share: float) -> tuple[np.ndarray, np.ndarray]:
    """Worth - price of a cell of arm 0 - price of a cell of arm 1 <= what a pair loses by being one type; all >= 0."""
    rows, limits = [], []
    cells = list(product((0, 1), repeat=2))
    for (i, (t0, y0)), (j, (t1, y1)) in product(enumerate(cells), repeat=2):
        if t0 == t1 and y0 != y1:
            continue  # nobody is one type and shows two outcomes of the same treatment
        best = [y if t else 1 - y for t, y in ((t0, y0), (t1, y1))]
        effect = best[0] if t0 == t1 else y1 - y0 if t1 else y0 - y1
        row = np.zeros(9)
        row[[0, 1 + i, 5 + j]] = 1, -1, -1
        rows.append(row)
        limits.append((1 - z_share) * best[0] + z_share * best[1] - effect)
    return np.vstack([rows, -np.eye(9)]), np.append(limits, np.zeros(9))
