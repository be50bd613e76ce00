"""The tree that asks the best questions, what a flexible candidate costs, and what tells whether to trust the ends."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from ivicl.learn.network.doubts import DOUBTS, doubts  # noqa: E402
from ivicl.learn.network.ends import Rows  # noqa: E402
from ivicl.learn.network.grown import GrownTree  # noqa: E402
from ivicl.learn.network.mixture import mixture  # noqa: E402
from ivicl.learn.network.model import soft_cells  # noqa: E402
from ivicl.learn.network.trees import Trees  # noqa: E402


def boxes(n: int = 4000) -> tuple[torch.Tensor, ...]:
    """x, outcome, arm, mean and chances, where two covariates of eight cut the people into four regions."""
    generator = torch.Generator().manual_seed(9)
    x = torch.randn(1, n, 8, generator=generator)
    chance = torch.tensor([0.1, 0.5, 0.9, 0.3])[2 * (x[0, :, 5] > 0.4).long() + (x[0, :, 2] > -0.7).long()]
    y = (torch.rand(n, generator=generator) < chance).float()[None]
    z, t = torch.tensor([0.0, 1.0] * (n // 2))[None], torch.zeros(1, n)
    cell = soft_cells(z, t, y)
    return x, cell[:, :, :4] + cell[:, :, 4:], torch.stack([1 - z, z], -1), torch.full((1, 2, 4), 0.25), chance


def test_the_grown_tree_asks_the_questions_that_matter():
    x, outcome, arm, mean, chance = boxes()
    short, long = GrownTree()(x, outcome, arm, mean)
    drawn = Trees(64, 5)(x, torch.ones(1, 8), outcome, arm, mean)[1]
    error = [(law[0, :, :, 1] - chance[:, None]).abs().mean() for law in (short, long, drawn)]
    assert max(error[:2]) < 0.03
    assert error[2] > 2 * max(error[:2]), "random questions do not find four regions"


def test_the_grown_tree_knows_neither_the_order_of_rows_nor_how_they_are_merged():
    """Nor, but for what it asks, the person whom it predicts."""
    x, outcome, arm, mean, _ = (part.double() for part in boxes(600))
    tree = GrownTree()
    short, long = tree(x, outcome, arm, mean)
    order = torch.randperm(600, generator=torch.Generator().manual_seed(1))
    again = tree(x[:, order], outcome[:, order], arm[:, order], mean)
    for law, turned in zip((short, long), again, strict=True):
        torch.testing.assert_close(turned, law[:, order], atol=1e-6, rtol=0)
    copies = tree(*(torch.cat([part, part], 1) for part in (x, outcome, arm)), mean)
    weighted = tree(x, outcome, 2 * arm, mean)
    torch.testing.assert_close(copies[1][:, :600], weighted[1], atol=1e-6, rtol=0)


def test_a_flexible_candidate_must_earn_its_place():
    """Two candidates that are alike: the one that costs more gets less, and the more people, the less that matters."""
    shares = {}
    for n in (100, 100_000):
        stack = torch.full((1, n, 1, 2, 2), 0.5).double()
        outcome = torch.eye(2).double().repeat(n // 2, 1)[None]
        found = mixture(stack, outcome, torch.ones(1, n, 1).double(), (0.0, 20.0))
        shares[n] = found[0, 0, 1].item()
    assert shares[100] < 0.1 < shares[100_000] <= 0.5


def test_doubts_tell_one_active_term_from_several():
    """Without defiers one term is active everywhere; where types change with x, others are."""
    n = 400
    cell = torch.zeros(1, n, 8).double()
    cell[..., 0] = 1.0
    rows, unit = Rows(cell, torch.zeros(1, n).double(), torch.ones(1, n).double()), torch.full((1, 11), 0.02).double()
    one = torch.tensor([[0.5, 0.4, 0.05, 0.05], [0.25, 0.15, 0.25, 0.35]]).double()
    flipped = one.flip(0)
    half = (torch.arange(n) % 2 == 0).view(1, n, 1, 1)
    chance = torch.full((1, n), 0.5).double()
    same = doubts(one.expand(1, n, 2, 4), chance, rows, unit).news
    mixed = doubts(torch.where(half, one, flipped), chance, rows, unit).news
    assert same.shape == (1, DOUBTS)
    assert same[0, :4].max() > 0.99 and mixed[0, :4].max() < 0.6
    assert same[0, 16] < mixed[0, 16] + 1e-9
    assert same[0, 28] < 1e-6  # the instrument depends on nothing
    assert doubts(one.expand(1, n, 2, 4), torch.linspace(0.2, 0.8, n).double()[None], rows, unit).news[0, 28] > 0.5
