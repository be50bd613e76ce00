"""Many studies in Spark and Dask: merged there, fitted in the workers, one row a study."""

from __future__ import annotations

import re

import polars as pl
import pytest

from engines import ENGINES, ROLES, spark_session, untidy
from ivicl import IVBounds
from ivicl.errors import DesignWarning, InputError
from ivicl.results.rows import COLUMNS

NAMED = {"letter": "sent", "taken": 1, "well": "yes"}
ENGINE = pytest.mark.parametrize("engine", ["spark", "dask"])


def fit_there(engine: str, frame: pl.DataFrame, given=None, **call) -> pl.DataFrame:
    """The same call to the module of the engine, collected."""
    given = ENGINES[engine](frame) if given is None else given  # skips where the engine is missing
    if engine == "spark":
        from ivicl.scale.spark import fit_many

        return pl.DataFrame(pl.from_arrow(fit_many(given, **call).toArrow()))
    from ivicl.scale.dask import fit_many

    return pl.from_pandas(fit_many(given, **call).compute().reset_index(drop=True))


@ENGINE
def test_every_study_has_the_row_that_memory_gives_it(engine):
    frame = untidy(1500)
    expected = IVBounds().fit_many(frame, by="study", **ROLES).sort("study")
    found = fit_there(engine, frame, by="study", **ROLES).sort("study")
    assert found.columns == ["study", *COLUMNS]
    assert found["study"].to_list() == ["a", "b", "c"]
    for name, kind in COLUMNS.items():
        assert found[name].to_list() == pytest.approx(expected[name].to_list(), abs=1e-6), (name, kind)


@ENGINE
def test_bad_studies_are_rows_and_the_job_goes_on(engine):
    """One arm only, everything missing, a weight that is no number of people; and more partitions than studies."""
    frame = untidy(600).with_columns(pl.col("people").cast(pl.Float64))
    one_arm = frame.with_columns(study=pl.lit("one arm"), letter=pl.lit("sent"))
    nothing = frame.with_columns(study=pl.lit("nothing"), taken=pl.lit(None, dtype=pl.Int64))
    halves = frame.with_columns(study=pl.lit("halves"), people=pl.lit(0.5))
    whole = pl.concat([frame, one_arm, nothing, halves])
    found = fit_there(engine, whole, by="study", estimator=IVBounds("balke-pearl"), ones=NAMED, **ROLES)
    errors = dict(found.select("study", "error").iter_rows())
    assert sorted(errors) == ["a", "b", "c", "halves", "nothing", "one arm"]
    assert [errors[study] for study in "abc"] == [None] * 3
    assert "nothing to compare" in errors["one arm"]
    assert "treatment 'taken' is missing in all" in errors["nothing"]
    assert "must be whole numbers" in errors["halves"]


@ENGINE
def test_a_worker_that_fails_is_a_reason_in_its_rows(engine):
    def bounds(data, request):
        return data.no_such_thing

    from ivicl.methods import Method

    method = Method("odd", "Odd", bounds, "estimate", "")
    found = fit_there(engine, untidy(300), by="study", estimator=IVBounds(method), ones=NAMED, **ROLES)
    assert found["study"].sort().to_list() == ["a", "b", "c"]
    assert found["error"].str.contains("method 'odd' failed: AttributeError").all()


@pytest.mark.filterwarnings("ignore::ivicl.errors.DesignWarning")
@ENGINE
def test_codings_that_are_not_named_are_those_of_all_studies(engine):
    """Nobody is treated in one study: 'no' must not become its 1. And amounts have one range."""
    frame = untidy(900).with_columns(
        taken=pl.when((pl.col("study") == "b") | (pl.col("taken") == 0)).then(pl.lit("no")).otherwise(pl.lit("yes")),
        well=pl.int_range(900) % 7 + pl.when(pl.col("study") == "c").then(3.5).otherwise(0.0),
    )
    with pytest.warns(DesignWarning, match="1 of 3 studies is graded stop"):
        expected = IVBounds("manski").fit_many(frame, by="study", **ROLES).sort("study")
    found = fit_there(engine, frame, by="study", estimator=IVBounds("manski"), **ROLES).sort("study")
    for name in ("lower", "upper", "error", "n"):
        assert found[name].to_list() == pytest.approx(expected[name].to_list(), abs=1e-9)


