"""P(Z=1 | x): found where it is linear or bent, left alone where Z was drawn by lot, blind to the row itself."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs ivicl[train]")

from ivicl.learn.network.propensity import products, propensity  # noqa: E402

LOGITS = {
    "linear": lambda x: 1.2 * x[:, 0] - 0.6 * x[:, 1],
    "bent": lambda x: 1.2 * x[:, 0] * x[:, 1] + 0.5 * (x[:, 2] ** 2 - 1),
    "by lot": lambda x: 0 * x[:, 0],
}


def drawn(logit: str, n: int, columns: int = 6, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, np.ndarray]:
    """x (1,n,columns), weights by arm (1,n,2), and the true P(Z=1 | x)."""
    rng = np.random.default_rng([seed, n])
    x = rng.normal(size=(n, columns))
    chance = 1 / (1 + np.exp(-LOGITS[logit](x)))
    z = rng.random(n) < chance
    return torch.tensor(x)[None], torch.tensor(np.stack([~z, z], 1).astype(float))[None], chance


@pytest.mark.parametrize(("logit", "most"), [("linear", 0.03), ("bent", 0.04), ("by lot", 0.015)])
def test_it_is_found(logit: str, most: float) -> None:
    x, arm, chance = drawn(logit, 8_000)
    found = propensity(x, arm)[0].numpy()
    # A constant is off by 0.25 for `linear`, a linear fit to `bent` by 0.22.
    assert np.sqrt(np.mean((found - chance) ** 2)) < most


def test_a_row_does_not_tell_its_own_instrument() -> None:
    leaks = []
    for seed in range(8):
        x, arm, _ = drawn("by lot", 60, columns=20, seed=seed)
        leaks.append(np.corrcoef(propensity(x, arm)[0].numpy(), arm[0, :, 1].numpy())[0, 1])
    # With the row itself among those fitted, the correlation would be near +0.8.
    assert np.mean(leaks) < 0.05


def test_copies_are_weights() -> None:
    x, arm, _ = drawn("bent", 300)
    copied = propensity(x.repeat(1, 3, 1), arm.repeat(1, 3, 1))[0, :300]
    torch.testing.assert_close(copied, propensity(x, 3 * arm)[0], rtol=0, atol=1e-9)


def test_one_person_far_out_changes_little_for_others() -> None:
    x, arm, _ = drawn("linear", 2_000)
    wild = x.clone()
    wild[0, 0, 3] = 60.0
    change = (propensity(wild, arm) - propensity(x, arm))[0, 1:].abs()
    assert change.max() < 0.02
    assert products(wild).abs().max() <= 9.0
