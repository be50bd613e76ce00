"""Folds, weights, calibration, learners and the frequencies without covariates."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from ivicl.errors import InputError, MissingDependencyError, ModelFileError
from ivicl.methods.baselines.parts.calibration import cross_calibrate, log_loss
from ivicl.methods.baselines.parts.folds import merge_rows, split_people
from ivicl.methods.baselines.parts.learners import resolve_learners
from ivicl.methods.baselines.parts.nuisance import NuisanceConfig, estimate_nuisances, fit_predict
from ivicl.methods.baselines.parts.simulate import SWITCH, NewtonLogistic
from ivicl.methods.baselines.parts.tabpfn import TabPFNLearner

FAST = NewtonLogistic()


def nuisances(data, **settings):
    config = NuisanceConfig(**{"learner": FAST, "n_jobs": 1, **settings})
    return estimate_nuisances(data.x, data.z, data.t, data.y.astype(int), data.w, 2, config)


def test_people_are_dealt_out_evenly_within_cells_and_none_is_lost():
    rng = np.random.default_rng(0)
    cell, weight = rng.integers(0, 4, 60), rng.integers(1, 30, 60).astype(float)
    pieces = split_people(cell, weight, 5, rng)
    np.testing.assert_array_equal(np.bincount(pieces.row, pieces.weight), weight)
    table = np.zeros((4, 5))
    np.add.at(table, (cell[pieces.row], pieces.fold), pieces.weight)
    assert (table.max(1) - table.min(1) <= 1).all()
    assert np.ptp(table.sum(0)) <= 1
    heavy = pieces.weight[pieces.row == weight.argmax()]  # one row's people are spread too, not kept in one fold
    assert len(heavy) == 5 and np.ptp(heavy) <= 1


def test_copies_and_weights_are_the_same_data():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 3, (40, 3)).astype(float)
    copies = np.repeat(rows, 3, axis=0)
    a = merge_rows(rows, np.full(40, 3.0))
    b = merge_rows(copies[rng.permutation(len(copies))], np.ones(len(copies)))
    np.testing.assert_array_equal(a[0], b[0])
    np.testing.assert_array_equal(a[1], b[1])


def test_without_covariates_the_nuisances_are_the_frequencies():
    data = SWITCH.draw(300, np.random.default_rng(2))
    table = data.counts()
    for x in (np.empty((300, 0)), np.full((300, 2), 7.0)):
        found = estimate_nuisances(x, data.z, data.t, data.y.astype(int), data.w, 2, NuisanceConfig(learner=FAST))
        np.testing.assert_allclose(found.p[0], table / table.sum((1, 2), keepdims=True), atol=1e-15)
        assert found.e[0] == pytest.approx(data.z.mean())
        assert found.weight.sum() == 300


def test_cross_fitted_p_and_e_are_near_the_truth_and_laws():
    data = SWITCH.draw(4000, np.random.default_rng(3))
    found = nuisances(data)
    x, _ = merge_rows(np.column_stack([data.x, data.z, data.t, data.y]), data.w)
    assert np.abs(found.p - SWITCH.p(x[:, :2])).mean() < 0.02
    assert np.abs(found.e - SWITCH.e(x[:, :2])).mean() < 0.03
    np.testing.assert_allclose(found.p.sum((2, 3)), 1.0, atol=1e-9)


def test_a_row_is_predicted_by_a_model_that_has_not_seen_it():
    """A nearest-neighbour learner would predict each label perfectly if its own row were in the training set."""
    rng = np.random.default_rng(4)
    x, z = rng.normal(size=(400, 2)), np.tile([0, 1], 200)
    t, y = rng.integers(0, 2, (2, 400))
    config = NuisanceConfig(learner=KNeighborsClassifier(1), calibrate=False, n_jobs=1)
    found = estimate_nuisances(x, z, t, y, np.ones(400), 2, config)
    own = found.p[np.arange(400), found.z.astype(int), found.t.astype(int), found.level]
    assert own.mean() < 0.4  # chance is 1/4


def test_auto_chooses_by_out_of_fold_log_loss_and_says_so():
    data = SWITCH.draw(600, np.random.default_rng(5))
    found = nuisances(data, learner=["constant", "linear"])
    losses = found.details["log_loss"]["arm 0"]
    assert losses["linear"] < losses["constant"]
    assert found.details["learner"]["arm 0"] == "linear"
    trial = estimate_nuisances(  # an instrument that ignores x: the constant is the right propensity
        data.x, np.random.default_rng(6).integers(0, 2, 600), data.t, data.y.astype(int), data.w, 2,
        NuisanceConfig(learner=["constant", "forest"], n_jobs=1),
    )  # fmt: skip
    assert trial.details["learner"]["propensity"] == "constant"


def test_every_named_candidate_gives_probabilities_also_for_discrete_columns_and_weights():
    rng = np.random.default_rng(7)
    x = np.column_stack([rng.normal(size=240), rng.integers(0, 3, 240), rng.lognormal(size=240)])
    label = rng.integers(0, 3, 240)
    weight = rng.integers(1, 4, 240).astype(float)
    for name, learner in resolve_learners("auto").items():
        p = fit_predict(learner, x, label, weight, x[:50], 4, 0)
        np.testing.assert_allclose(p.sum(1), 1.0, atol=1e-9, err_msg=name)
        assert (p[:, 3] == 0).all() and (p[:, :3] > 0).all(), name


def test_rare_and_unseen_classes_keep_their_frequency():
    label = np.array([0] * 50 + [1] * 47 + [2] * 3)
    x = np.random.default_rng(8).normal(size=(100, 1))
    p = fit_predict(resolve_learners("boosting")["boosting"], x, label, np.ones(100), x, 4, 0)
    np.testing.assert_allclose(p[:, 2], 0.03)
    np.testing.assert_allclose(p[:, 3], 0.0)
    one = fit_predict(resolve_learners(FAST)["NewtonLogistic"], x, np.zeros(100, int), np.ones(100), x, 2, 0)
    np.testing.assert_allclose(one, [[1.0, 0.0]] * 100)


def test_calibration_repairs_overconfidence_and_leaves_good_probabilities_alone():
    rng = np.random.default_rng(9)
    logits = rng.normal(size=(4000, 3))
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    label = (rng.random((4000, 1)) > p.cumsum(1)).sum(1)
    fold, weight, observed = rng.integers(0, 5, 4000), np.ones(4000), np.ones(4000, bool)
    sharp = p**3 / (p**3).sum(1, keepdims=True)
    repaired = cross_calibrate(sharp, label, weight, observed, fold)
    assert np.abs(repaired - p).mean() < 0.02 < np.abs(sharp - p).mean()
    assert log_loss(repaired, label, weight) < log_loss(sharp, label, weight)
    assert np.abs(cross_calibrate(p, label, weight, observed, fold) - p).mean() < 0.015


def test_propensity_is_clipped_and_reported():
    rng = np.random.default_rng(10)
    x = rng.normal(size=(500, 1))
    z = (x[:, 0] + 0.2 * rng.normal(size=500) > 0).astype(float)
    t, y = rng.integers(0, 2, (2, 500))
    found = estimate_nuisances(x, z, t, y, np.ones(500), 2, NuisanceConfig(learner=FAST, clip=0.05, n_jobs=1))
    assert found.e.min() == pytest.approx(0.05) and found.e.max() == pytest.approx(0.95)
    assert found.details["propensity_clipped_share"] > 0.3
    known = estimate_nuisances(x, z, t, y, np.ones(500), 2, NuisanceConfig(learner=FAST, propensity=0.5, n_jobs=1))
    assert (known.e == 0.5).all()


def test_levels_of_an_outcome_give_coherent_thresholds():
    rng = np.random.default_rng(11)
    x, z, t = rng.normal(size=(400, 1)), rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    level = rng.integers(0, 5, 400)
    found = estimate_nuisances(x, z, t, level, np.ones(400), 5, NuisanceConfig(learner=FAST, n_jobs=1))
    laws = [found.binary_law(j) for j in (1, 2, 3, 4)]
    for law in laws:
        np.testing.assert_allclose(law.sum((2, 3)), 1.0, atol=1e-9)
    above = np.stack([law[..., 1] for law in laws])
    assert (np.diff(above, axis=0) <= 1e-12).all()


class ThreadSpy(LogisticRegression):
    """Notes how many threads numerical libraries may use in the process that fits it."""

    def __init__(self, folder: str = ".") -> None:
        self.folder = folder
        super().__init__()

    def fit(self, x, y, sample_weight=None):
        from threadpoolctl import threadpool_info

        threads = max([pool["num_threads"] for pool in threadpool_info()], default=1)
        Path(self.folder, str(os.getpid())).write_text(str(threads))
        return super().fit(x, y)


@pytest.mark.slow
def test_parallel_folds_do_not_oversubscribe_and_do_not_change_the_answer(tmp_path):
    data = SWITCH.draw(400, np.random.default_rng(12))
    two = nuisances(data, learner=ThreadSpy(str(tmp_path)), n_jobs=2)
    seen = {path.name: int(path.read_text()) for path in tmp_path.iterdir()}
    assert str(os.getpid()) not in seen and 1 <= len(seen) <= 2
    assert sum(seen.values()) <= 2
    one = nuisances(data, learner=ThreadSpy(str(tmp_path)), n_jobs=1)
    np.testing.assert_allclose(one.p, two.p, atol=1e-10)


def test_wrong_settings_are_named():
    data = SWITCH.draw(100, np.random.default_rng(13))
    for settings, word in (
        ({"folds": 1}, "folds"), ({"clip": 0.6}, "clip"), ({"propensity": 1.0}, "propensity"),
        ({"learner": "xgb"}, "xgb"), ({"learner": 3}, "learner"), ({"learner": []}, "empty"),
        ({"folds": 40}, "too few"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=word):
            nuisances(data, **settings)


def test_a_learner_without_weights_is_not_given_half_a_person():
    """It learns from people written out as rows; weights of a survey were cut to whole numbers in silence."""
    rng = np.random.default_rng(15)
    x, label = rng.normal(size=(80, 2)), rng.integers(0, 2, 80)
    learner = resolve_learners(KNeighborsClassifier())["KNeighborsClassifier"]
    with pytest.raises(InputError, match="KNeighborsClassifier takes no sample weights"):
        fit_predict(learner, x, label, np.full(80, 1.5), x, 2, 0)
    assert fit_predict(learner, x, label, np.full(80, 2.0), x, 2, 0).shape == (80, 2)


def test_missing_scikit_learn_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingDependencyError, match=r"ivicl\[baselines\]"):
        nuisances(SWITCH.draw(100, np.random.default_rng(14)))


# --- TabPFN, with a stand-in for the package


class StandIn(LogisticRegression):
    """Takes TabPFNClassifier's arguments and its limit of ten classes."""

    def __init__(
        self, model_path=None, n_estimators=8, device="auto", random_state=None, ignore_pretraining_limits=False
    ):
        self.model_path, self.n_estimators, self.device = model_path, n_estimators, device
        self.ignore_pretraining_limits = ignore_pretraining_limits
        super().__init__(random_state=random_state)

    def fit(self, x, y):
        assert Path(self.model_path).is_file() and self.ignore_pretraining_limits
        if len(np.unique(y)) > 10:
            raise ValueError("Number of classes exceeds the maximal number of classes supported by TabPFN")
        return super().fit(x, y)


