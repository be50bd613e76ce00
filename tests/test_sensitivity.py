"""`res.sensitivity`: starts at the result, only widens, breaks down where it says, and speaks in sentences."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from every_method import ROLES, small_table
from ivicl import BoundsResult, IVBounds, IVData, datasets
from ivicl.data.design import Design
from ivicl.errors import InputError
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.identification.inequalities import nearest_law
from ivicl.identification.laws import arm_means, soft_law
from ivicl.methods.estimated_law import estimate_law
from test_cli_errors import ivicl_command

TABLE = datasets.COUNTS["cholestyramine"]
KINDS = ("exclusion", "independence", "defiers")
TWO_SIDED = [[[40, 25], [6, 29]], [[15, 10], [25, 50]]]


@pytest.fixture(scope="module")
def network() -> BoundsResult:
    return IVBounds().fit_counts(TABLE)


def test_published_trials():
    """The breakdown points in docs/sensitivity.md."""
    found = IVBounds("balke-pearl").fit_counts(TABLE).sensitivity()
    assert found.breakdown_estimate == pytest.approx(0.391, abs=5e-4)
    assert found.breakdown == pytest.approx(0.294, abs=0.005)
    uncertain = IVBounds("balke-pearl").fit_counts(datasets.COUNTS["vitamin_a"]).sensitivity()
    assert uncertain.breakdown == uncertain.breakdown_estimate == 0.0
    assert "sign of the average effect is not certain" in uncertain.sentence


@pytest.mark.parametrize("kind", KINDS[:2])
def test_it_starts_at_the_result_and_only_widens(network, kind):
    found = network.sensitivity(kind)
    assert (found.lower[0], found.upper[0]) == pytest.approx((network.lower, network.upper), abs=1e-12)
    points = network.estimates
    assert (found.estimate_lower[0], found.estimate_upper[0]) == pytest.approx((points.lower, points.upper), abs=1e-12)
    for low, high in ((found.lower, found.upper), (found.estimate_lower, found.estimate_upper)):
        assert (np.diff(low) <= 1e-12).all() and (np.diff(high) >= -1e-12).all()
        assert low[-1] < low[0] - 0.05
    assert found.interval_kind == "credible" and found.level == "95 % credible for the set"


def test_draws_of_the_law_agree_with_the_exact_posterior():
    """A method without an interval of its own gets one from draws; at zero it is that of the ends' posteriors."""
    exact = IVBounds("exact", n_draws=20_000).fit_counts(TABLE)
    found = IVBounds("balke-pearl").fit_counts(TABLE).sensitivity(eps=[0.0])
    assert (found.lower[0], found.upper[0]) == pytest.approx((exact.lower, exact.upper), abs=0.012)
    assert (found.estimate_lower[0], found.estimate_upper[0]) == pytest.approx((0.3913, 0.7792), abs=1e-4)


def test_the_sign_is_lost_at_the_breakdown_point(network):
    point = network.sensitivity().breakdown
    around = network.sensitivity(eps=[point - 1e-4, point + 1e-4])
    assert [row["sign"] for row in around.rows()] == ["positive", "uncertain"]


def test_late_starts_at_its_own_interval_and_turns_with_the_instrument():
    fitted = IVBounds("late").fit_counts(TWO_SIDED)
    found = fitted.sensitivity("defiers", eps=[0.0, 0.02, 0.05])
    assert (found.lower[0], found.upper[0]) == pytest.approx((fitted.lower, fitted.upper), abs=1e-12)
    assert found.estimate_lower[0] == pytest.approx(fitted.estimates.lower, abs=1e-9) == found.estimate_upper[0]
    assert found.estimate_lower[2] < found.estimate_lower[1] < found.estimate_lower[0]
    turned = IVBounds("late").fit_counts(TWO_SIDED[::-1]).sensitivity("defiers", eps=[0.0, 0.02, 0.05])
    assert turned.estimate_lower == pytest.approx(found.estimate_lower, abs=1e-9)


def test_nobody_can_defy_where_nobody_is_treated_without_the_offer(network):
    found = network.sensitivity("defiers")
    assert "there can be no defiers" in found.sentence
    assert found.lower[0] == found.lower[-1] and found.estimand == "LATE"


def test_amounts_start_at_the_set_given_the_means():
    fitted = IVBounds("balke-pearl").fit(small_table(amounts=True), outcome_range=(0, 10), **ROLES)
    data = fitted.source.data
    means, shares = arm_means(data.z, data.t, data.y, data.w)
    found = fitted.sensitivity(eps=[0.0, 0.05])
    expected = 10 * np.array(sharp_ends(soft_law(means, shares, 0, 10)))
    assert (found.estimate_lower[0], found.estimate_upper[0]) == pytest.approx(tuple(expected), abs=1e-9)
    assert found.estimate_lower[0] - found.estimate_lower[1] == pytest.approx(0.5, abs=0.3), "in units of the outcome"
    assert "of its range" in found.sentence and "means of the outcome" in " ".join(found.notes)


def test_few_covariates_have_laws_of_their_own():
    table = small_table(800)
    # A method with no average effect of its own, so that the curve is that of the law alone.
    fitted = IVBounds("late").fit(table, covariates=["old"], **ROLES)
    found = fitted.sensitivity(eps=[0.0])
    data, lower = fitted.source.data, 0.0
    for value in (0, 1):
        here = table["old"] == value
        cell = IVData.from_arrays(data.z[here], data.t[here], data.y[here])
        lower += here.mean() * sharp_ends(nearest_law(cell.counts()))[0]
    assert found.estimate_lower[0] == pytest.approx(lower, abs=1e-9)
    assert "at every value of the covariates" in " ".join(found.notes)


