"""The benchmarks whose law we write ourselves: synthetic, airplane, links."""

from __future__ import annotations

import numpy as np
import pytest

from ivicl.benchmarks.sets import airplane, links, synthetic
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.strata import effect_of, law_of


def test_one_seed_one_table_and_the_shape_of_the_paper() -> None:
    tables = [synthetic.generate(seed) for seed in range(12)]
    assert np.array_equal(tables[0].y, synthetic.generate(0).y)
    assert all(t.x.shape[0] == 2048 and 5 <= t.x.shape[1] <= 10 for t in tables)
    assert len({t.x.shape[1] for t in tables}) > 2
    # The law of the covariates is drawn a column: some tables hold both kinds.
    normal = [(t.x.mean(axis=0) > 2.5) for t in tables]
    assert any(0 < kind.mean() < 1 for kind in normal)


def test_the_data_follow_the_strata_that_the_truth_is_made_of() -> None:
    for seed in range(4):
        table = synthetic.generate(seed)
        law = law_of(table.strata)
        rows, z = np.arange(len(table.z)), table.z.astype(int)
        for t in (0, 1):
            for y in (0, 1):
                p = law[rows, z, t, y]
                seen = (table.t == t) & (table.y == y)
                spread = np.sqrt((p * (1 - p)).sum()) + 1e-9
                assert abs((seen - p).sum()) / spread < 4


def test_strata_and_law_on_a_case_done_by_hand() -> None:
    compliers_helped = np.zeros(16)
    compliers_helped[8 * 0 + 4 * 1 + 2 * 0 + 1] = 1.0  # T(0)=0, T(1)=1, Y(0)=0, Y(1)=1
    law = law_of(compliers_helped)
    assert law[0, 0, 0] == 1 and law[1, 1, 1] == 1 and law.sum() == 2
    assert effect_of(compliers_helped) == 1
    assert sharp_ends(law) == (1, 1)


def test_both_truths() -> None:
    for seed in range(3):
        table = synthetic.generate(seed)
        assert table.lower <= table.sate <= table.upper
        assert table.lower_x <= table.sate_x <= table.upper_x
        # The same noise, integrated: close to the realised one, and wider on average over many draws of it.
        assert abs(table.lower_x - table.lower) < 0.03 and abs(table.upper_x - table.upper) < 0.03
        assert np.allclose(table.strata_given_x.sum(axis=1), 1)
    table = synthetic.generate(1, n=300, noise_draws=256)
    rng = np.random.default_rng(0)
    redrawn = []
    for _ in range(60):
        noise = synthetic._noise(rng, table.noise_law, table.linear_logits.shape)
        lower, upper = sharp_ends(law_of(synthetic.softmax(table.linear_logits + noise)))
        redrawn.append(upper.mean() - lower.mean())
    assert table.upper_x - table.lower_x > np.mean(redrawn) - 0.001


def test_mean_true_width_stays_where_it_was_documented() -> None:
    width = np.mean([(t := synthetic.generate(seed)).upper - t.lower for seed in range(30)])
    assert 0.4 < width < 0.62


def test_airplane_keeps_exclusion() -> None:
    made = airplane.dataset(seed=0, n=40_000)
    s, emotion = made.data.x[:, 0], made.data.x[:, 1:] @ np.arange(1, 8)
    prices = np.where(made.data.t == 1, airplane.PRICES[1], airplane.PRICES[0])
    error = made.data.y - airplane.demand(s, emotion, prices)
    # Given the treatment's one price, what is left is an error that Z does not move, and T does.
    assert abs(error[made.data.z == 1].mean() - error[made.data.z == 0].mean()) < 0.03
    assert error[made.data.t == 1].mean() - error[made.data.t == 0].mean() > 0.2
    assert error.std() == pytest.approx(1, abs=0.02)
    effect = airplane.demand(s, emotion, airplane.PRICES[1]) - airplane.demand(s, emotion, airplane.PRICES[0])
    assert made.effect == pytest.approx(effect.mean())


def test_airplane_first_stage_changes_direction_late_in_the_year() -> None:
    assert airplane.sensf(np.array([1.0]))[0] < 0 < airplane.sensf(np.array([9.99]))[0]
    made = airplane.dataset(seed=0, n=60_000)
    early = made.data.x[:, 0] < 9
    stage = made.data.t[early & (made.data.z == 1)].mean() - made.data.t[early & (made.data.z == 0)].mean()
    assert made.sharp_width == pytest.approx(1 - abs(stage), abs=0.06)


@pytest.mark.parametrize("family", links.FAMILIES)
def test_links(family: str) -> None:
    made = links.dataset(f"{family}/n=40000/d=3", 5)
    z, t = made.data.z, made.data.t
    stage = t[z == 1].mean() - t[z == 0].mean()
    assert made.sharp_width == pytest.approx(1 - stage, abs=0.02)
    # Confounded on purpose: the naive contrast misses the effect, and by about the same sign, since U raises both.
    naive = made.data.y[t == 1].mean() - made.data.y[t == 0].mean()
    assert naive - made.effect > 0.1
    again = links.dataset(f"{family}/n=40000/d=3", 5)
    assert np.array_equal(made.data.y, again.data.y)
    assert made.effect != links.dataset(f"{family}/n=40000/d=3", 6).effect


def test_linear_family_has_one_effect_for_all() -> None:
    effects = [links.dataset("linear/n=64/d=5", seed).effect for seed in range(60)]
    assert min(np.abs(effects)) >= 0.5 and max(np.abs(effects)) <= 2.0
    assert 0.2 < np.mean(np.array(effects) > 0) < 0.8
