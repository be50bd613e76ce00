"""Products in pieces: what numpy says of the whole, and no piece that threads would wait for each other in."""

from __future__ import annotations

import numpy as np
import pytest

from ivicl._shared import products
from ivicl._shared.products import cross, times

SHAPES = [(20_000, 21, 21), (20_000, 11, 128), (20_000, 21, 1), (20_000, 1, 1), (500, 100, 100), (7, 3, 2), (0, 3, 2)]


@pytest.mark.parametrize(("n", "p", "q"), SHAPES)
@pytest.mark.parametrize("stacked", [2**17, 1])
def test_pieces_together_are_the_product(n, p, q, stacked, monkeypatch):
    monkeypatch.setattr(products, "STACKED", stacked)
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(n, p)), rng.normal(size=(p, q)), rng.normal(size=(n, q))
    for found, wanted in (
        (times(a, b), a @ b),
        (times(a, b[:, 0]), a @ b[:, 0]),
        (cross(a, c), a.T @ c),
        (cross(a, c[:, 0]), a.T @ c[:, 0]),
        (cross(a[:, 0], c), a[:, 0] @ c),
        (cross(a[:, 0], c[:, 0]), a[:, 0] @ c[:, 0]),
    ):
        assert found.shape == np.shape(wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-10)


def test_pieces_of_thin_products_are_small_and_wide_ones_are_whole():
    for p, q in ((1, 1), (1, 128), (21, 1), (21, 21), (11, 128), (64, 64)):
        most = 9_216 if 1 in (p, q) else 2**18  # of OpenBLAS, as its sources have it
        assert products._rows(p, q, 10**6) * p * q <= most
    assert products._rows(101, 101, 10**6) == 10**6


def test_rows_need_not_lie_side_by_side():
    a = np.random.default_rng(0).normal(size=(3, 5_000))
    np.testing.assert_allclose(times(a.T, np.eye(3)), a.T)
    np.testing.assert_allclose(cross(a.T[::2], a.T[::2]), a[:, ::2] @ a[:, ::2].T)
