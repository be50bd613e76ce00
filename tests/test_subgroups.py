"""`res.by`: each group is the fit of its own people; several outcomes; forest plots."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from ivicl import BoundsResult, IVBounds, IVData
from ivicl.data.groups import groups_by
from ivicl.errors import InputError
from ivicl.identification.balke_pearl import sharp_ends
from ivicl.results.pictures import forest_of_rows
from ivicl.results.rows import COLUMNS
from ivicl.results.subgroups import OWN_COLUMNS
from test_cli_errors import ivicl_command

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}


def trial(n: int = 900, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["female", "male", "other"], n, p=[0.5, 0.4, 0.1])
    z = rng.integers(0, 2, n)
    t = (rng.random(n) < 0.1 + 0.7 * z).astype(int)
    y = (rng.random(n) < 0.2 + 0.5 * t * (sex == "male")).astype(int)
    age = rng.normal(50, 12, n).round(1)
    score = np.where(rng.random(n) < 0.5, 2.0, 7.0) + 3 * t
    return pl.DataFrame({"sex": sex, "age": age, "dose": rng.integers(0, 3, n), "z": z, "t": t, "y": y, "score": score})


@pytest.fixture(scope="module")
def fitted() -> BoundsResult:
    return IVBounds("balke-pearl").fit(trial(), covariates=["sex", "age", "dose"], **ROLES)


def test_each_group_is_the_fit_of_its_own_people(fitted):
    found = fitted.by("sex")
    assert [entry.group for entry in found.entries] == ["female", "male", "other"]
    for entry in found.entries:
        people = trial().filter(sex=entry.group)
        alone = IVBounds("balke-pearl").fit(people, covariates=["age", "dose"], **ROLES)
        assert (entry.n, entry.result.lower, entry.result.upper) == (len(people), alone.lower, alone.upper)
        assert entry.result.covariates == ("age", "dose"), "what is the same for all of them is left out"


def test_numbers_by_value_and_by_quantiles(fitted):
    assert [entry.group for entry in fitted.by("dose").entries] == ["dose = 0", "dose = 1", "dose = 2"]
    quarters = fitted.by("age").entries
    assert len(quarters) == 4 and quarters[0].group.startswith("age <= ") and " < age <= " in quarters[1].group
    assert sum(entry.n for entry in quarters) == 900 and min(entry.n for entry in quarters) > 215
    assert len(fitted.by("age", quantiles=3).entries) == 3


def test_weights_count_in_quantiles_and_missing_values_are_a_group():
    table = pl.DataFrame({"x": [1.0, 2.0, 3.0, None] * 40, "z": [0, 1] * 80, "w": [5, 1, 1, 1] * 40})
    table = table.with_columns(t=pl.col("z"), y=pl.int_range(160) % 3 == 0)
    data = IVData.from_frame(table, covariates=["x"], weights="w", missing="indicator", **ROLES)
    halves = groups_by(data, "x", 2)
    assert [group.label for group in halves] == ["x <= 1", "x > 1", "x missing"]
    assert [int(data.w[group.rows].sum()) for group in halves] == [200, 80, 40]


def test_lost_outcomes_stay_with_their_group():
    table = trial().with_columns(y=pl.when(pl.int_range(900) % 7 == 0).then(None).otherwise(pl.col("y")))
    fit = IVBounds("balke-pearl").fit
    found = fit(table, covariates=["sex"], missing_outcome="bounds", **ROLES).by("sex")
    alone = fit(table.filter(sex="male"), missing_outcome="bounds", **ROLES)
    male = found.entries[1].result
    assert (male.lower, male.upper) == pytest.approx((alone.lower, alone.upper))


@pytest.mark.filterwarnings("ignore::ivicl.errors.DesignWarning")
def test_a_group_that_cannot_be_fitted_is_a_row_with_its_reason(fitted):
    table = trial().with_columns(sex=pl.when(pl.col("z") == 1).then(pl.col("sex")).otherwise(pl.lit("female")))
    found = IVBounds("balke-pearl").fit(table, covariates=["sex"], **ROLES).by("sex")
    assert [entry.result is None for entry in found.entries] == [False, True, True]
    assert "nobody has z = 0" in found.to_frame()["error"][1] and "male: nobody has z = 0" in found.summary()
    assert found.plot().to_frame()["lower"].to_list()[1] is None


def test_frame_and_words(fitted):
    found = fitted.by("sex")
    frame = found.to_frame()
    assert frame.columns == [*OWN_COLUMNS, *COLUMNS] and frame["by"].to_list() == ["sex"] * 3
    assert repr(found) == "Subgroups(sex, 3 groups, n = 900)"
    assert max(map(len, found.summary().splitlines())) <= 110 and "no allowance for sampling error" in found.note
    assert found.to_markdown().count("\n| ") == 5 and found.to_latex().count("tabularnewline") == 5
    content = json.loads(found.to_json())
    assert [row["group"] for row in content["groups"]] == ["female", "male", "other"]
    picture = found.plot()
    assert picture.kind == "forest" and picture.to_frame()["label"].to_list() == [
        "female",
        "male",
        "other",
        "everybody",
    ]


@pytest.mark.parametrize(
    ("column", "more", "sentence"),
    [
        ("region", {}, "'region' is not a covariate of this fit; its covariates are: age, dose, sex"),
        ("sex", {"quantiles": 2}, "'sex' is text"),
        (["sex"], {}, r"by takes the name of one covariate, but was given a list: \['sex'\]"),
        ("age", {"quantiles": 1}, "quantiles must be a whole number of at least 2"),
    ],
)
def test_wrong_calls(fitted, column, more, sentence):
    with pytest.raises(InputError, match=sentence):
        fitted.by(column, **more)


def test_a_loaded_result_has_no_people(fitted, tmp_path):
    fitted.save(tmp_path / "saved.json")
    with pytest.raises(InputError, match="it has no data; fit it again to ask for its subgroups"):
        BoundsResult.load(tmp_path / "saved.json").by("sex")


def test_simultaneous_intervals_are_those_of_sidaks_level():
    fitted = IVBounds("late", alpha=0.1).fit(trial(), covariates=["sex"], **ROLES)
    each, together = fitted.by("sex"), fitted.by("sex", simultaneous=True)
    assert together.results[0].alpha == pytest.approx(1 - 0.9 ** (1 / 3))
    for narrow, wide in zip(each.results, together.results, strict=True):
        assert wide.lower < narrow.lower and narrow.upper < wide.upper
    assert "no more than 70 % is promised" in each.note and "all 3 hold together at 90 %" in together.note


def test_given_all_the_data_is_close_to_the_groups_own_and_has_its_error():
    """With a covariate that says nothing beside, a large group's own people decide; over studies, as its s.e. says."""
    ends, errors, own = [], [], []
    for seed in range(60):
        table = trial(900, seed).drop("score", "dose")
        found = IVBounds("balke-pearl").fit(table, covariates=["sex", "age"], **ROLES).by("sex").entries[0]
        ends.append((found.given_all.lower, found.given_all.upper))
        errors.append((found.given_all.se_lower, found.given_all.se_upper))
        own.append((found.result.lower, found.result.upper))
    assert np.std(ends, axis=0) == pytest.approx(np.mean(errors, axis=0), rel=0.3)
    assert np.abs(np.mean(ends, axis=0) - np.mean(own, axis=0)).max() < 0.02
    assert np.abs(np.array(ends) - own).max() < 0.08


