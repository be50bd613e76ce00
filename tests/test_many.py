from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest

from ivicl import IVBounds, IVData
from ivicl.errors import InputError, MissingDependencyError, ModelFileError
from ivicl.methods import Method, MethodBounds
from ivicl.methods.pretrained import batching
from ivicl.methods.pretrained.runtime import Model
from ivicl.results.rows import COLUMNS
from stand_in import made_up

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}


def studies(sizes, amounts=False) -> pl.DataFrame:
    frames = [pl.DataFrame(made_up(n, seed=i, amounts=amounts) | {"study": [f"s{i}"] * n}) for i, n in enumerate(sizes)]
    return pl.concat(frames).sample(fraction=1.0, shuffle=True, seed=1)


@pytest.mark.parametrize("amounts", [False, True])
def test_each_row_is_the_fit_of_its_study(stand_in, amounts):
    sizes = [5, 40, 300, 37, 8, 250, 1000]
    frame = studies(sizes, amounts)
    span = None if not amounts else (float(frame["y"].min()), float(frame["y"].max()))
    many = IVBounds(n_thresholds=6).fit_many(frame, by="study", covariates=["x0", "x1"], **ROLES)
    assert many.columns == ["study", *COLUMNS]
    assert sorted(many["study"]) == sorted(f"s{i}" for i in range(len(sizes)))
    for row in many.iter_rows(named=True):
        part = frame.filter(pl.col("study") == row["study"])
        alone = IVBounds(n_thresholds=6).fit(part, covariates=["x0", "x1"], outcome_range=span, **ROLES)
        assert (row["lower"], row["upper"]) == pytest.approx((alone.lower, alone.upper), abs=1e-9)
        assert row["n"] == alone.n
        assert row["error"] is None


def test_studies_share_passes_and_padding_stays_small(stand_in):
    IVBounds().fit_many(studies([60, 50, 61, 400, 390, 55, 57]), by="study", covariates=["x0"], **ROLES)
    assert len(stand_in.shapes) == 2
    assert sorted(shape[0] for shape in stand_in.shapes) == [2, 5]


def test_no_pass_is_larger_than_the_limit(stand_in, monkeypatch):
    monkeypatch.setattr(batching, "ROWS_PER_PASS", 500)
    IVBounds().fit_many(studies([100] * 23), by="study", covariates=["x0"], **ROLES)
    assert all(b * n <= 500 for b, n, _ in stand_in.shapes)
    assert sum(b for b, _, _ in stand_in.shapes) == 23


def test_passes_side_by_side_give_the_same_answers_in_the_same_order(monkeypatch):
    """With the shipped model: each pass has a study or two, and sizes are mixed."""
    frame = studies([40, 90, 41, 35, 88, 60, 30])
    monkeypatch.setattr(batching, "ROWS_PER_PASS", 100)
    one_by_one = IVBounds().fit_many(frame, by="study", covariates=["x0"], **ROLES)
    monkeypatch.setattr(batching, "PASSES_WORTH_A_POOL", 2)
    together = IVBounds().fit_many(frame, by="study", covariates=["x0"], **ROLES)
    assert together["study"].to_list() == one_by_one["study"].to_list()
    for end in ("lower", "upper"):
        assert one_by_one[end].n_unique() == 7
        assert together[end].to_list() == pytest.approx(one_by_one[end].to_list(), abs=1e-6)


def test_large_tables_do_not_pass_side_by_side(stand_in, monkeypatch):
    """Their memory would add up."""
    monkeypatch.setattr(batching, "ROWS_PER_PASS", 50)
    monkeypatch.setattr(batching, "PASSES_WORTH_A_POOL", 2)
    monkeypatch.setattr(type(stand_in), "predict_side_by_side", None)
    IVBounds().fit_many(studies([60, 60, 40, 40]), by="study", covariates=["x0"], **ROLES)
    assert sorted(shape[1] for shape in stand_in.shapes) == [40, 40, 60, 60]


def test_a_bad_study_is_a_row_with_its_error(stand_in):
    frame = studies([50, 50, 50]).with_columns(
        z=pl.when(pl.col("study") == "s1").then(1).otherwise(pl.col("z")),
    )
    many = IVBounds().fit_many(frame, by="study", **ROLES)
    bad = many.filter(pl.col("study") == "s1").row(0, named=True)
    assert "nothing to compare" in bad["error"]
    assert bad["lower"] is None
    assert many["error"].null_count() == 2


