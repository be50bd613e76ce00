"""Amounts merged into count, mean and variance: the same answers as from the rows, in memory and in every engine."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from engines import ENGINES
from ivicl import IVBounds, IVData
from ivicl.data import Roles, compression
from ivicl.errors import InputError
from ivicl.methods.answers import answers
from ivicl.methods.arm_effects import ArmEffects
from ivicl.methods.design.factors import design_factors
from ivicl.methods.design.variance import mean_variance
from ivicl.methods.estimated_law import estimate_law
from ivicl.methods.group_ends import group_ends
from ivicl.methods.one_step_means import adjusted_means
from ivicl.methods.registry import resolve

ROLES: dict[str, Any] = {
    "outcome": "spent",
    "treatment": "taken",
    "instrument": "letter",
    "covariates": ["age", "site"],
}
DESIGN = {"cluster": "village", "strata": "block", "sampling_weights": "stands_for"}


def spending(n: int = 3000, seed: int = 0) -> pl.DataFrame:
    """An amount that is different in nearly every row, zero for some, missing for others; few covariate cells."""
    rng = np.random.default_rng(seed)
    z, age = rng.integers(0, 2, n), rng.integers(3, 6, n) * 10.0
    t = rng.random(n) < 0.15 + 0.5 * z
    spent = np.where(rng.random(n) < 0.2, 0.0, 1000 + 40 * rng.gamma(2.0, 1.0, n) + 20 * t + age)
    village = rng.integers(0, 20, n)
    return pl.DataFrame(
        {
            "letter": np.where(z == 1, "sent", "not sent"),
            "taken": t.astype(np.int64),
            "spent": spent,
            "age": age,
            "site": rng.choice(["north", "south", "west"], n),
            "people": rng.integers(1, 4, n),
            "study": rng.choice(["b", "a"], n),
            "village": village,
            "block": village % 4,
            "stands_for": 1.0 + village % 3,
        }
    ).with_columns(spent=pl.when(pl.int_range(n) % 37 == 5).then(None).otherwise(pl.col("spent")))


def data_of(**more: Any) -> IVData:
    return IVData.from_frame(spending(), **ROLES, **more)


@pytest.mark.parametrize("more", [{}, {"weights": "people"}, DESIGN, DESIGN | {"weights": "people"}])
def test_what_is_made_of_means_and_variances_is_the_same(more):
    raw = data_of(**more)
    merged = raw.by_moments()
    assert len(merged.w) < len(raw.w) / 2
    assert merged.n == raw.n
    for data in (raw, merged):
        assert data.mass @ data.y == pytest.approx(raw.mass @ raw.y)
    ours, theirs = ArmEffects.of(merged), ArmEffects.of(raw)
    for name in ("outcome", "treatment", "var_outcome", "var_treatment", "covariance"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-9), name
    one, other = adjusted_means(merged), adjusted_means(raw)
    np.testing.assert_allclose(one.means, other.means, rtol=1e-9)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-7, atol=1e-14)
    np.testing.assert_allclose(design_factors(merged).factor, design_factors(raw).factor, rtol=1e-8)
    np.testing.assert_allclose(estimate_law(merged).worth, estimate_law(raw).worth, rtol=1e-8)


def test_without_the_variance_the_standard_errors_would_be_too_small():
    """The negative control: means alone are not enough, and the tests above would notice."""
    raw = data_of()
    bare = replace(raw.by_moments(), v=None)
    assert ArmEffects.of(bare).outcome == pytest.approx(ArmEffects.of(raw).outcome)
    assert ArmEffects.of(bare).var_outcome < 0.5 * ArmEffects.of(raw).var_outcome
    assert adjusted_means(bare).covariance[1, 1] < 0.8 * adjusted_means(raw).covariance[1, 1]
    weighted = data_of(sampling_weights="stands_for")
    zeroed = replace(weighted.by_moments(), v=None)
    assert ArmEffects.of(zeroed).var_outcome < 0.5 * ArmEffects.of(weighted).var_outcome


def test_the_variance_of_scores_counts_who_differs_inside_a_row():
    raw = data_of(sampling_weights="stands_for")
    merged = raw.by_moments()
    slope = (1 + raw.t)[:, None]
    expected = mean_variance(slope * raw.y01[:, None], raw).variance
    slope = (1 + merged.t)[:, None]
    assert mean_variance(slope * merged.y01[:, None], merged, slope=slope).variance == pytest.approx(expected)
    assert mean_variance(slope * merged.y01[:, None], merged).variance < 0.9 * expected


@pytest.mark.parametrize("more", [{}, DESIGN])
def test_subgroups_given_all_the_data(more):
    raw = data_of(**more).merged()
    merged = raw.by_moments()
    ours, theirs = (group_ends(data, [data.x[:, 0] < 40, data.x[:, 0] >= 40]) for data in (merged, raw))
    for one, other in zip(ours, theirs, strict=True):
        assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper), rel=1e-8)
        assert (one.se_lower, one.se_upper) == pytest.approx((other.se_lower, other.se_upper), rel=1e-8)


@pytest.mark.parametrize("method", ["ivicl", "manski", "no-defiers", "late"])
@pytest.mark.parametrize("more", [{}, {"weights": "people", "missing_outcome": "bounds"}, DESIGN])
def test_methods_that_read_means_answer_alike(method, more):
    raw = data_of(**more)
    fits = [IVBounds(method).fit_data(data) for data in (raw, raw.by_moments())]
    rows = [fit.to_frame().select(pl.selectors.float()).row(0, named=True) for fit in fits]
    for name, expected in rows[0].items():
        if expected is None:
            assert rows[1][name] is None, name
        else:
            assert rows[1][name] == pytest.approx(expected, rel=1e-6, abs=1e-6 * 1200), name
    assert "merged into means" in fits[1].to_json()


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("balke-pearl", {}),
        ("sharp", {}),
        ("exact", {}),
        ("ivicl", {"combine": "comonotone"}),
        ("ivicl", {"max_rows": 3}),
    ],
)
def test_what_needs_each_outcome_is_refused(method, options):
    with pytest.raises(InputError, match="needs the outcome of each person, but the outcomes were merged"):
        IVBounds(method, **options).fit_data(data_of().by_moments())


def test_a_binary_outcome_stays_as_it_is():
    data = data_of().threshold(1000.0)
    assert data.by_moments().v is None
    assert data.by_moments().counts().tolist() == data.counts().tolist()


def test_large_amounts_lose_no_digits(monkeypatch):
    """Sums of squares of 1e9 and a bit would leave nothing of the variance; of 1e200 they are infinite."""
    monkeypatch.setattr(compression, "MOST_ENTRIES", 300)
    for shift, scale in ((1e9, 1.0), (0.0, 1e200)):
        frame = spending().with_columns(spent=shift + scale * pl.col("spent"))
        expected = IVData.from_frame(frame, **ROLES).by_moments()
        found = IVData.from_frame(frame.lazy(), **ROLES).by_moments()
        np.testing.assert_allclose(found.v, expected.v, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("more", [{}, {"weights": "people"}, DESIGN, {"missing_outcome": "bounds"}, {"cap": 1100.0}])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_merges_amounts(engine, more, monkeypatch):
    """Too many different rows: the engine hands over counts, means and variances, and the answer is that of memory."""
    monkeypatch.setattr(compression, "MOST_ENTRIES", 1900)
    frame = spending()
    expected = IVData.from_frame(frame.to_pandas(), **ROLES, **more)
    found = IVData.from_frame(ENGINES[engine](frame), **ROLES, **more)
    assert found.v is not None
    assert len(found.w) <= 1900
    assert (found.n, found.report.n_rows, found.report.n_dropped) == (
        expected.n,
        expected.report.n_rows,
        expected.report.n_dropped,
    )
    assert found.outcome_range == expected.outcome_range
    assert found.report.lost == expected.report.lost
    ours, theirs = found.by_moments(), expected.by_moments()
    for field in ("x", "z", "t", "w", "y", "v"):
        np.testing.assert_allclose(getattr(ours, field), getattr(theirs, field), rtol=1e-9, atol=1e-10)
    assert any("merged into their mean and variance" in note for note in found.report.notes)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_answer_of_memory(engine, monkeypatch):
    frame = spending(1500)
    expected = IVBounds().fit(frame.to_pandas(), weights="people", **ROLES)
    monkeypatch.setattr(compression, "MOST_ENTRIES", 400)
    found = IVBounds().fit(ENGINES[engine](frame), weights="people", **ROLES)
    span = 1200.0
    assert (found.lower, found.upper) == pytest.approx((expected.lower, expected.upper), abs=1e-6 * span)
    for name, entry in expected.estimands.items():
        assert found.estimands[name].lower == pytest.approx(entry.lower, abs=1e-6 * span), name
        assert found.estimands[name].upper == pytest.approx(entry.upper, abs=1e-6 * span), name


def test_files_of_text_merge_amounts_too(tmp_path, monkeypatch):
    from ivicl.data import scanning

    monkeypatch.setattr(compression, "MOST_ENTRIES", 400)
    monkeypatch.setattr(scanning, "LARGE_TEXT", 100)
    frame = spending(1500)
    frame.write_csv(tmp_path / "a.csv")
    found = IVData.from_frame(scanning.open_table(str(tmp_path / "a.csv")), **ROLES).by_moments()
    expected = IVData.from_frame(frame, **ROLES).by_moments()
    for field in ("x", "z", "t", "w", "y", "v"):
        np.testing.assert_allclose(getattr(found, field), getattr(expected, field), rtol=1e-9, atol=1e-10)


def test_outcomes_outside_a_range_that_was_given_are_refused(monkeypatch):
    monkeypatch.setattr(compression, "MOST_ENTRIES", 400)
    with pytest.raises(InputError, match="spent"):
        IVData.from_frame(spending().lazy(), **ROLES, outcome_range=(0.0, 1100.0))


def test_a_cap_by_quantile_is_refused_where_outcomes_do_not_leave_the_engine(monkeypatch):
    monkeypatch.setattr(compression, "MOST_ENTRIES", 400)
    with pytest.raises(InputError, match="find it there, and give the number"):
        IVData.from_frame(spending().lazy(), **ROLES, cap="99%")


def test_a_code_for_no_answer_is_still_seen(monkeypatch):
    monkeypatch.setattr(compression, "MOST_ENTRIES", 400)
    frame = spending().with_columns(spent=pl.when(pl.int_range(3000) % 50 == 7).then(-99.0).otherwise(pl.col("spent")))
    found = IVData.from_frame(frame.lazy(), **ROLES)
    assert found.v is not None
    assert any(odd.name == "missing codes" and "-99" in odd.sentence for odd in found.report.oddities)


@pytest.mark.parametrize("engine", ["polars", "spark"])
def test_many_studies_whose_amounts_stay_in_their_engine(engine):
    from ivicl.scale.merged_studies import MergedStudies

    frame = spending(2500)
    given = ENGINES[engine](frame)
    job = MergedStudies.of(nw.from_native(given), IVBounds("late"), "study", Roles(**ROLES))
    assert job.amount is not None, "one row for each amount would leave the engine"
    if engine == "spark":
        from ivicl.scale.spark import fit_many

        many = fit_many(given, by="study", estimator=IVBounds("late"), **ROLES)
        found = pl.DataFrame(pl.from_arrow(many.toArrow()))
    else:
        found = job.fit(job.merged(nw.from_native(given)).to_native().collect())
    expected = IVBounds("late").fit_many(frame, by="study", **ROLES).sort("study")
    for name in ("lower", "upper", "n", "itt_lower", "error"):
        assert found.sort("study")[name].to_list() == pytest.approx(expected[name].to_list(), abs=1e-6), name


def test_a_saved_result_of_merged_amounts_is_of_the_schema_and_comes_back(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    from test_result_schema import schema

    result = IVBounds("late").fit_data(data_of().by_moments())
    jsonschema.validate(json.loads(result.to_json()), schema())
    assert result.diagnostics.outcome.central_98_percent is None
    assert "E[" in result.diagnostics.inequalities[0].name()
    result.save(tmp_path / "late.json")
    again = type(result).load(tmp_path / "late.json")
    assert again == result
    assert again.diagnostics.inequalities[0].name() == result.diagnostics.inequalities[0].name()


def test_estimands_of_merged_rows():
    raw = data_of()
    method, request = resolve("late"), IVBounds("late").request()
    ours, theirs = (answers(method, method.bounds(data, request), data, request) for data in (raw.by_moments(), raw))
    assert ours["ITT"].lower == pytest.approx(theirs["ITT"].lower, abs=1e-6)