def test_another_estimand_has_no_ends_given_all():
    found = IVBounds("late").fit(trial(), covariates=["sex"], **ROLES).by("sex")
    assert found.to_frame()["given_all_lower"].to_list() == [None] * 3 and found.entries[0].given_all is None


@pytest.mark.slow
def test_simultaneous_intervals_hold_all_sets():
    """200 studies of four groups, at 90 %: all four sets are held in at least 85 % of them."""
    rng = np.random.default_rng(4)
    strata = rng.dirichlet(np.full(16, 0.6), 4)
    types = np.array([[s >> 3 & 1, s >> 2 & 1, s >> 1 & 1, s & 1] for s in range(16)])
    laws = np.zeros((4, 2, 2, 2))
    for group, share in enumerate(strata):
        for z in (0, 1):
            np.add.at(laws[group, z], (types[:, z], types[np.arange(16), 2 + types[:, z]]), share)
    lower, upper = sharp_ends(laws)
    held = 0
    for _ in range(200):
        cells = [
            {"group": f"g{g}", "z": z, "t": k // 2, "y": k % 2, "people": int(count)}
            for g in range(4)
            for z in (0, 1)
            for k, count in enumerate(rng.multinomial(150, laws[g, z].ravel()))
            if count
        ]
        fitted = IVBounds(alpha=0.1).fit(pl.DataFrame(cells), covariates=["group"], weights="people", **ROLES)
        found = fitted.by("group", simultaneous=True)
        held += all(r.lower <= lo and hi <= r.upper for r, lo, hi in zip(found.results, lower, upper, strict=True))
    assert held >= 170, held


def test_several_outcomes_are_rows_of_each_study():
    fit_many = IVBounds("balke-pearl").fit_many
    roles = {"treatment": "t", "instrument": "z"}
    found = fit_many(trial(), by="sex", outcome=["y", "score"], outcome_range={"score": (0, 12)}, **roles)
    assert found.columns == ["sex", "outcome", *COLUMNS]
    assert found["outcome"].to_list() == ["y", "score"] * 3 and found["sex"].n_unique() == 3
    for name, limits in (("y", None), ("score", (0, 12))):
        alone = fit_many(trial(), by="sex", outcome=name, outcome_range=limits, **roles)
        assert alone.columns == ["sex", *COLUMNS]
        assert found.filter(outcome=name).drop("outcome").equals(alone)
    named = fit_many(trial(), by="sex", outcome="score", outcome_range={"score": (0, 12)}, **roles)
    assert named.equals(alone), "a dictionary of ranges means the same for one outcome"
    for wrong, sentence in (
        ({"outcome": []}, "empty list"),
        ({"outcome": ["y", "y"]}, "twice"),
        ({"outcome": ["y", "score"], "outcome_range": {"x": (0, 1)}}, "not one of the outcomes"),
        ({"outcome": ["y", "why"]}, "no column 'why'"),
    ):
        with pytest.raises(InputError, match=sentence):
            fit_many(trial(), by="sex", **roles, **wrong)


def test_forest_of_many_studies():
    found = IVBounds("balke-pearl").fit_many(trial(), by=["sex", "dose"], **ROLES)
    picture = forest_of_rows(found)
    assert picture.to_frame()["label"][0] == ", ".join(map(str, found.row(0)[:2])) and len(picture.data["n"]) == 9
    assert forest_of_rows(found.to_arrow()).to_frame().equals(picture.to_frame())
    with pytest.raises(InputError, match="rows of fit_many"):
        forest_of_rows(trial())


def test_batch_with_outcomes_and_a_picture(tmp_path):
    trial().write_csv(tmp_path / "trial.csv")
    call = ["batch", "trial.csv", "--by", "sex", "-t", "t", "-z", "z", "-m", "balke-pearl"]
    done = ivicl_command(*call, "-y", "y,score", "-o", "bounds.csv", "--plot", "forest.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert pl.read_csv(tmp_path / "bounds.csv")["outcome"].to_list() == ["y", "score"] * 3
    assert (tmp_path / "forest.svg").read_text().startswith("<?xml")
    for wrong in (["-y", ","], ["-y", "y", "--plot", "f.abc"], ["-y", "y,why"]):
        done = ivicl_command(*call, *wrong, "-o", "other.csv", "--overwrite", cwd=tmp_path)
        assert done.returncode == 2 and "ivicl: " in done.stderr
    done = ivicl_command(*call, "-y", "y", "-o", "-", "--plot", "f.svg", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