@pytest.fixture
def tabpfn_installed(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tabpfn", types.SimpleNamespace(TabPFNClassifier=StandIn))
    monkeypatch.setenv("TABPFN_MODEL_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_tabpfn_loads_its_weights_and_serves_as_learner(tabpfn_installed):
    (tabpfn_installed / "tabpfn-v2-classifier.ckpt").write_bytes(b"weights")
    data = SWITCH.draw(300, np.random.default_rng(15))
    found = nuisances(data, learner="tabpfn")
    assert found.details["learner"]["arm 0"] == "tabpfn"
    assert found.details["log_loss"]["arm 0"]["tabpfn"] < 1.2  # frequencies alone reach about 1.28


def test_tabpfn_takes_more_than_ten_classes(tabpfn_installed):
    (tabpfn_installed / "tabpfn-v2-classifier.ckpt").write_bytes(b"weights")
    rng = np.random.default_rng(16)
    label = np.arange(360) % 12
    p = TabPFNLearner().fit(rng.normal(size=(360, 2)), label).predict_proba(rng.normal(size=(5, 2)))
    assert p.shape == (5, 12)


def test_tabpfn_says_what_is_missing(tabpfn_installed, monkeypatch):
    data = SWITCH.draw(100, np.random.default_rng(17))
    with pytest.raises(ModelFileError, match="weights"):
        nuisances(data, learner="tabpfn")
    with pytest.raises(ModelFileError, match="nowhere"):
        TabPFNLearner(model_path="nowhere.ckpt").fit(data.x, data.t)
    monkeypatch.setitem(sys.modules, "tabpfn", None)
    with pytest.raises(MissingDependencyError, match="pip install tabpfn"):
        nuisances(data, learner="tabpfn")
