"""`method="ivicl"` around the network: a stand-in shows the bookkeeping, the shipped model the promises."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from ivicl import IVBounds, IVData
from ivicl.errors import InputError
from ivicl.methods.base import ModelInfo
from ivicl.methods.outcomes import COMBINATIONS
from ivicl.methods.pretrained.batching import predict_tables
from ivicl.methods.pretrained.runtime import Model
from ivicl.methods.pretrained.stacks import Table
from ivicl.methods.pretrained.tables import association, left_out_columns
from stand_in import StandIn, made_up

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}
X = ["x0", "x1", "x2"]


@pytest.fixture(scope="module")
def shipped():
    try:
        return Model.shipped()
    except InputError as error:
        pytest.skip(str(error))


def test_a_binary_fit_is_one_pass_and_names_its_model(stand_in):
    res = IVBounds().fit(made_up(300), covariates=X, **ROLES)
    (pass_, *counts) = stand_in.shapes
    assert pass_ == (1, 300, 3) and [rows for _, rows, _ in counts] == [8], "and the rung without covariates"
    assert res.model == ModelInfo("stand-in", "0" * 64)
    assert -1 <= res.lower < res.upper <= 1
    assert (res.lower, res.upper) == pytest.approx(res.interval(0.05))
    assert res.identified_set is not None
    assert res.width_parts.not_identified > 0


def test_thresholds_pass_as_one_batch(stand_in):
    res = IVBounds(combine="comonotone", n_thresholds=12).fit(made_up(300, amounts=True), covariates=X, **ROLES)
    assert stand_in.shapes[0] == (12, 300, 3) and [shape[1] for shape in stand_in.shapes[1:]] == [8]
    low, high = res.outcome_range
    assert -(high - low) <= res.lower < res.upper <= high - low
    assert res.thresholds.slack == pytest.approx((high - low) / 12)


def test_rows_that_differ_in_the_outcome_alone_are_merged_and_change_nothing(stand_in):
    frame = made_up(2000, amounts=True)
    frame["x0"] = np.round(frame["x0"])
    res = IVBounds(combine="comonotone").fit(frame, covariates=["x0"], **ROLES)
    assert res.details["rows_used"] < 100
    distinct = [tuple(row) for row in np.column_stack([frame["x0"], frame["z"], frame["t"]])]
    assert res.details["rows_used"] == 2 * len(set(distinct))
    # The same tables in long form.
    data = IVData.from_frame(frame, covariates=["x0"], **ROLES)
    tables = [Table(data.x, data.z, data.t, (data.y >= c).astype(float), data.w) for c in res.thresholds.points]
    long = predict_tables(stand_in, tables)
    lengths = res.thresholds.lengths
    expected = sum(s * float(long.of("lower", k).quantile(0.005)) for k, s in enumerate(lengths))
    assert res.lower == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("combine", COMBINATIONS)
def test_the_effect_of_amounts_scales_with_their_unit(stand_in, combine):
    frame = made_up(200, amounts=True)
    first = IVBounds(combine=combine, random_state=3).fit(frame, covariates=X, **ROLES)
    second = IVBounds(combine=combine, random_state=3).fit(frame | {"y": 1000 * frame["y"] + 5}, covariates=X, **ROLES)
    assert second.lower == pytest.approx(1000 * first.lower, rel=1e-6)
    assert second.upper == pytest.approx(1000 * first.upper, rel=1e-6)


def test_independent_is_narrower_and_says_what_it_cannot_do(stand_in):
    frame = made_up(200, amounts=True)
    wide = IVBounds(combine="comonotone").fit(frame, **ROLES)
    narrow = IVBounds(combine="independent").fit(frame, **ROLES)
    assert narrow.width < 0.7 * wide.width
    assert any("identified set" in warning for warning in narrow.warnings)


def test_randomised_depends_on_its_seed_only(stand_in):
    frame = made_up(200, amounts=True)
    fits = [IVBounds(combine="randomised", random_state=seed).fit(frame, covariates=X, **ROLES) for seed in (1, 1, 2)]
    assert fits[0].to_json() == fits[1].to_json()
    assert fits[0].lower != fits[2].lower


def test_copies_and_weights_are_the_same(stand_in):
    frame = made_up(60, amounts=True)
    copies = {name: np.repeat(values, 3) for name, values in frame.items()}
    weighted = frame | {"w": np.full(60, 3)}
    for combine in ("means", "comonotone", "randomised"):
        a = IVBounds(combine=combine).fit(copies, covariates=X, **ROLES)
        b = IVBounds(combine=combine).fit(weighted, covariates=X, weights="w", **ROLES)
        assert (a.lower, a.upper) == pytest.approx((b.lower, b.upper))


@pytest.mark.filterwarnings("ignore::ivicl.errors.DesignWarning")
def test_columns_beyond_the_limit_are_named(monkeypatch):
    model = StandIn(max_features=2)
    monkeypatch.setattr(Model, "shipped", staticmethod(lambda: model))
    frame = made_up(500, d=4)
    frame["x2"] = frame["x2"] + 5 * frame["t"]
    frame["x3"] = frame["x3"] - 5 * frame["z"]
    res = IVBounds().fit(frame, covariates=["x0", "x1", "x2", "x3"], **ROLES)
    assert res.details["left_out_columns"] == ["x0", "x1"]
    assert any("x0, x1" in warning for warning in res.warnings)


def test_more_people_than_the_training_range_are_warned_of(stand_in):
    res = IVBounds().fit_counts([[[4e8, 1e8], [0, 0]], [[1e8, 1e8], [1e8, 2e8]]])
    assert any("that the network is made for" in warning for warning in res.warnings)


@pytest.mark.parametrize("option", [{"max_rows": 0}, {"max_rows": 2.5}, {"model": 3}, {"modle": "a.onnx"}])
def test_options_are_checked(stand_in, option):
    with pytest.raises(InputError):
        IVBounds(**option).fit_counts([[[5, 5], [5, 5]], [[5, 5], [5, 5]]])


def test_a_model_file_that_is_not_there(stand_in):
    with pytest.raises(InputError, match=r"nowhere\.onnx"):
        IVBounds(model="nowhere.onnx").fit_counts([[[5, 5], [5, 5]], [[5, 5], [5, 5]]])


# --- the shipped model


def test_the_shipped_model_knows_the_diagnostics_limits(shipped):
    from ivicl.results.diagnostics.findings import MOST_COVARIATES, PEOPLE_RANGE

    assert shipped.metadata["network"]["max_features"] == MOST_COVARIATES
    assert shipped.metadata["network"]["max_count"] == PEOPLE_RANGE[1]


def test_the_shipped_model_keeps_its_promises_through_fit(shipped):
    frame = made_up(400)
    res = IVBounds().fit(frame, covariates=X, **ROLES)
    again = IVBounds().fit(frame, covariates=X, **ROLES)
    assert res.to_json() == again.to_json()
    mirrored = IVBounds().fit(frame | {"t": 1 - frame["t"]}, covariates=X, **ROLES)
    assert (mirrored.lower, mirrored.upper) == pytest.approx((-res.upper, -res.lower), abs=1e-4)
    recoded = IVBounds().fit(frame | {"z": 1 - frame["z"]}, covariates=X[::-1], **ROLES)
    assert (recoded.lower, recoded.upper) == pytest.approx((res.lower, res.upper), abs=1e-4)


def test_the_shipped_model_near_the_classical_bounds_of_a_large_table(shipped):
    """At a million people the ends of the identified set are known; the posterior means must be near them."""
    table = np.array([[[400_000, 100_000], [0, 0]], [[150_000, 50_000], [100_000, 200_000]]])
    res = IVBounds().fit_counts(table)
    classical = IVBounds(method="balke-pearl").fit_counts(table)
    assert res.identified_set.lower.mean == pytest.approx(classical.lower, abs=0.03)
    assert res.identified_set.upper.mean == pytest.approx(classical.upper, abs=0.03)


def test_the_graph_drops_the_columns_that_are_named(shipped):
    """Noise in a column that is named as left out cannot change the answer; in one that is kept it does."""
    keep = shipped.metadata["network"]["max_features"]
    frame = made_up(300, d=keep + 3)
    names = [f"x{j}" for j in range(keep + 3)]
    data = IVData.from_frame(frame, covariates=names, **ROLES)
    table = Table(data.x, data.z, data.t, data.y, data.w)
    gone = left_out_columns([table], data.covariates, keep)
    assert len(gone) == 3
    res = IVBounds().fit(frame, covariates=names, **ROLES)
    without = IVBounds().fit(frame, covariates=[name for name in names if name not in gone], **ROLES)
    assert (without.lower, without.upper) == pytest.approx((res.lower, res.upper), abs=1e-4)
    assert association(table).shape == (keep + 3,)


def test_a_fit_imports_neither_torch_nor_sklearn_nor_matplotlib(shipped):
    code = (
        "import sys\n"
        "from ivicl import IVBounds\n"
        "IVBounds().fit_counts([[[158, 14], [0, 0]], [[52, 12], [23, 78]]]).summary()\n"
        "assert not {'torch', 'sklearn', 'matplotlib', 'scipy.stats'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