@pytest.mark.filterwarnings("ignore::ivicl.errors.DesignWarning")
def test_codings_and_range_are_those_of_the_whole_table(stand_in):
    """Nobody treated in one study, two amounts of outcome in another: both must mean what they mean elsewhere."""
    frame = studies([80, 80, 80], amounts=True).with_columns(
        t=pl.when((pl.col("study") == "s0") | (pl.col("t") == 0)).then(pl.lit("no")).otherwise(pl.lit("yes")),
        y=pl.when(pl.col("study") == "s1").then(pl.col("y").sign()).otherwise(pl.col("y")),
    )
    many = IVBounds().fit_many(frame, by="study", **ROLES)
    assert many["error"].null_count() == 3
    span = frame["y"].max() - frame["y"].min()
    assert (many["upper"] - many["lower"]).max() <= 2 * span
    two_amounts = many.filter(pl.col("study") == "s1").row(0, named=True)
    assert two_amounts["width"] > 2, "the range is the whole table's, not that of a 0/1 outcome"


def test_the_outcome_is_read_once_for_all_studies(stand_in):
    """No study may guess by itself: two of three words are not a binary outcome, nor is text a number in some only."""
    frame = studies([80, 80])
    three = frame.with_columns(
        y=pl.when(pl.col("study") == "s0").then(pl.lit("never")).otherwise(pl.lit("often")),
    ).with_columns(y=pl.when(pl.int_range(160) % 3 == 0).then(pl.lit("seldom")).otherwise("y"))
    with pytest.raises(InputError, match="outcome 'y' must be numbers or two values, but has 3"):
        IVBounds().fit_many(three, by="study", **ROLES)
    as_text = frame.with_columns(y=pl.col("y").cast(pl.Float64).cast(pl.String), t=pl.col("t").cast(pl.String))
    expected = IVBounds().fit_many(frame, by="study", **ROLES)
    assert IVBounds().fit_many(as_text, by="study", **ROLES).equals(expected)
    assert IVBounds().fit_many(as_text, by="study", outcome_range=(0, 1), **ROLES).equals(expected)


def test_several_columns_may_name_a_study_and_missing_names_are_a_study_too(stand_in):
    frame = studies([40, 40]).with_columns(week=pl.Series([1, 2, None, 1] * 20))
    many = IVBounds().fit_many(frame, by=["study", "week"], **ROLES)
    assert many.columns[:2] == ["study", "week"]
    assert len(many) == 6
    assert many["week"].null_count() == 2
    assert many["n"].sum() == 80


LARGE = 2**60
"""Floats do not tell this number from the next."""


@pytest.mark.parametrize("kind", [pl.DataFrame, pl.DataFrame.to_pandas, pl.DataFrame.to_arrow, pl.DataFrame.lazy])
def test_studies_with_neighbouring_64_bit_names_are_not_joined(kind):
    frame = pl.concat([pl.DataFrame(made_up(50, seed=i)).with_columns(id=pl.lit(LARGE + i)) for i in range(3)])
    found = IVBounds("manski").fit_many(kind(frame), by="id", **ROLES)
    assert np.asarray(found["id"]).tolist() == [LARGE, LARGE + 1, LARGE + 2]
    assert np.asarray(found["n"]).tolist() == [50, 50, 50]
    fine = frame.with_columns(pl.col("id").cast(pl.Decimal(20, 0)))
    assert IVBounds("manski").fit_many(fine, by="id", **ROLES)["n"].to_list() == [50, 50, 50]


def test_clusters_and_strata_with_neighbouring_64_bit_names_are_not_joined():
    numbered = pl.DataFrame(made_up(400)).with_columns(school=pl.int_range(400) % 40, town=pl.int_range(400) % 2)
    large = numbered.with_columns(pl.col("school", "town") + LARGE)
    named = large.with_columns(pl.col("school", "town").cast(pl.String))
    design = {"cluster": "school", "strata": "town"}
    first, *others = (IVBounds("late").fit(f, **ROLES, **design) for f in (named, large, large.lazy()))
    assert first.diagnostics.design.n_clusters == 40
    for other in others:
        assert (other.lower, other.upper) == pytest.approx((first.lower, first.upper), abs=1e-9)
    arrays = IVData.from_arrays(*(numbered[role] for role in "zty"), cluster=large["school"], strata=large["town"])
    assert IVBounds("late").fit_data(arrays).lower == pytest.approx(first.lower, abs=1e-9)
    with pytest.raises(InputError, match=f"cluster 'school' = '{LARGE}' has people in two studies"):
        halves = large.with_columns(study=pl.int_range(400) >= 200)
        IVBounds("late").fit_many(halves, by="study", **ROLES, cluster="school")


