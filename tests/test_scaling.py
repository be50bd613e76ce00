"""Covariates on one scale: in numpy, and the same inside the network's graph."""

from __future__ import annotations

import numpy as np
import pytest

from ivicl._shared.scaling import standardise


def awkward_columns() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(40, 6))
    x = base * [1.0, 1e-9, 1e9, 1.0, 0.0, 1e307] + [0.0, 0.0, 0.0, 1e6, 0.1 * 3, 0.0]
    return x, rng.integers(0, 4, 40).astype(float)


def test_mean_zero_and_variance_one_by_weight_and_constants_become_zero():
    x, w = awkward_columns()
    made, share = standardise(x, w), w / w.sum()
    np.testing.assert_allclose(share @ made, 0.0, atol=1e-9)
    np.testing.assert_allclose(share @ made**2, [1, 1, 1, 1, 0, 1], atol=1e-9)
    copies = np.repeat(np.arange(len(x)), w.astype(int))
    np.testing.assert_allclose(standardise(x[copies]), made[copies], atol=1e-9)
    assert standardise(x[:, :0], w).shape == (40, 0)


def test_the_graph_does_the_same():
    torch = pytest.importorskip("torch")
    from ivicl.learn.network import prepare

    x, w = awkward_columns()
    inside = prepare.standardise(torch.tensor(x)[None], torch.tensor(w)[None])[0].numpy()
    real = w > 0
    np.testing.assert_allclose(inside[real], standardise(x, w)[real], atol=1e-6)
