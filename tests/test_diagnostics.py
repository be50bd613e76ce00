from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from ivicl import IVBounds, IVData
from ivicl.data.design import Design
from ivicl.results.diagnostics.balance import balance
from ivicl.results.diagnostics.covariates import logistic_ridge
from ivicl.results.diagnostics.findings import diagnose
from ivicl.results.report.page import escape
from stand_in import made_up

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}


def grades(data) -> dict[str, str]:
    return {finding.name: finding.grade for finding in diagnose(data).findings}


def sound(**changes):
    return IVData.from_frame(made_up(3000) | changes, covariates=["x0", "x1"], **ROLES)


def test_a_sound_design_has_no_objection():
    found = diagnose(sound())
    assert found.grade == "ok"
    assert {f.name for f in found.findings} == {
        "first stage", "compliance", "instrumental inequalities", "positivity", "balance", "sample", "outcome",
    }  # fmt: skip
    assert all(f.sentence.endswith(".") for f in found.findings)
    json.dumps(found.to_dict(), allow_nan=False)


def test_first_stage_by_hand():
    data = IVData.from_counts([[[158, 14], [0, 0]], [[52, 12], [23, 78]]])
    stage = diagnose(data).first_stage
    assert stage.difference == pytest.approx(101 / 165)
    z, t = np.repeat(data.z, data.w.astype(int)), np.repeat(data.t, data.w.astype(int))
    assert stage.correlation == pytest.approx(np.corrcoef(z, t)[0, 1])
    assert stage.f == pytest.approx((101 / 165) ** 2 / ((101 / 165) * (64 / 165) / 165))


def test_a_weak_instrument_is_a_look():
    rng = np.random.default_rng(0)
    assert grades(sound(t=rng.integers(0, 2, 3000)))["first stage"] == "look"


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ([[[50, 50], [0, 0]], [[0, 0], [50, 50]]], "perfect"),
        ([[[0, 0], [50, 50]], [[50, 50], [0, 0]]], "perfect"),
        ([[[50, 50], [0, 0]], [[20, 30], [50, 50]]], "one-sided"),
        ([[[50, 50], [5, 5]], [[0, 0], [50, 50]]], "one-sided"),
        ([[[50, 50], [5, 5]], [[5, 5], [50, 50]]], "two-sided"),
        ([[[50, 50], [0, 0]], [[50, 50], [0, 0]]], "no variation"),
    ],
)
def test_compliance_is_named(table, kind):
    assert diagnose(IVData.from_counts(table)).compliance.kind == kind


def test_one_sided_names_the_arm():
    found = diagnose(IVData.from_counts([[[50, 50], [5, 5]], [[0, 0], [50, 50]]]))
    sentence = next(f.sentence for f in found.findings if f.name == "compliance")
    assert "everybody with Z = 1 is treated" in sentence


def test_a_violated_instrument_is_a_stop_only_beyond_chance():
    small = [[[0, 6], [2, 2]], [[6, 1], [2, 1]]]
    assert grades(IVData.from_counts(small))["instrumental inequalities"] == "look"
    large = np.array(small) * 100
    assert grades(IVData.from_counts(large))["instrumental inequalities"] == "stop"


def test_positivity_sees_who_could_not_be_in_an_arm():
    frame = made_up(3000)
    z = (np.random.default_rng(1).random(3000) < 1 / (1 + np.exp(-6 * frame["x0"]))).astype(int)
    found = grades(sound(z=z))
    assert found["positivity"] == "stop"
    assert found["balance"] == "look"


def test_balance_names_the_covariate():
    frame = made_up(3000)
    found = diagnose(sound(x1=frame["x1"] + 0.5 * frame["z"])).balance
    assert found.largest_column == "x1"
    assert found.largest == pytest.approx(0.5, abs=0.1)
    assert found.p_value < 1e-6


def test_balance_p_values_are_uniform_under_randomisation():
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(300):
        z = rng.integers(0, 2, 200)
        z[:2] = 0, 1
        data = IVData.from_arrays(z, rng.integers(0, 2, 200), rng.integers(0, 2, 200), rng.normal(size=(200, 4)))
        p_values.append(diagnose(data).balance.p_value)
    assert np.mean(np.array(p_values) < 0.1) == pytest.approx(0.1, abs=0.05)


def test_chance_among_many_covariates_of_a_small_trial_is_no_finding_but_a_difference_beyond_it_is():
    rng = np.random.default_rng(4)
    looks, largest = [], []
    for _ in range(40):
        z, t, y = (rng.integers(0, 2, 200) for _ in range(3))
        data = IVData.from_arrays(z, t, y, rng.normal(size=(200, 30)))
        looks.append(grades(data)["balance"] == "look")
        largest.append(balance(data).largest)
    assert np.mean(looks) < 0.2 and np.mean(np.array(largest) > 0.25) > 0.8
    moved = replace(data, x=data.x + 0.6 * np.eye(30)[7] * data.z[:, None])
    assert grades(moved)["balance"] == "look" and balance(moved).largest_column == moved.covariates[7]


