"""Judges of count tables, levels and heads: their arithmetic on answers that are right, or wrong in a known way."""

from __future__ import annotations

import numpy as np
import pytest

from ivicl.benchmarks.model_card import counts, heads
from ivicl.benchmarks.model_card import level_reference as reference
from ivicl.benchmarks.model_card.count_tables import KINDS, as_rows, draw_tables
from ivicl.benchmarks.model_card.places import holm, place_in_cells, uniform_p
from ivicl.methods.pretrained.schema_2 import CELLS, LOWEST, OFFSETS, QUANTITIES, Posteriors


def test_places_are_uniform_for_draws_of_the_posterior_and_only_for_them():
    rng = np.random.default_rng(0)
    edges = np.tile([0.0, 0.1, 0.1, 0.4, 1.0, 1.0], (4000, 1))  # cells without a width among them
    mass = np.tile([0.3, 0.0, 0.2, 0.5, 0.0], (4000, 1))
    cell = rng.choice(5, 4000, p=mass[0])
    # A spike at the left edge of the second wide cell, an atom at the very end of what is possible.
    truth = np.array([0.05, 0.0, 0.1, 1.0, 0.0])[cell]
    places = place_in_cells(edges, mass, truth, rng)
    assert uniform_p(places) > 0.01
    assert uniform_p(place_in_cells(edges, mass[:, ::-1], truth, rng)) < 1e-6
    outside = place_in_cells(edges[:2], mass[:2], np.array([-0.5, 1.5]), rng)
    assert outside.tolist() == [0.0, 1.0]


def test_holm_by_hand():
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06})
    assert holm({"a": 0.9, "b": 0.5}) == {"a": 1.0, "b": 1.0}


def normal(anchor: np.ndarray, unit: np.ndarray, sd: float = 1.0) -> np.ndarray:
    """(B,Q,M) masses of normal posteriors at the anchors, of `sd` units, on the network's cells."""
    from scipy.stats import norm

    raw = np.clip(anchor[..., None] + unit[..., None] * OFFSETS, np.array(LOWEST)[:, None], 1.0)
    below = norm.cdf((raw - anchor[..., None]) / (sd * unit[..., None]))
    mass = np.diff(below, axis=-1) + 1e-30
    return mass / mass.sum(axis=-1, keepdims=True)


def answer(anchor: np.ndarray, unit: np.ndarray, sd: float = 1.0, shift: float = 0.0) -> Posteriors:
    size = len(anchor)
    moved = anchor + shift * unit
    effect = np.full((size, 1024), 1 / 1024)
    return Posteriors(effect, moved, unit, normal(moved, unit, sd), (None,) * size)


class Oracle:
    """Says where the ends are in large tables, from the counts, with the right standard error."""

    name, sha256 = "oracle", "ab" * 32

    def __init__(self, sd: float = 1.0) -> None:
        self.sd = sd

    def predict(self, x, z, t, y, w, v, told) -> Posteriors:
        from ivicl.benchmarks.efficiency.best import efficient_se
        from ivicl.benchmarks.efficiency.laws import Seen, true_ends

        anchor, unit = np.zeros((len(w), len(QUANTITIES))), np.ones((len(w), len(QUANTITIES)))
        for i in range(len(w)):
            moments = np.zeros((3, 1, 2, 2))
            for r in range(w.shape[1]):
                arm = w[i][z[i] == z[i, r]].sum()
                powers = (1.0, y[i, r], v[i, r] + y[i, r] ** 2)
                for k, power in enumerate(powers):
                    moments[k, 0, z[i, r], t[i, r]] += w[i, r] / arm * power
            seen = Seen(np.array([0.5]), *moments)
            truth, errors = true_ends(seen), efficient_se(seen, int(w[i].sum()))
            anchor[i], unit[i] = 0.0, 0.1
            for name in ("ATE", "ATT", "LATE"):
                for end, (at, se) in enumerate(zip(truth[name], errors[name], strict=True)):
                    place = QUANTITIES.index(name if name == "LATE" else f"{name} {('lower', 'upper')[end]}")
                    anchor[i, place], unit[i, place] = at, se
        return answer(anchor, unit, self.sd)