def test_with_many_values_the_ends_move_as_at_each_persons_law():
    """A covariate that says nothing leaves them where they are without it; one that decides does not."""
    table = small_table(2000)
    table["noise"] = np.random.default_rng(0).standard_normal(2000)
    eps = [0.0, 0.05, 0.2]
    plain = IVBounds("late").fit(table, **ROLES).sensitivity(eps=eps)
    noise = IVBounds("late").fit(table, covariates=["noise"], **ROLES).sensitivity(eps=eps)
    assert noise.lower == pytest.approx(plain.lower, abs=0.02) and noise.upper == pytest.approx(plain.upper, abs=0.02)
    assert "law of each person" in " ".join(noise.notes)
    # The instrument moves people with x > 0 one way and those with x < 0 the other: without x it moves nobody.
    rng = np.random.default_rng(1)
    x, z = rng.uniform(-1, 1, 2000), rng.integers(0, 2, 2000)
    t = (rng.random(2000) < 0.5 + 0.45 * (2 * z - 1) * x).astype(int)
    turned = {"x": x, "z": z, "t": t, "y": (rng.random(2000) < 0.2 + 0.5 * t).astype(int)}
    widths = []
    for covariates in ([], ["x"]):
        found = IVBounds("late").fit(turned, covariates=covariates, **ROLES).sensitivity(eps=[0.0])
        widths.append(found.estimate_upper[0] - found.estimate_lower[0])
    assert widths[1] < widths[0] - 0.1


def test_clusters_make_the_interval_wider():
    rng = np.random.default_rng(2)
    group = np.arange(1200) % 60
    z = (group < 30).astype(float)
    t = np.where(z == 1, rng.random(60)[group] < 0.8, 0).astype(float)
    y = (rng.random(60)[group] < 0.3 + 0.3 * t).astype(float)
    alone = IVData.from_arrays(z, t, y)
    together = replace(alone, design=Design(cluster=group))
    assert estimate_law(together).people.sum() < 0.3 * estimate_law(alone).people.sum()
    assert estimate_law(together).law() == pytest.approx(estimate_law(alone).law())


def test_draws_have_the_posterior_mean_and_an_amounts_own_spread():
    rng = np.random.default_rng(0)
    law = estimate_law(IVData.from_counts(TWO_SIDED))
    draws = law.draws(20_000, rng)[0]
    expected = (np.array(TWO_SIDED) + 0.4) / (np.array(TWO_SIDED) + 0.4).sum(axis=(1, 2), keepdims=True)
    assert np.abs(draws.mean(axis=0) - expected).max() < 0.003
    narrow = small_table(400, amounts=True)
    narrow["y"] = 5 + 0.1 * narrow["y"]
    amounts = estimate_law(IVData.from_frame(narrow, outcome_range=(0, 10), **ROLES))
    assert (amounts.worth > 20 * amounts.people).all(), "amounts that lie close together tell more than yes or no"


def test_frame_and_words(network):
    found = network.sensitivity(eps=[0.3, 0.0, 0.1])
    frame = found.to_frame()
    assert frame.columns == [
        "kind", "estimand", "eps", "estimate_lower", "estimate_upper", "lower", "upper", "sign", "alpha",
    ]  # fmt: skip
    assert frame["eps"].to_list() == [0.0, 0.1, 0.3]
    assert repr(found).startswith("Sensitivity(exclusion, ATE, breakdown 0.29")
    assert max(map(len, found.summary().splitlines())) <= 88 and found.sentence[:40] in found.summary()
    assert found.to_markdown().count("\n| ") == 4 and found.to_latex().count("tabularnewline") == 4
    content = json.loads(found.to_json())
    assert content["breakdown"] == found.breakdown and type(found).from_dict(content) == found
    picture = found.plot()
    assert picture.kind == "sensitivity" and picture.to_frame()["eps"].to_list() == [0.0, 0.1, 0.3]


def test_a_loaded_result_has_no_data(network, tmp_path):
    network.save(tmp_path / "saved.json")
    assert "source" not in network.to_dict()
    loaded = BoundsResult.load(tmp_path / "saved.json")
    assert loaded == network
    with pytest.raises(InputError, match="loaded from a file, so it has no data"):
        loaded.sensitivity()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"kind": "monotonicity"}, "kind must be one of exclusion, independence, defiers, but is 'monotonicity'"),
        ({"eps": [0.1, 1.2]}, "eps must be shares of people between 0 and 1, but has 1.2"),
        ({"eps": ["much"]}, "eps must be shares"),
        ({"eps": []}, "but has none"),
    ],
)
def test_wrong_calls(network, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        network.sensitivity(**arguments)


def test_command(tmp_path):
    datasets.load("cholestyramine").write_csv(tmp_path / "trial.csv")
    call = ["sensitivity", "trial.csv", "-y", "y", "-t", "t", "-z", "z", "-w", "people", "-m", "balke-pearl"]
    done = ivicl_command(*call, "--eps", "0,0.1", "-f", "json", "--plot", "fails.svg", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "fails.svg").read_text().startswith("<?xml")
    assert json.loads(done.stdout)["eps"] == [0.0, 0.1]
    for wrong in (["--kind", "luck"], ["--eps", "3"], ["--eps", "a"], ["--plot", "f.xyz"], ["-f", "nothing"]):
        done = ivicl_command(*call, *wrong, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