def test_studies_named_by_dates_keep_their_names():
    day = pl.date(2020, 2, 28) + pl.duration(days=pl.int_range(90) % 3)
    frame = pl.DataFrame(made_up(90)).with_columns(day=day)
    names = [datetime.date(2020, 2, 28), datetime.date(2020, 2, 29), datetime.date(2020, 3, 1)]
    assert IVBounds("manski").fit_many(frame, by="day", **ROLES)["day"].to_list() == names
    pandas = IVBounds("manski").fit_many(frame.to_pandas(), by="day", **ROLES)
    assert [day.date() for day in pandas["day"]] == names


def test_other_methods_work_too_and_pandas_as_well():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(studies([40, 60]).to_dict(as_series=False))
    many = IVBounds(method="balke-pearl").fit_many(frame, by="study", **ROLES)
    assert many["method"].to_list() == ["balke-pearl"] * 2
    assert (many["lower"] < many["upper"]).all()


def test_wrong_calls(stand_in):
    frame = studies([20, 20])
    with pytest.raises(InputError, match="study"):
        IVBounds().fit_many(frame, by="studdy", **ROLES)
    for nothing in (None, []):
        with pytest.raises(InputError, match="by must name the column that tells the studies apart"):
            IVBounds().fit_many(frame, by=nothing, **ROLES)
    with pytest.raises(InputError, match="given twice"):
        IVBounds().fit_many(frame, by="z", **ROLES)
    with pytest.raises(InputError, match="by names 'method', which is a column of the result too"):
        IVBounds().fit_many(frame.rename({"study": "method"}), by="method", **ROLES)
    with pytest.raises(InputError, match="alpha"):
        IVBounds(alpha=2).fit_many(frame, by="study", **ROLES)


def test_the_shipped_model_answers_in_batches_as_it_does_alone():
    try:
        Model.shipped()
    except InputError as error:
        pytest.skip(str(error))
    frame = studies([30, 100, 64, 128])
    many = IVBounds().fit_many(frame, by="study", covariates=["x0", "x1"], **ROLES)
    for row in many.iter_rows(named=True):
        alone = IVBounds().fit(frame.filter(pl.col("study") == row["study"]), covariates=["x0", "x1"], **ROLES)
        np.testing.assert_allclose((row["lower"], row["upper"]), (alone.lower, alone.upper), atol=1e-3)


def answers(bounds, **fields) -> Method:
    return Method("odd", "Odd", bounds, "estimate", "", **fields)


def sometimes(data, request):
    """Crossed for the study of 50, a fault for that of 60, an impossible call for that of 70."""
    if data.n == 60:
        raise RuntimeError("the chains met a NaN")
    if data.n == 70:
        raise InputError("method 'odd' needs more people.")
    return MethodBounds(0.4, 0.3) if data.n == 50 else MethodBounds(-0.5, 0.5)


def all_at_once(data, request):
    return [sometimes(each, request) for each in data]


@pytest.mark.parametrize("batched", [None, all_at_once])
def test_what_goes_wrong_with_one_study_is_its_row(batched):
    many = IVBounds(answers(sometimes, batched=batched)).fit_many(studies([40, 50, 60, 70, 80]), by="study", **ROLES)
    reasons = dict(zip(many["study"], many["error"], strict=True))
    assert reasons == {
        "s0": None,
        "s1": "method 'odd' failed: RuntimeError: method 'odd' returned crossed bounds: 0.4 > 0.3",
        "s2": "method 'odd' failed: RuntimeError: the chains met a NaN",
        "s3": "method 'odd' needs more people.",
        "s4": None,
    }
    assert many.filter(pl.col("error").is_not_null())["lower"].null_count() == 3
    for frame, message in ((made_up(50), "crossed"), (made_up(60), "NaN")):
        with pytest.raises(RuntimeError, match=message):
            IVBounds(answers(sometimes)).fit(frame, **ROLES)


def test_an_answer_slightly_beyond_the_range_is_cut_in_many_studies_as_in_one():
    method = answers(lambda data, request: MethodBounds(-1.5, 1.0 + 1e-12))
    many = IVBounds(method).fit_many(studies([40, 50]), by="study", **ROLES)
    one = IVBounds(method).fit(made_up(40), **ROLES)
    assert many["lower"].to_list() == [-1.0, -1.0] == [one.lower] * 2
    assert many["upper"].to_list() == [1.0, 1.0]


def test_a_missing_part_of_the_installation_ends_the_run_instead_of_filling_a_table_with_it():
    absent = answers("no_such_module_at_all:bounds", extra="baselines")
    with pytest.raises(MissingDependencyError, match=r"pip install 'ivicl\[baselines\]'"):
        IVBounds(absent).fit_many(studies([40, 50]), by="study", **ROLES)
    with pytest.raises(ModelFileError):
        IVBounds(model="nowhere.onnx").fit_many(studies([40, 50]), by="study", **ROLES)
