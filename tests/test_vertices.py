"""The corners of the set of strata laws: the identified set's ends are among them, and posteriors peak there."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ivicl.benchmarks.model_card import reference  # noqa: E402
from ivicl.identification.balke_pearl import sharp_ends  # noqa: E402
from ivicl.identification.strata import law_of  # noqa: E402
from ivicl.learn.network.residual import smoothed_law  # noqa: E402
from ivicl.learn.network.vertices import (  # noqa: E402
    COUNT,
    SPIKE_PARAMETERS,
    CornerTable,
    Spikes,
    corners,
    spread_mass,
)


def test_the_outermost_corners_are_the_ends_of_the_identified_set() -> None:
    rng = np.random.default_rng(0)
    table = corners()
    for gamma in (0.1, 0.5, 2.0):
        for strata in rng.dirichlet(np.full(16, gamma), 20):
            law = law_of(strata)
            p = law.ravel()[:7]
            negative = (table.strata @ p < -1e-12).astype(float)
            exists = table.members @ negative == 0
            effects = (table.effects @ p)[(table.owners[exists] > 0).any(0)]
            assert (effects.min(), effects.max()) == pytest.approx(sharp_ends(law), abs=1e-9)


def test_exact_posteriors_of_large_tables_peak_at_the_spikes() -> None:
    """Density of the exact posterior at the heaviest spike, against its mean over the identified set."""
    known = reference.load().part("prior")
    people = known.counts.sum((1, 2, 3))
    ratios, elsewhere = [], []
    for counts, effect in zip(known.counts[people > 1e5], known.effect[people > 1e5], strict=True):
        flat = torch.tensor(counts.reshape(1, 8), dtype=torch.float32)
        spikes = CornerTable(0.1)(smoothed_law(flat, 0.4), flat.view(1, 2, 4).sum(-1))
        place = float(spikes.place[0, spikes.log_share[0].argmax()])
        at = int((place + 1) * 512)
        inside = effect[effect > effect.max() * 1e-3]
        ratios.append(effect[max(at - 2, 0) : at + 3].max() / inside.mean())
        elsewhere.append(effect[max(at - 27, 0) : at - 22].max() / inside.mean())
    assert np.median(ratios) > 4 > 1.5 > np.median(elsewhere)


def one_spike(place: float, spread: float) -> Spikes:
    log_share = torch.full((1, COUNT), -40.0)
    log_share[0, 5] = 0.0
    return Spikes(torch.full((1, COUNT), place), torch.full((1, COUNT), spread), log_share)


@pytest.mark.parametrize("place", [-0.9, 0.0317, 0.5])
def test_mass_lies_where_the_spike_is_and_as_wide_as_it_is_uncertain(place: float) -> None:
    centres = (np.arange(1024) + 0.5) / 512 - 1
    widths = []
    for spread in (0.001, 0.01, 0.05):
        mass = spread_mass(one_spike(place, spread), torch.zeros(1, SPIKE_PARAMETERS))[0].numpy()
        assert mass.sum() == pytest.approx(1, abs=1e-5) and mass.min() >= 0
        assert (mass * centres).sum() == pytest.approx(place, abs=0.002 + 0.1 * spread)
        widths.append(np.sqrt((mass * (centres - place) ** 2).sum()))
    assert widths == sorted(widths) and widths[2] > 5 * widths[0]


def test_learnt_shift_moves_mass_between_spikes() -> None:
    log_share = torch.full((1, COUNT), -40.0)
    log_share[0, :2] = np.log(0.5)
    place = torch.zeros(1, COUNT)
    place[0, 0], place[0, 1] = -0.5, 0.5
    spikes = Spikes(place, torch.full((1, COUNT), 0.002), log_share)
    raw = torch.zeros(1, SPIKE_PARAMETERS)
    assert float(spread_mass(spikes, raw)[0, :512].sum()) == pytest.approx(0.5, abs=1e-4)
    raw[0, 0] = np.log(3)
    assert float(spread_mass(spikes, raw)[0, :512].sum()) == pytest.approx(0.75, abs=1e-4)