def test_a_billion_rows_are_merged_before_anything_reaches_python():
    """The plan alone, read from the bottom: nothing runs."""
    session = spark_session()
    from pyspark.sql import functions as f

    from ivicl.scale.spark import fit_many

    people = session.range(1_000_000_000)
    people = people.select(
        (f.col("id") % 1000).alias("study"),
        (f.col("id") % 2).alias("z"),
        (f.col("id") % 3 % 2).alias("t"),
        (f.col("id") % 5 % 2).alias("y"),
        (f.col("id") % 20).alias("cell"),
    )
    roles = {"outcome": "y", "treatment": "t", "instrument": "z", "covariates": ["cell"]}
    bounds = fit_many(people, by="study", ones={"y": 1, "t": 1, "z": 1}, **roles)
    assert bounds.columns == ["study", *COLUMNS]
    plan = bounds._jdf.queryExecution().executedPlan().toString()
    told = {"HashAggregate", "MapInArrow", "PythonMapInArrow", "Range"}
    steps = [name for name in re.findall(r"[A-Za-z]+", plan) if name in told]
    python = next(i for i, name in enumerate(steps) if "MapInArrow" in name)
    assert steps[-1] == "Range"
    assert steps[python + 1 :].count("HashAggregate") == 2, "before and after the shuffle, both below Python"
    assert "HashAggregate" not in steps[:python]


@ENGINE
def test_wrong_calls_are_told_before_anything_runs(engine):
    frame = untidy(50)
    with pytest.raises(InputError, match="nearest name is 'study'"):
        fit_there(engine, frame, by="studdy", **ROLES)
    with pytest.raises(InputError, match="given twice"):
        fit_there(engine, frame, by="age", **ROLES)
    with pytest.raises(InputError, match="alpha"):
        fit_there(engine, frame, by="study", estimator=IVBounds(alpha=2), **ROLES)
    module = pytest.importorskip(f"ivicl.scale.{engine}")
    with pytest.raises(InputError, match="is a DataFrame, not a"):
        module.fit_many(frame, by="study", **ROLES)


@ENGINE
def test_a_cluster_in_two_studies_is_refused_as_in_memory(engine):
    frame = (
        untidy(600)
        .with_columns(row=pl.int_range(pl.len()))
        .with_columns(school=pl.col("study") + (pl.col("row") % 8).cast(pl.String))
    )
    shared = frame.with_columns(school=pl.when(pl.col("row") < 40).then(pl.lit("all")).otherwise(pl.col("school")))
    roles = ROLES | {"cluster": "school", "ones": NAMED}
    with pytest.raises(InputError, match="cluster 'school' = 'all' has people in two studies") as memory:
        IVBounds("late").fit_many(shared, by="study", **roles)
    with pytest.raises(InputError, match="cluster 'school' = 'all' has people in two studies") as there:
        fit_there(engine, shared, by="study", estimator=IVBounds("late"), **roles)
    assert "join study and cluster" in str(there.value) and "join study and cluster" in str(memory.value)
    expected = IVBounds("late").fit_many(frame, by="study", **roles).sort("study")
    found = fit_there(engine, frame, by="study", estimator=IVBounds("late"), **roles).sort("study")
    assert found["lower"].to_list() == pytest.approx(expected["lower"].to_list(), abs=1e-6)


@ENGINE
def test_a_study_that_is_one_cluster_and_an_empty_partition(engine):
    """One cluster tells nothing: a row with its reason. Partitions without rows (more than studies) give none."""
    frame = (
        untidy(600)
        .with_columns(row=pl.int_range(pl.len()))
        .with_columns(
            school=pl.when(pl.col("study") == "b")
            .then(pl.lit("b"))
            .otherwise(pl.col("study") + (pl.col("row") % 8).cast(pl.String))
        )
    )
    roles = ROLES | {"cluster": "school", "ones": NAMED}
    given = ENGINES[engine](frame)
    given = given.repartition(9) if engine == "spark" else given.repartition(npartitions=9)
    found = fit_there(engine, frame, by="study", estimator=IVBounds("late"), given=given, **roles).sort("study")
    assert found["study"].to_list() == ["a", "b", "c"]
    assert "one value only" in found["error"][1] and found["error"].null_count() == 2
