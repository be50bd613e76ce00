"""How far out an end may lie: no farther than sampling allows from the innermost steady end."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ivicl.learn.network.ends import LOWEST, QUANTITIES, estimate  # noqa: E402
from ivicl.learn.network.grids import Grid, edges, log_masses  # noqa: E402
from ivicl.learn.network.outward import Limit  # noqa: E402
from ivicl.learn.network.steady import steady  # noqa: E402
from ivicl.methods.pretrained.schema_2 import CELLS  # noqa: E402
from ivicl.methods.pretrained.streaming import outward as in_chunks  # noqa: E402
from ivicl.methods.pretrained.streaming.constants import EVEN, NEAR, OUTWARD, SLACK, SURE  # noqa: E402
from test_steady import N, blurred, ends_of, sample  # noqa: E402

UNIT = 0.01
LOWER, UPPER, LATE = 0, 1, QUANTITIES - 1
PLENTY = 2 * SURE[1] / UNIT


def limit(place: float = 0.0, spread: float = 0.0, fewest: float = PLENTY, unit: float = UNIT) -> Limit:
    ends = torch.full((1, 1, QUANTITIES), place).double()
    of_table = (torch.tensor([[value]], dtype=torch.float64) for value in (spread, fewest))
    return Limit.of(ends, ends[0] * 0 + unit, *of_table)


def lowered(some: Limit, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of cells in units from 0, and by how much their log masses are lowered."""
    cut = edges(Grid(some.place * 0, some.place * 0 + UNIT), some.place.new_tensor(LOWEST))
    middle = 0.5 * (cut[..., 1:] + cut[..., :-1]) / UNIT
    return middle[0, q].numpy(), some.damping(cut, some.place * 0 + UNIT)[0, q].numpy()


def test_only_what_lies_outside_is_lowered_and_more_the_farther_out():
    for q, side in ((LOWER, 1), (UPPER, -1)):
        place, damping = lowered(limit(), q)
        outside = -side * place * UNIT / (UNIT + SLACK)
        assert (damping[outside < NEAR] == 0).all() and (damping[outside > NEAR + 0.1] > 0).all()
        np.testing.assert_allclose(damping, 0.5 * np.maximum(outside - NEAR, 0) ** 2, atol=1e-9)
    assert (lowered(limit(), LATE)[1] == 0).all()


def test_of_several_ends_the_innermost_counts():
    ends = torch.tensor([-0.3, -0.1, -0.2]).double().view(1, 3, 1).expand(1, 3, QUANTITIES)
    found = Limit.of(ends, ends[:, 0] * 0 + UNIT, torch.zeros(1, 1).double(), torch.full((1, 1), PLENTY).double()).place
    assert found[0, [LOWER, UPPER]].tolist() == pytest.approx([-0.1, -0.3])


def test_nothing_is_said_where_the_instrument_varies_by_many_units_or_few_people_decide():
    for some, share in (
        (limit(), 1.0),
        (limit(spread=EVEN[0] * UNIT), 0.0),
        (limit(spread=sum(EVEN) / 2 * UNIT), 0.5),
        (limit(spread=EVEN[1] * UNIT), 1.0),
        (limit(fewest=SURE[0] / UNIT), 0.0),
        (limit(fewest=sum(SURE) / 2 / UNIT), 0.5),
    ):
        assert some.trusted[0, LOWER].item() == pytest.approx(share)
        np.testing.assert_allclose(lowered(some, LOWER)[1], share * lowered(limit(), LOWER)[1])


def test_the_same_spread_is_many_units_with_many_people():
    for unit, share in ((UNIT, 1.0), (UNIT / 100, 0.0)):
        assert limit(spread=UNIT, fewest=2 * SURE[1] / unit, unit=unit).trusted[0, LOWER] == share


def test_masses_beyond_the_limit_are_gone_and_the_rest_keeps_its_shape():
    grid = Grid(torch.zeros(1, QUANTITIES).double(), torch.full((1, QUANTITIES), UNIT).double())
    lowest = torch.tensor(LOWEST).double()
    raw = torch.zeros(1, QUANTITIES, CELLS)
    raw[..., : CELLS // 4] = 6.0  # the network is not sure at all on this side
    free, damped = (log_masses(raw, grid, lowest, some)[0, LOWER].numpy() for some in (None, limit(-1.5 * UNIT)))
    place = lowered(limit(), LOWER)[0]
    far = place < -1.5 - NEAR - 2
    assert np.exp(free[far]).sum() > 0.2 and np.exp(damped[far]).sum() < 0.01
    inside = place > -NEAR - 1
    assert np.ptp((damped - free)[inside]) < 1e-5


def test_the_chunks_say_the_same():
    rng = np.random.default_rng(0)
    for spread, fewest, size in ((0.0, 900.0, 0.01), (0.08, 900.0, 0.01), (0.006, 9e4, 0.0007), (0.0, 300.0, 0.01)):
        ends, unit = rng.normal(0, 0.05, (3, QUANTITIES)), size * np.exp(rng.normal(0, 0.3, QUANTITIES))
        one, other = (
            Limit.of(*(torch.tensor(np.asarray(part))[None] for part in (ends, unit, [spread], [fewest]))),
            in_chunks.Limit.of(ends, unit, spread, fewest),
        )
        np.testing.assert_allclose(one.place[0], other.place)
        np.testing.assert_allclose(one.trusted[0], other.trusted)
        cut = np.sort(rng.normal(0, 0.1, (QUANTITIES, CELLS + 1)), 1)
        np.testing.assert_allclose(
            one.damping(torch.tensor(cut)[None], torch.tensor(unit)[None])[0], other.damping(cut, unit), atol=1e-12
        )


def test_steady_ends_err_outward_and_inward_only_by_chance():
    """What all of it rests on: half of the people comply, half defy, and the law is guessed well, badly, not at all."""
    comply = torch.tensor([[0.6, 0.2, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6]]).double()
    law = torch.stack([comply, comply.flip(0)])[torch.arange(N) % 2]
    half, noise = torch.full((60, N), 0.5).double(), torch.full((60, 1), 0.016).double()
    rows, side = sample(law, 60, 3), torch.tensor(OUTWARD[:2]).double()
    se = estimate(law.expand(60, -1, -1, -1), half, rows, noise).se[:, :2]
    off = []
    for size in (0.1, 1.0, 3.0):
        inner = (steady(blurred(law, 60, size), half, rows, noise).ends[:, :, :2] * side).amax(1)
        off.append((inner - ends_of(law) * side) / se)
    assert max(float(part.max()) for part in off) < NEAR + 1.5
    assert abs(float(off[0].mean())) < 0.5 and float(off[1].mean()) < -3 and float(off[2].mean()) < -10