def clustered(rng: np.random.Generator, by_cluster: bool, clusters: int = 24, sized: int = 25) -> IVData:
    """People of a cluster share most of two covariates; the arms were drawn at random, of clusters or of people."""
    code = np.repeat(np.arange(clusters), sized)
    n = len(code)
    x = np.column_stack([rng.normal(size=(clusters, 2))[code], rng.normal(size=(n, 1))])
    x[:, :2] += 0.5 * rng.normal(size=(n, 2))
    z = rng.permutation(np.arange(clusters) % 2)[code] if by_cluster else rng.integers(0, 2, n)
    t, y = rng.integers(0, 2, n), rng.integers(0, 2, n)
    table = {"z": z, "t": t, "y": y, "school": code, "block": code % 3} | {f"x{j}": x[:, j] for j in range(3)}
    roles = dict(outcome="y", treatment="t", instrument="z", covariates=["x0", "x1", "x2"])
    return IVData.from_frame(table, **roles, cluster="school")


@pytest.mark.parametrize("by_cluster", [True, False])
def test_balance_p_values_allow_for_clusters(by_cluster):
    """Whole clusters assigned: without `cluster` nearly every honest trial would look unbalanced."""
    rng = np.random.default_rng(1)
    with_clusters, without = [], []
    for _ in range(300):
        data = clustered(rng, by_cluster)
        with_clusters.append(balance(data).p_value)
        without.append(balance(replace(data, design=None)).p_value)
    held = [np.mean(np.array(with_clusters) < level) for level in (0.05, 0.2)]
    assert held == pytest.approx([0.05, 0.2], abs=0.055)
    naive = np.mean(np.array(without) < 0.05)
    assert naive > 0.6 if by_cluster else naive < 0.12


def test_chance_between_few_clusters_is_no_finding_but_a_difference_beyond_it_is():
    rng = np.random.default_rng(2)
    by_chance = [clustered(rng, True, clusters=12) for _ in range(40)]
    looks = [grades(data)["balance"] == "look" for data in by_chance]
    assert np.mean(looks) < 0.2 and np.mean([balance(data).largest > 0.25 for data in by_chance]) > 0.8
    data = clustered(rng, True)
    moved = replace(data, x=data.x + np.array([2.0, 0, 0]) * data.z[:, None])
    assert grades(moved)["balance"] == "look" and balance(moved).p_value < 0.01


def test_balance_is_within_strata():
    """Blocks in which different shares were assigned are no imbalance."""
    rng = np.random.default_rng(3)
    p_strata, sizes = [], []
    for _ in range(200):
        block = rng.integers(0, 2, 600)
        z = (rng.random(600) < np.where(block == 1, 0.8, 0.3)).astype(int)
        x = 1.5 * block + rng.normal(size=600)
        t, y = rng.integers(0, 2, 600), rng.integers(0, 2, 600)
        table = {"z": z, "t": t, "y": y, "x": x, "block": block}
        roles = dict(outcome="y", treatment="t", instrument="z", covariates=["x"])
        found = balance(IVData.from_frame(table, **roles, strata="block"))
        p_strata.append(found.p_value)
        sizes.append(max(abs(size) for size in found.standardised_differences.values()))
    assert np.mean(np.array(p_strata) < 0.1) == pytest.approx(0.1, abs=0.06) and np.mean(sizes) < 0.2


def sampled_unequally(rng: np.random.Generator, least: float) -> IVData:
    """Z at random in the population; people with z = 1 and x > 0 were all drawn, of the others a share."""
    z, x = rng.integers(0, 2, 3000), rng.normal(size=3000)
    chance = np.where((z == 1) & (x > 0), 1.0, least)
    drawn = rng.random(3000) < chance
    z, x, n = z[drawn], x[drawn], int(drawn.sum())
    data = IVData.from_arrays(z, rng.integers(0, 2, n), rng.integers(0, 2, n), x[:, None])
    return replace(data, design=Design(sampling=1 / chance[drawn]))


@pytest.mark.parametrize("least", [0.1, 0.01])
def test_balance_p_values_are_uniform_under_very_unequal_sampling_weights(least):
    """1 to 100 leaves about twenty heavy people: were their variance known, .075 and .135 would be rejected."""
    rng = np.random.default_rng(7)
    drawn = [sampled_unequally(rng, least) for _ in range(1000)]
    p = np.array([balance(data).p_value for data in drawn])
    # Who was drawn more often is no imbalance.
    assert np.median([balance(replace(data, design=None)).p_value for data in drawn[:20]]) < 0.05
    assert [np.mean(p < level) for level in (0.05, 0.1)] == pytest.approx([0.05, 0.1], abs=0.022)


