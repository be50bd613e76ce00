"""cluster=, strata= and sampling_weights=, through every door and for every method that takes them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from ivicl import IVBounds, IVData
from ivicl.cli import app
from ivicl.errors import InputError
from ivicl.methods.design.factors import design_factors
from stand_in import StandIn
from test_design_scores import clustered

pytestmark = pytest.mark.usefixtures("stand_in")
ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}
INTERVALS = ("ivicl", "late", "levis", "whitehouse")
ESTIMATES = ("balke-pearl", "manski", "manski-iv", "no-defiers", "sharp", "plugin")
FAST = {"learner": "linear"}


def frame(seed: int = 0, clusters: int = 30, size: int = 20, icc: float = 0.2) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    data = clustered(rng, clusters, size, icc)
    codes = data.design.cluster
    return pl.DataFrame({
        "z": data.z.astype(int), "t": data.t.astype(int), "y": data.y.astype(int),
        "village": [f"village {c}" for c in codes], "district": codes % 3,
        "stands_for": np.where(codes % 2, 10.0, 1.0), "x": rng.standard_normal(data.n).round(1),
    })  # fmt: skip


@pytest.mark.parametrize("method", INTERVALS)
def test_clusters_make_intervals_wider_and_leave_estimates(method):
    plain, wide = (IVBounds(method).fit(frame(), **ROLES, **more) for more in ({}, {"cluster": "village"}))
    assert wide.width > 1.02 * plain.width
    assert (wide.estimates.lower, wide.estimates.upper) == pytest.approx(
        (plain.estimates.lower, plain.estimates.upper), abs=0.02
    )
    assert wide.diagnostics.design.clusters == (15, 15) and wide.diagnostics.design.assigned == "by cluster"
    assert wide.diagnostics.design.design_effect_lower > 1.5 and plain.diagnostics.design is None
    assert wide.diagnostics.first_stage.f < 0.7 * plain.diagnostics.first_stage.f
    assert "Design" in wide.summary() and "15 clusters with Z = 0" in wide.summary()
    assert type(wide).from_dict(json.loads(wide.to_json())).diagnostics.design == wide.diagnostics.design


@pytest.mark.parametrize("method", [*INTERVALS, *ESTIMATES])
def test_sampling_weights_are_about_ratios(method):
    """The same answer when all are multiplied; none when all are equal; and that of a population written out."""
    table = frame()
    at = [
        IVBounds(method).fit(table.with_columns(s=k * pl.col("stands_for")), sampling_weights="s", **ROLES)
        for k in (1.0, 1e-5, 1e3)
    ]
    for other in at[1:]:
        assert (other.lower, other.upper) == pytest.approx((at[0].lower, at[0].upper), abs=1e-9)
    plain = IVBounds(method).fit(table, **ROLES)
    equal = IVBounds(method).fit(table.with_columns(s=pl.lit(7.5)), sampling_weights="s", **ROLES)
    assert (equal.lower, equal.upper) == (plain.lower, plain.upper)
    assert any("all equal" in note for note in equal.notes)
    assert method == "manski" or abs(at[0].lower - plain.lower) > 1e-4  # by chance, manski's are the same here
    written = table.with_columns(people=pl.col("stands_for").cast(int))
    whole = IVBounds(method).fit(written, weights="people", **ROLES)
    assert at[0].estimates.lower == pytest.approx(whole.estimates.lower, abs=0.02)
    if method in ESTIMATES:
        assert (at[0].lower, at[0].upper) == pytest.approx((whole.lower, whole.upper), abs=1e-9)
    else:
        assert at[0].width > 1.02 * whole.width, "they are not that many people"


def test_frequency_and_sampling_weights_are_two_things():
    """k people who each stand for s are k rows of sampling weight s."""
    table = frame().with_columns(k=pl.Series(np.random.default_rng(1).integers(1, 4, 600)))
    rows = table.select(pl.all().repeat_by("k")).explode(pl.all(), empty_as_null=True)
    for method in ("ivicl", "late", "balke-pearl"):
        both = IVBounds(method).fit(table, weights="k", sampling_weights="stands_for", **ROLES)
        long = IVBounds(method).fit(rows, sampling_weights="stands_for", **ROLES)
        assert (both.lower, both.upper) == pytest.approx((long.lower, long.upper), abs=1e-9)
        assert both.n == long.n == table["k"].sum()


def test_the_network_is_told_of_the_people_that_the_table_is_worth(stand_in):
    data = IVData.from_frame(frame(), cluster="village", **ROLES)
    factors = design_factors(data).factor
    found = IVBounds().fit_data(data).identified_set
    plain = IVBounds().fit_data(replace(data, design=None)).identified_set
    # The stand-in's spread is that of the people it is told of; Student's quantiles add a little.
    assert found.lower.sd / plain.lower.sd == pytest.approx(1 / np.sqrt(factors.min()), rel=0.15)


def test_with_covariates_nobody_weighs_more_than_one(monkeypatch):
    seen, predict = [], StandIn.predict

    def watched(self, x, z, t, y, w, *more):
        seen.append(w.max() if x.shape[-1] else 0.0)  # the ladder has a rung without covariates, where all may
        return predict(self, x, z, t, y, w, *more)

    monkeypatch.setattr(StandIn, "predict", watched)
    table = frame().with_columns(x=pl.Series(np.random.default_rng(0).standard_normal(600)))
    IVBounds().fit(table, covariates=["x"], sampling_weights="stands_for", **ROLES)
    assert 0.5 < max(seen) <= 1 + 1e-12


@pytest.mark.parametrize("method", ["exact", "bayes"])
def test_methods_that_cannot_say_so(method):
    with pytest.raises(InputError, match=f"method '{method}' takes people as independent .* use 'ivicl'"):
        IVBounds(method).fit(frame(), cluster="village", **ROLES)


@pytest.mark.parametrize(
    ("change", "more", "message"),
    [
        ({"s": -1.0}, {"sampling_weights": "s"}, "sampling weights 's' must not be negative, but one is -1"),
        ({"s": None}, {"sampling_weights": "s"}, "sampling weights 's' has 600 missing values; find them"),
        ({"s": 0.0}, {"sampling_weights": "s"}, "sampling weights 's' are all zero"),
        ({"s": "many"}, {"sampling_weights": "s"}, "sampling weights 's' must be numbers, but the column holds text"),
        ({"s": 1}, {"cluster": "s"}, "cluster has one value only"),
        ({"s": None}, {"cluster": "s"}, "cluster 's' is missing in 600 rows; give people who belong to no cluster"),
        ({}, {"cluster": "z"}, "column 'z' is given twice: as instrument and as cluster"),
        ({}, {"cluster": "district", "strata": "village"}, "cluster 'district' = 0 lies in more than one stratum"),
        ({}, {"cluster": "town"}, "there is no column 'town' for the cluster"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(change, more, message):
    table = frame().with_columns(**{name: pl.lit(value) for name, value in change.items()})
    with pytest.raises(InputError, match=message):
        IVBounds().fit(table, **ROLES, **more)


def test_one_cluster_in_an_arm_is_refused():
    table = frame().with_columns(village=pl.when(pl.col("z") == 1).then(pl.lit("one")).otherwise(pl.col("village")))
    for method in INTERVALS:
        with pytest.raises(InputError, match=r"the arm Z = 1 has one cluster only, .* leave out cluster="):
            IVBounds(method).fit(table, cluster="village", **ROLES)


def test_thresholds_take_people_as_independent():
    table = frame().with_columns(y=pl.col("y") * 3 + pl.col("x"))
    with pytest.raises(InputError, match=r"combine='comonotone' takes people as independent; .* use \w+"):
        IVBounds(combine="comonotone").fit(table, cluster="village", **ROLES)
    plain, wide = (IVBounds().fit(table, **ROLES, **more) for more in ({}, {"cluster": "village"}))
    assert wide.width > 1.02 * plain.width


def test_strata_become_covariates_where_they_decide_who_is_assigned():
    rng = np.random.default_rng(3)
    table = frame().with_columns(
        z=pl.Series((rng.random(600) < 0.2 + 0.3 * frame()["district"].to_numpy()).astype(int))
    )
    res = IVBounds().fit(table, strata="district", **ROLES)
    assert res.covariates == ("district=1", "district=2")
    assert any("share with Z = 1 differs" in note for note in res.notes)
    fair = IVBounds().fit(frame(), strata="district", cluster="village", **ROLES)
    assert fair.covariates == () and fair.diagnostics.design.strata == 3


def test_people_within_clusters_and_few_clusters_are_said():
    rng = np.random.default_rng(4)
    table = frame(clusters=8, size=50).with_columns(z=pl.Series(rng.permutation(400) % 2))
    res = IVBounds().fit(table, cluster="village", **ROLES)
    assert res.diagnostics.design.assigned == "within clusters"
    assert res.grade == "look" and any("8 clusters" in f.sentence and f.remedy for f in res.findings)


def test_a_violated_inequality_counts_the_people_that_there_are_worth():
    """Copies within clusters are no evidence against the instrument."""
    people = IVData.from_counts([2, 1, 26, 11, 8, 6, 10, 16])
    copies = np.repeat(np.arange(len(people.w)), people.w.astype(int))
    table = pl.DataFrame({name: getattr(people, name)[np.repeat(copies, 30)].astype(int) for name in "zty"})
    table = table.with_columns(who=pl.Series(np.repeat(np.arange(len(copies)), 30)))
    naive, told = (IVBounds("late").fit(table, **ROLES, **more) for more in ({}, {"cluster": "who"}))
    once = IVBounds("late").fit_data(people)
    assert naive.diagnostics.worst_inequality.p_value < 0.05 * once.diagnostics.worst_inequality.p_value
    assert told.diagnostics.worst_inequality.p_value == pytest.approx(
        once.diagnostics.worst_inequality.p_value, rel=0.2
    )
    assert (told.lower, told.upper) == pytest.approx((once.lower, once.upper), abs=0.04)  # t for 40 clusters


def test_many_studies_and_the_command_line_take_them(tmp_path):
    table = pl.concat([frame(seed).with_columns(study=pl.lit(seed)) for seed in (0, 1)])
    table = table.with_columns(village=pl.col("village") + " " + pl.col("study").cast(str))
    many = IVBounds().fit_many(table, by="study", cluster="village", sampling_weights="stands_for", **ROLES)
    one = IVBounds().fit(table.filter(pl.col("study") == 1), cluster="village", sampling_weights="stands_for", **ROLES)
    assert many["lower"][1] == pytest.approx(one.lower)
    assert many["n_clusters"].to_list() == [30, 30] and many["design_effect"].min() > 1.2
    with pytest.raises(InputError, match="cluster 'village' = 'village 0' has people in two studies \\(0 and 1\\)"):
        shared = pl.concat([frame(seed).with_columns(study=pl.lit(seed)) for seed in (0, 1)])
        IVBounds().fit_many(shared, by="study", cluster="village", **ROLES)
    path = tmp_path / "d.csv"
    table.filter(pl.col("study") == 1).write_csv(path)
    flags = ["-y", "y", "-t", "t", "-z", "z", "--cluster", "village", "--sampling-weights", "stands_for"]
    done = CliRunner().invoke(app, ["fit", str(path), *flags, "--format", "json"])
    assert json.loads(done.stdout)["lower"] == pytest.approx(one.lower)
    done = CliRunner().invoke(app, ["check", str(path), *flags, "--strata", "district"])
    assert "clusters with Z = 0" in done.stdout


def test_merged_rows_and_lazy_frames_are_the_same(stand_in):
    table = frame()
    plain = IVBounds().fit(table, cluster="village", strata="district", sampling_weights="stands_for", **ROLES)
    counted = table.group_by("z", "t", "y", "village", "district", "stands_for").len("people")
    merged = IVBounds().fit(
        counted, weights="people", cluster="village", strata="district", sampling_weights="stands_for", **ROLES
    )
    lazy = IVBounds().fit(table.lazy(), cluster="village", strata="district", sampling_weights="stands_for", **ROLES)
    for other in (merged, lazy):
        assert (other.lower, other.upper) == pytest.approx((plain.lower, plain.upper), abs=1e-9)
    assert max(shape[1] for shape in stand_in.shapes) <= 8, "clusters do not make the network's table longer"


def test_the_graph_is_fed_the_factors_and_keeps_its_rows():
    """One table for both ends, a factor for each quantity; amounts need none without a design."""
    from ivicl.methods.pretrained.effective import worth
    from ivicl.methods.pretrained.schema_2 import QUANTITIES
    from ivicl.methods.pretrained.tables import merged_table

    data = IVData.from_frame(frame().with_columns(y=pl.col("y") + pl.col("x")), cluster="village", **ROLES)
    table = merged_table(data)
    told = worth(table, data).table
    assert told.design.shape == (len(QUANTITIES),)
    assert (told.design <= 1).all() and told.design.min() < 0.8
    np.testing.assert_array_equal(told.w, table.w)
    assert worth(table, replace(data, design=None)).table.design is None
