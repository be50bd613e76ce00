"""Ends that do not lightly change the term of the formula."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ivicl.learn.network.ends import Rows, estimate  # noqa: E402
from ivicl.learn.network.model import soft_cells  # noqa: E402
from ivicl.learn.network.steady import STEADY, STEADY_NEWS, steady  # noqa: E402
from ivicl.learn.prior import BINARY, PriorConfig, generator_for  # noqa: E402
from ivicl.learn.prior.sampler import allowed_strata, draw_rows  # noqa: E402
from ivicl.learn.prior.strata import strata_of  # noqa: E402
from ivicl.learn.theory import mean_ends  # noqa: E402

FEW_COMPLY = [[0.42, 0.28, 0.12, 0.18], [0.40, 0.26, 0.13, 0.21]]
"""P(T, Y | Z): nobody needs to defy, and terms nearly tie."""
N = 4000


def sample(law: torch.Tensor, tables: int, seed: int) -> Rows:
    """Tables of people of laws (N,2,4), half of them in each arm."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, (tables, N))
    chance = law.numpy()[np.arange(N), z].cumsum(-1)
    cell = (rng.random((tables, N, 1)) > chance).sum(-1).clip(max=3)
    z, t, y = (torch.tensor(part).float() for part in (z, cell // 2, cell % 2))
    one = torch.ones(tables, N).double()
    return Rows(soft_cells(z, t, y).double(), 0 * one, one)


def blurred(law: torch.Tensor, tables: int, size: float) -> torch.Tensor:
    """The laws (N,2,4) with errors of their own at each row."""
    noise = torch.randn(tables, N, 2, 4, generator=torch.Generator().manual_seed(1)).double()
    return (law.log() + size * noise).softmax(-1)


def ends_of(law: torch.Tensor) -> torch.Tensor:
    """(2,) true ends of the effect."""
    least_1, most_1, least_0, most_0 = mean_ends(law.reshape(-1, 2, 2, 2)).mean(0)
    return torch.stack([least_1 - most_0, most_1 - least_0])


def test_with_one_term_for_everybody_errors_of_the_law_do_not_move_the_end():
    law, half = torch.tensor([FEW_COMPLY] * N).double(), torch.full((40, N), 0.5).double()
    rows, guess, noise = sample(law, 40, 0), blurred(law, 40, 0.3), torch.full((40, 1), 0.016).double()
    found, free = steady(guess, half, rows, noise), estimate(guess, half, rows, noise)
    off = (found.ends[:, :, :2] - ends_of(law)) / free.se[:, None, :2] * torch.tensor([1.0, -1.0])
    freely = (free.one_step[:, :2] - ends_of(law)) / free.se[:, :2] * torch.tensor([1.0, -1.0])
    sure = 4 / np.sqrt(2 * 40)
    assert float(freely.mean()) < -2  # too far out: the wrong term at many rows
    assert abs(float(off[:, -1].mean())) < sure
    assert float(freely.mean()) < float(off[:, 0].mean()) < float(off[:, 1].mean()) + 0.1
    assert found.ends.shape == (40, STEADY, 11)
    assert found.news(free.one_step, free.se).shape == (40, STEADY_NEWS)


def test_where_terms_change_with_x_one_term_is_not_enough_and_that_shows():
    """Half of the people comply, half defy: the ends are those of two formulas, and a lead of 0.05 does not hide it."""
    comply = torch.tensor([[0.6, 0.2, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6]]).double()
    law = torch.stack([comply, comply.flip(0)])[torch.arange(N) % 2]
    rows, half, noise = sample(law, 40, 2), torch.full((40, N), 0.5).double(), torch.full((40, 1), 0.016).double()
    known = law.expand(40, -1, -1, -1)
    found, se = steady(known, half, rows, noise), estimate(known, half, rows, noise).se
    off = (found.ends[:, :, :2] - ends_of(law)) / se[:, None, :2] * torch.tensor([1.0, -1.0])
    assert abs(float(off[:, 0].mean())) < 4 / np.sqrt(2 * 40)
    assert float(off[:, -1].mean()) < -5
    # Every term falls short for half of the people: the best ones by .6 - .1 or by .2 - .1.
    torch.testing.assert_close(found.lost.amin(-1)[0], torch.tensor([0.25, 0.05, 0.05, 0.25]).double())

    alike = torch.tensor([FEW_COMPLY] * N).double()
    same = steady(alike.expand(1, -1, -1, -1), half[:1], sample(alike, 1, 0), noise[:1])
    assert float(same.lost.amin(-1).max()) < 1e-9


def test_some_tables_have_no_defiers_though_nobody_says_so():
    takes = strata_of(2).takes
    up, down = ((takes[:, 0] - takes[:, 1]) == side for side in (-1, 1))
    config = PriorConfig(one_sided_share=0.0, perfect_share=0.0)
    drawn = draw_rows(config, generator_for(3, 1), 400, 40, 2)
    empty = [(drawn.laws.p[..., side].sum(-1) == 0).all(1) for side in (up, down)]
    assert float((empty[0] | empty[1]).float().mean()) == pytest.approx(config.unsaid_share, abs=0.08)
    assert float(empty[0].float().mean()) == pytest.approx(config.unsaid_share / 2, abs=0.06)
    bare = draw_rows(config, generator_for(3, 2), 100, 40, 0)
    assert not any((bare.laws.p[..., side].sum(-1) == 0).all(1).any() for side in (up, down))
    assert allowed_strata(generator_for(3, 3), 5, BINARY) is None
