"""Proposition 1 by simulation, and what rct_to_iv refuses or warns about."""

from __future__ import annotations

import warnings

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit

from ivicl import rct_to_iv
from ivicl.benchmarks.encoding import encode
from ivicl.benchmarks.rct_to_iv import balanced_rows, difference_in_means, randomisation_test
from ivicl.errors import InputError

ROLES = dict(treatment="t", outcome="y", observed=["o1", "o2"], hidden=["u"])


def make_trial(n: int, share: float = 0.35, seed: int = 0, hidden_assignment: float = 0.0) -> pl.DataFrame:
    """A trial whose both potential outcomes are known: columns y0 and y1."""
    rng = np.random.default_rng(seed)
    o1, o2, u = rng.normal(size=(3, n))
    y0 = o1 + 2 * u + rng.normal(size=n)
    y1 = y0 + 0.5 + 0.8 * u + 0.4 * o2
    t = (rng.random(n) < expit(np.log(share / (1 - share)) + hidden_assignment * u)).astype(int)
    return pl.DataFrame({"o1": o1, "o2": o2, "u": u, "t": t, "y": np.where(t == 1, y1, y0), "y0": y0, "y1": y1})


def given_z(frame) -> np.ndarray:
    return expit(frame["o1"].to_numpy() * frame["o2"].to_numpy())


def given_t(observed, hidden, z: np.ndarray) -> np.ndarray:
    return expit(2.5 * z - 1.2 + hidden["u"].to_numpy() + np.sin(observed["o1"].to_numpy()))


def check_proposition(n: int, own_propensities: bool) -> None:
    trial = make_trial(n)
    own = dict(instrument_propensity=given_z, treatment_propensity=given_t) if own_propensities else {}
    made = rct_to_iv(trial, **ROLES, beta=2.0, random_state=1, clip=0.02, **own)
    kept = made.frame
    z, t, u = kept["z"].to_numpy(), kept["t"].to_numpy(), kept["u"].to_numpy()

    # The label is the effect, and the people kept have the same effect.
    effect = (trial["y1"] - trial["y0"]).mean()
    kept_effects = (kept["y1"] - kept["y0"]).to_numpy()
    assert abs(made.label - effect) < 3 * made.label_se
    assert abs(kept_effects.mean() - effect) < 3 * kept_effects.std() / np.sqrt(len(kept_effects))
    assert abs(kept_effects.mean() - made.label) < 3 * made.label_se
    # Half of the balanced trial is kept.
    assert abs(made.n / made.n_balanced - 0.5) < 4 * 0.5 / np.sqrt(made.n_balanced)
    # Z given O knows nothing of U, nor of the potential outcomes.
    surprise = z - made.p_z
    for unseen in (u, u**2, kept["y0"].to_numpy(), kept["y1"].to_numpy()):
        assert abs(np.corrcoef(surprise, unseen)[0, 1]) * np.sqrt(made.n) < 4
    # The treatment law among the people kept is the intended one, in every bin of it and in both arms of Z.
    p = made.p_t[np.arange(made.n), z]
    for arm in (0, 1):
        for low, high in ((0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1)):
            cell = (z == arm) & (p >= low) & (p < high)
            if cell.sum() > 200:
                spread = np.sqrt((p[cell] * (1 - p[cell])).sum())
                assert abs((t[cell] - p[cell]).sum()) / spread < 4.5
    # The data are confounded: the naive contrast is far from the label, or the benchmark would be idle.
    assert abs(made.naive - made.label) > 5 * made.label_se


@pytest.mark.parametrize("own_propensities", [True, False])
def test_proposition_on_200_thousand_people(own_propensities: bool) -> None:
    check_proposition(200_000, own_propensities)


@pytest.mark.slow
@pytest.mark.parametrize("own_propensities", [True, False])
def test_proposition_on_a_million_people(own_propensities: bool) -> None:
    check_proposition(1_000_000, own_propensities)


def test_without_balance_the_intended_law_is_lost_and_the_caller_is_warned() -> None:
    with pytest.warns(UserWarning, match="treated, not 50 %"):
        made = rct_to_iv(make_trial(50_000), **ROLES, balance=False)
    p = made.p_t[np.arange(made.n), made.frame["z"].to_numpy()]
    spread = np.sqrt((p * (1 - p)).sum())
    assert (made.frame["t"].to_numpy() - p).sum() / spread < -20


def test_assignment_that_depends_on_the_hidden_covariate_is_reported() -> None:
    with pytest.warns(UserWarning, match="assignment is related"):
        made = rct_to_iv(make_trial(5_000, hidden_assignment=0.5), **ROLES)
    assert made.randomisation_p < 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rct_to_iv(make_trial(5_000), **ROLES).randomisation_p > 0.01


def test_omnibus_test_is_uniform_under_randomisation() -> None:
    rng = np.random.default_rng(0)
    p = [randomisation_test(rng.integers(0, 2, 200).astype(float), rng.normal(size=(200, 4))) for _ in range(400)]
    assert 0.02 < np.mean(np.array(p) < 0.05) < 0.09