def test_a_design_that_says_nothing_does_not_change_the_balance_test():
    rng = np.random.default_rng(4)
    z, t, y = rng.integers(0, 2, (3, 400))
    data = IVData.from_arrays(z, t, y, rng.normal(size=(400, 3)))
    one = replace(data, design=Design(strata=np.zeros(400, int)))
    assert balance(one).p_value == pytest.approx(balance(data).p_value, abs=5e-3)
    assert balance(one).standardised_differences == pytest.approx(balance(data).standardised_differences)


def test_logistic_ridge_finds_known_chances():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 2))
    chance = 1 / (1 + np.exp(-(0.5 + x @ [1.0, -2.0])))
    fitted = logistic_ridge(x, (rng.random(20_000) < chance).astype(float), np.ones(20_000), penalty=2.0)
    assert np.abs(fitted - chance).mean() < 0.01


def test_a_covariate_that_separates_the_arms_does_not_break_the_learner():
    frame = made_up(500)
    found = diagnose(IVData.from_frame(frame | {"x0": frame["z"] * 1e9}, covariates=["x0"], **ROLES))
    assert np.isfinite(found.positivity.range).all()
    assert found.balance.largest == 99


def test_an_outcome_with_a_long_tail_is_a_look():
    frame = made_up(1000, amounts=True)
    frame["y"][0] = 1000.0
    data = IVData.from_frame(frame, **ROLES)
    assert grades(data)["outcome"] == "look"
    assert grades(IVData.from_frame(made_up(1000, amounts=True), **ROLES))["outcome"] == "ok"


def test_weights_are_people():
    frame = made_up(200) | {"w": np.full(200, 7)}
    weighted = diagnose(IVData.from_frame(frame, covariates=["x0"], weights="w", **ROLES))
    copies = {name: np.repeat(values, 7) for name, values in made_up(200).items()}
    repeated = diagnose(IVData.from_frame(copies, covariates=["x0"], **ROLES))
    assert weighted.first_stage.to_dict() == pytest.approx(repeated.first_stage.to_dict())
    assert weighted.positivity.range == pytest.approx(repeated.positivity.range)
    assert weighted.balance.p_value == pytest.approx(repeated.balance.p_value)


def test_the_ladder_stands_in_every_result():
    table = [[[158, 14], [0, 0]], [[52, 12], [23, 78]]]
    res = IVBounds(method="balke-pearl").fit_counts(table)
    rungs = {rung.method: rung for rung in res.ladder}
    assert list(rungs) == ["manski", "manski-iv", "balke-pearl", "late"]
    assert rungs["manski"].estimate_upper - rungs["manski"].estimate_lower == pytest.approx(1)
    own = rungs["balke-pearl"]
    assert (own.estimate_lower, own.estimate_upper) == (res.lower, res.upper)
    assert own.lower < res.lower - 0.05 and own.upper > res.upper + 0.03, "its interval allows for sampling error"
    assert rungs["late"].estimand == "LATE"
    widths = [rungs[name].upper - rungs[name].lower for name in ("manski", "manski-iv", "balke-pearl")]
    assert widths == sorted(widths, reverse=True)
    assert "What each assumption buys" in res.summary()
    other = IVBounds(method="sharp").fit_counts(table)
    assert [rung.method for rung in other.ladder][-2:] == ["sharp", "late"]


@pytest.mark.filterwarnings("ignore::ivicl.errors.DesignWarning")
def test_what_to_do_stands_apart_from_what_was_found_and_readers_see_both(tmp_path):
    frame = made_up(1000, amounts=True)
    frame["y"][0] = 1000.0
    lowered = frame | {"z": 1 - frame["z"], "x0": frame["x0"] + 3 * (1 - frame["z"])}
    res = IVBounds(method="manski").fit(lowered, covariates=["x0"], **ROLES)
    found = {finding.name: finding for finding in res.findings if finding.remedy}
    assert set(found) == {"compliance", "balance", "outcome"}
    assert found["compliance"].remedy == "If that surprises you, check which value means 1."
    assert "outcome_range" in found["outcome"].remedy and "outcome_range" not in found["outcome"].sentence
    for finding in found.values():
        assert finding.sentence.endswith(".") and finding.remedy.endswith(".")
        assert finding.text in res.row()["findings"]
        assert finding.remedy in " ".join(res.summary().split())
        assert escape(finding.remedy) in res.report(tmp_path / "r.html").read_text("utf-8")