def test_an_oracle_is_efficient_and_a_hedger_is_not():
    """Right posteriors have margins near the best one (the sampling error of 12 tables is a tenth of it)."""
    best, hedged = (counts._efficiency(Oracle(sd), KINDS[1], 10**7, 12)["efficiency"] for sd in (1.0, 2.0))
    assert best == pytest.approx(1.0, abs=0.3)
    assert hedged == pytest.approx(best + 1.0, abs=0.05)


def test_the_heads_of_one_sided_trials_are_compared():
    class Apart(Oracle):
        def predict(self, *arrays) -> Posteriors:
            found = super().predict(*arrays)
            found.anchor[:, QUANTITIES.index("LATE")] += 0.05
            return found

    assert counts.one_sided_trials(Oracle(), 10)["difference"] < 1e-3
    assert counts.one_sided_trials(Apart(), 10)["difference"] == pytest.approx(0.05, abs=2e-3)


def test_levels_become_mean_and_variance():
    kind = KINDS[1]
    table = np.array([[[2, 1, 1], [0, 0, 4]], [[1, 0, 0], [0, 3, 0]]])[None]
    x, _, _, y, w, v, told = as_rows(table, kind)
    assert x.shape == (1, 4, 0) and told.tolist() == [0.0]
    np.testing.assert_array_equal(w[0], [4, 4, 1, 3])
    np.testing.assert_allclose(y[0], [0.375, 1.0, 0.0, 0.5])
    np.testing.assert_allclose(v[0], [np.var([0, 0, 0.5, 1]), 0, 0, 0], atol=1e-12)
    tables = draw_tables(kind, np.random.default_rng(0), 5, (20.0, 60.0))
    assert tables[:, :, :, 1].sum(axis=(1, 2)).min() > 0


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_kept_reference_is_what_its_seed_draws(kind):
    kept = reference.load(kind)
    drawn = draw_tables(
        kind, np.random.default_rng([reference.SEED, KINDS.index(kind)]), reference.TABLES, reference.PEOPLE
    )
    np.testing.assert_array_equal(kept.counts, drawn)
    np.testing.assert_allclose(kept.effect.sum(axis=1), 1, atol=1e-5)
    assert np.isnan(kept.means[:, -1]).all() == (not kind.no_defiers)
    lower, upper = kept.means[:, 0], kept.means[:, 1]
    middle = kept.effect @ np.linspace(-1 + 1 / 1024, 1 - 1 / 1024, 1024)
    assert (lower <= middle + 2e-3).all() and (middle <= upper + 2e-3).all()
    assert kept.quantile_se.max() < 0.01


def test_a_run_is_judged_without_an_export(tmp_path, monkeypatch):
    """A training run's folder answers; a network that knows nothing is calibrated in no head."""
    from ivicl.benchmarks.model_card.checkpoint import load
    from ivicl.learn.network.config import NetworkConfig
    from ivicl.learn.training.config import TrainConfig
    from ivicl.learn.training.run import Run

    small = NetworkConfig(width=16, depth=1, heads=2, latents=4, row_hidden=16, max_features=8, regression_features=8,
                         trees=4, tree_depth=2, summary_width=16, summary_depth=1, covariate_width=16)  # fmt: skip
    Run(TrainConfig(network=small), tmp_path).save()
    model = load(tmp_path)
    assert model.name == tmp_path.name and model.metadata["network"]["width"] == 16
    monkeypatch.setattr(heads, "SHAPES", [(64, 2)])
    found = heads.calibration_of_heads(model, 96)
    assert found["tables"] == 96
    assert set(found["p_values"]) <= {"effect", *QUANTITIES} and "ATT lower" in found["p_values"]
    assert found["p_values"]["effect"] < 0.01  # all that a fresh network knows is a t density about its anchors
    assert sum(found["histograms"]["effect"]) == 96
    assert CELLS == 128