def test_strength_rises_with_beta_and_sharp_width_is_one_minus_the_first_stage() -> None:
    trial = make_trial(40_000)
    made = [rct_to_iv(trial, **ROLES, beta=b) for b in (0.25, 2.0, 8.0)]
    assert made[0].rho < made[1].rho < made[2].rho
    for m in made:
        z, t = m.data.z, m.data.t
        weight = np.where(z == 1, 1 / m.p_z, 1 / (1 - m.p_z))
        stage = np.average(t[z == 1], weights=weight[z == 1]) - np.average(t[z == 0], weights=weight[z == 0])
        assert abs(m.sharp_width - (1 - stage)) < 0.03
        assert abs(z.mean() - 0.5) < 0.02
        assert abs(t.mean() - 0.5) < 0.02


def test_a_propensity_that_pushes_both_ways_has_no_simple_sharp_width() -> None:
    def both_ways(observed, hidden, z):
        return expit(2 * (z - 0.5) * np.sign(observed["o1"].to_numpy()))

    assert rct_to_iv(make_trial(4_000), **ROLES, treatment_propensity=both_ways).sharp_width is None


def test_one_seed_one_answer_and_frames_keep_their_kind() -> None:
    trial = make_trial(2_000)
    first, again = (rct_to_iv(trial, **ROLES, random_state=3) for _ in range(2))
    other = rct_to_iv(trial, **ROLES, random_state=4)
    assert np.array_equal(first.rows, again.rows)
    assert first.frame.equals(again.frame)
    assert not np.array_equal(first.rows, other.rows)
    from_pandas = rct_to_iv(pd.DataFrame(trial.to_dict(as_series=False)), **ROLES, random_state=3)
    assert isinstance(from_pandas.frame, pd.DataFrame)
    assert np.array_equal(from_pandas.rows, first.rows)
    assert np.array_equal(from_pandas.data.x, first.data.x)
    # The rows name the people: their outcome is the one they had in the trial.
    assert np.array_equal(trial["y"].to_numpy()[first.rows], first.data.y)


def test_missing_covariates_keep_their_people_and_missing_outcomes_do_not() -> None:
    trial = make_trial(3_000).with_columns(
        o2=pl.when(pl.int_range(pl.len()) % 3 == 0).then(None).otherwise(pl.col("o2")),
        y=pl.when(pl.int_range(pl.len()) % 10 == 0).then(None).otherwise(pl.col("y")),
    )
    with pytest.warns(UserWarning, match="300 rows without treatment or outcome"):
        made = rct_to_iv(trial, **ROLES)
    assert made.n_trial == 2_700
    assert not (made.rows % 10 == 0).any()
    assert (made.rows % 3 == 0).mean() > 0.2
    assert made.data.covariates == ("o1", "o2", "o2=missing")


def test_balance_within_blocks() -> None:
    t = np.array([1, 1, 1, 0, 0, 0, 0, 1])
    blocks = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    rows = balanced_rows(t, np.random.default_rng(0), blocks)
    for block in (0, 1):
        assert t[rows][blocks[rows] == block].tolist().count(1) == 1
        assert t[rows][blocks[rows] == block].tolist().count(0) == 1
    frame = make_trial(4_000).with_columns(site=pl.Series(["a", "b"] * 2_000))
    made = rct_to_iv(frame, **ROLES, balance_within=["site"])
    per_site = frame.group_by("site", "t").len().group_by("site").agg(pl.col("len").min())["len"].sum()
    assert made.n_balanced == 2 * per_site


def test_label_has_the_textbook_standard_error() -> None:
    t = np.array([1.0, 1, 1, 0, 0])
    y = np.array([1.0, 2, 3, 0, 1])
    assert difference_in_means(t, y) == pytest.approx((1.5, np.sqrt(1 / 3 + 0.5 / 2)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(outcome="nothing"), "Column 'nothing' is not in the data"),
        (dict(treatment="o1"), "Column 'o1' has two roles"),
        (dict(hidden=["o1"]), "observed and as hidden"),
        (dict(clip=0.5), "clip must be"),
        (dict(beta=float("inf")), "beta must be"),
        (dict(instrument="u"), "exists already"),
        (dict(treatment="y0", hidden=[]), "must hold 0 and 1"),
        (dict(instrument_propensity=lambda o: np.full(3, 0.5)), "one probability a row"),
        (dict(instrument_propensity=lambda o: np.full(len(o), 1.5)), "must return probabilities"),
    ],
)
def test_calls_that_cannot_be(change: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rct_to_iv(make_trial(500), **{**ROLES, **change})


def test_text_becomes_indicators_and_a_constant_column_does_no_harm() -> None:
    frame = pl.DataFrame({"a": ["x", "y", None, "x"], "b": [1.0, 1.0, 1.0, 1.0]})
    matrix, names = encode(nw.from_native(frame), ["a", "b"])
    assert names == ("a=y", "a=missing", "b")
    assert matrix.tolist() == [[0, 0, 1], [1, 0, 1], [0, 1, 1], [0, 0, 1]]
    trial = make_trial(2_000).with_columns(o1=pl.lit(3.0))
    assert np.isfinite(rct_to_iv(trial, **ROLES).p_t).all()
