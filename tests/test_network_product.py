"""A network of graph schema 2 behind `IVBounds`: what a caller chose at will does not show, what must mirror does.

The network is small and has learnt nothing; how the product feeds it and reads it is what is tested.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from ivicl import IVBounds, IVData
from ivicl.data.design import Design
from ivicl.errors import InputError, ModelFileError
from ivicl.methods.base import Request
from ivicl.methods.design.rows_law import rows_law
from ivicl.methods.group_ends import group_ends
from ivicl.methods.pretrained import schema_2
from ivicl.methods.pretrained.method import METHOD, NetworkOptions, pose
from ivicl.methods.pretrained.runtime import Model
from ivicl.methods.pretrained.stacks import Table, stacked
from ivicl.methods.pretrained.tables import merged_table
from ivicl.results.result import BoundsResult

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}
X = ["x0", "x1", "x2"]
LEVELS = (0.005, 0.05, 0.5, 0.95, 0.995)
EXACT = 3e-5
"""What float32 may leave of a share of the range."""


def study(amounts: bool, n: int = 300, seed: int = 0, discrete: bool = False) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, (n, 3)).astype(float) if discrete else rng.normal(size=(n, 3)) * [1.0, 30.0, 0.2]
    z = (rng.random(n) < 0.45).astype(int)
    drive = (x[:, 0] > x[:, 0].mean()).astype(float)
    t = (rng.random(n) < 0.1 + 0.4 * z + 0.15 * drive).astype(int)
    chance = 0.2 + 0.2 * t + 0.2 * drive
    y = np.round(rng.beta(5 * chance, 5 * (1 - chance)), 2) if amounts else (rng.random(n) < chance).astype(int)
    return {"z": z, "t": t, "y": y} | {f"x{j}": x[:, j] for j in range(3)}


@pytest.fixture(scope="module")
def fit(network_file):
    def call(frame, covariates=X, outcome_range=None, weights=None, **options) -> BoundsResult:
        if outcome_range is None and len(np.unique(frame["y"])) > 2:
            outcome_range = (0.0, 1.0)
        estimator = IVBounds(model=network_file, **{"combine": "means"} | options)
        return estimator.fit(frame, covariates=covariates, outcome_range=outcome_range, weights=weights, **ROLES)

    return call


def difference(one: BoundsResult, two: BoundsResult, mirrored: bool = False) -> float:
    """Largest difference between quantiles of the effect and of both ends, of intervals and estimates."""

    def read(res: BoundsResult, turned: bool) -> np.ndarray:
        parts = [res.posterior, res.identified_set.lower, res.identified_set.upper]
        if turned:
            parts = [part.mirrored() for part in (parts[0], parts[2], parts[1])]
        ends = (-res.upper, -res.lower) if turned else (res.lower, res.upper)
        return np.concatenate([*(part.quantile(LEVELS) for part in parts), ends])

    return float(np.abs(read(one, False) - read(two, mirrored)).max())


@pytest.mark.parametrize("amounts", [False, True])
def test_what_a_caller_chose_at_will_does_not_show(fit, amounts):
    frame = study(amounts)
    before = fit(frame)
    rows = np.random.default_rng(1).permutation(300)
    same = {
        "order of rows": ({name: values[rows] for name, values in frame.items()}, X),
        "order of covariates": (frame, ["x2", "x0", "x1"]),
        "units": (frame | {"x0": 1e6 * frame["x0"] + 3, "x1": -frame["x1"]}, X),
        "a constant covariate": (frame | {"c": np.full(300, 7.7)}, [*X, "c"]),
        "coding of the instrument": (frame | {"z": 1 - frame["z"]}, X),
    }
    for name, (changed, columns) in same.items():
        assert difference(before, fit(changed, columns)) < EXACT, name
    # Controls: what is another data set has another answer.
    assert difference(before, fit(frame | {"x0": frame["x0"][rows]})) > 1e-3
    assert difference(before, fit(frame, ["x0"])) > 1e-3
    assert difference(before, fit(frame | {"z": frame["z"][rows]})) > 1e-3


@pytest.mark.parametrize("amounts", [False, True])
@pytest.mark.parametrize("column", ["t", "y"])
def test_recoding_treatment_or_outcome_mirrors(fit, amounts, column):
    frame = study(amounts, seed=2)
    before, after = fit(frame), fit(frame | {column: 1 - frame[column]})
    assert difference(before, after, mirrored=True) < EXACT
    assert difference(before, after) > 1e-3


@pytest.mark.parametrize("amounts", [False, True])
def test_copies_weights_and_merged_rows_are_the_same(fit, amounts):
    frame = study(amounts, discrete=True)
    thrice = {name: np.repeat(values, 3) for name, values in frame.items()}
    weighted = fit(frame | {"w": np.full(300, 3)}, weights="w")
    assert difference(fit(thrice), weighted) < EXACT
    keys = [*X, "z", "t", "y"]
    grouped = pl.DataFrame(thrice).group_by(keys).len("w").sample(fraction=1.0, shuffle=True, seed=1)
    assert len(grouped) < 300
    assert difference(fit({name: grouped[name].to_numpy() for name in (*keys, "w")}, weights="w"), weighted) < EXACT
    assert difference(fit(frame), weighted) > 1e-3  # a control: three times the people


def test_people_alike_but_for_an_amount_are_one_row_with_mean_and_variance():
    frame = study(True, discrete=True)
    data = IVData.from_frame(frame, covariates=X, outcome_range=(0, 1), **ROLES)
    table = merged_table(data)
    cells = {tuple(row) for row in np.column_stack([frame[name] for name in (*X, "z", "t")])}
    assert table.rows == len(cells)
    assert table.w.sum() == 300
    assert table.w @ table.y == pytest.approx(frame["y"].sum())
    spread = table.w @ (table.v + table.y**2)
    assert spread == pytest.approx((frame["y"] ** 2).sum())
    assert np.array_equal(np.lexsort(np.column_stack([table.t, table.z, table.x[:, ::-1]]).T), np.arange(table.rows))


def test_an_outcome_of_zeros_and_ones_stays_two_rows_whatever_its_range():
    """The graph knows a yes/no outcome by its rows, also where its values are called 0 and 10."""
    frame = study(False, discrete=True)
    binary = IVData.from_frame(frame, covariates=X, **ROLES)
    stretched = IVData.from_frame(frame | {"y": 10 * frame["y"]}, covariates=X, outcome_range=(0, 10), **ROLES)
    assert not stretched.binary
    for one, two in zip(vars(merged_table(binary)).values(), vars(merged_table(stretched)).values(), strict=True):
        np.testing.assert_array_equal(one, two)
    assert merged_table(stretched).binary


def test_an_amount_is_one_pass_of_no_more_rows_than_a_yes_or_no(network_file, monkeypatch):
    shapes = []
    run = Model.predict

    def counted(self, x, *others):
        shapes.append(x.shape)
        return run(self, x, *others)

    monkeypatch.setattr(Model, "predict", counted)
    frame = study(True)
    for y in (frame["y"], (frame["y"] > 0.5).astype(int)):
        data = IVData.from_frame(frame | {"y": y}, covariates=X, outcome_range=(0, 1), **ROLES)
        METHOD.bounds(data, Request(own=NetworkOptions(model=network_file)))
    assert shapes == [(1, 300, 3), (1, 300, 3)]


def test_the_answer_is_in_units_of_the_outcome(fit):
    frame = study(True)
    one = fit(frame, outcome_range=(0, 1))
    two = fit(frame | {"y": 1000 * frame["y"] - 200}, outcome_range=(-200, 800))
    assert (two.lower, two.upper) == pytest.approx((1000 * one.lower, 1000 * one.upper), rel=1e-4)
    assert two.posterior.mean == pytest.approx(1000 * one.posterior.mean, rel=1e-4)
    assert two.identified_set.lower.sd == pytest.approx(1000 * one.identified_set.lower.sd, rel=1e-4)


@pytest.mark.parametrize("combine", ["comonotone", "independent", "randomised"])
def test_the_papers_combinations_work_by_name(fit, combine):
    frame = study(True)
    res = fit(frame, combine=combine, n_thresholds=5)
    assert res.thresholds.problems == 5
    assert -1 <= res.lower < res.upper <= 1
    mirrored = fit(frame | {"t": 1 - frame["t"]}, combine=combine, n_thresholds=5)
    tolerance = 0.03 if combine == "randomised" else 2e-3  # draws; sums on bins
    assert (mirrored.lower, mirrored.upper) == pytest.approx((-res.upper, -res.lower), abs=tolerance)


def test_many_studies_have_the_answers_they_have_alone(network_file):
    parts = [study(True, n=n, seed=n) for n in (40, 150, 90, 400)]
    frame = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    frame["study"] = np.repeat([0, 1, 2, 3], [40, 150, 90, 400])
    estimator = IVBounds(model=network_file, combine="means")
    for columns in (X, []):
        table = estimator.fit_many(frame, by="study", covariates=columns, outcome_range=(0, 1), **ROLES)
        for row, part in zip(table.iter_rows(named=True), parts, strict=True):
            alone = estimator.fit(part, covariates=columns, outcome_range=(0, 1), **ROLES)
            assert row["error"] is None
            assert (row["lower"], row["upper"]) == pytest.approx((alone.lower, alone.upper), abs=EXACT)


def test_a_saved_result_comes_back(fit, tmp_path):
    res = fit(study(True))
    res.save(tmp_path / "res.json")
    back = BoundsResult.load(tmp_path / "res.json")
    assert back.to_json() == res.to_json()
    assert back.interval(0.2) == res.interval(0.2)


def test_ends_have_grids_of_their_own_so_that_many_people_are_seen(network_file):
    """A hundred million people: the posterior of an end is far narrower than a bin of the effect."""
    shares = np.array([[[0.4, 0.1], [0.0, 0.0]], [[0.15, 0.05], [0.1, 0.2]]]) * 1e8
    res = IVBounds(model=network_file).fit_counts(shares)
    assert 1e-7 < res.identified_set.lower.sd < 5e-4
    low, high = res.identified_set.lower.quantile([0.025, 0.975])
    assert (high - low) / res.identified_set.lower.sd == pytest.approx(4, abs=1.5)


def test_the_grid_that_is_read_is_the_grid_that_was_learnt():
    torch = pytest.importorskip("torch")
    from ivicl.learn.network import grids

    anchor, unit = np.array([[0.97] * 11]), np.array([[0.004] * 11])
    told = grids.edges(grids.Grid(torch.tensor(anchor), torch.tensor(unit)), torch.tensor(schema_2.LOWEST).double())
    mass = np.full((1, 11, schema_2.CELLS), 1 / schema_2.CELLS)
    read = schema_2.Posteriors(np.ones((1, 1024)), anchor, unit, mass, (None,)).of("EY1 upper")
    np.testing.assert_allclose(np.unique(told[0, 3].numpy()), read.edges, atol=1e-12)


def test_a_granted_assumption_is_heard_and_shown(fit):
    frame = study(False)
    plain, granted = fit(frame), fit(frame, assume=("no-defiers",))
    assert difference(plain, granted) > 1e-3
    assert "no-defiers" in granted.assumptions and "no-defiers" not in plain.assumptions
    assert fit(frame, assume="no-defiers").to_json() == granted.to_json()
    with pytest.raises(InputError, match="'monotone'"):
        fit(frame, assume=("monotone",))


def test_the_law_at_each_row_comes_along(network_file):
    data = IVData.from_frame(study(True, discrete=True), covariates=X, outcome_range=(0, 1), **ROLES)
    request = Request(combine="means", own=NetworkOptions(model=network_file))
    rows = METHOD.bounds(data, request).row_laws
    assert rows.w.sum() == 300 and rows.law.shape == (len(rows.w), 2, 2, 2)
    assert np.abs(rows.law.sum((2, 3)) - 1).max() < 1e-5
    assert ((rows.propensity > 0) & (rows.propensity < 1)).all()
    # In a batch it is the same, without the padding.
    other = IVData.from_frame(study(True, n=800, seed=3), covariates=X, outcome_range=(0, 1), **ROLES)
    both = METHOD.bounds_of_many([data, other], request)
    np.testing.assert_allclose(both[0].row_laws.law, rows.law, atol=1e-5)
    assert len(both[1].row_laws.w) == 800
    plain = IVData.from_frame(study(True), outcome_range=(0, 1), **ROLES)
    assert METHOD.bounds(plain, request).row_laws is None


@pytest.mark.parametrize("amounts", [False, True])
def test_further_questions_are_asked_at_the_law_that_the_network_found(fit, amounts):
    """Each person of the data has the law of the merged row; what the network did not see, or clusters, are ridge's."""
    frame = study(amounts, n=240, seed=8, discrete=True)
    res = fit(frame)
    data, known = res.source.data, res.source.laws
    assert len(known.w) < len(data.w) == 240
    found = rows_law(data, known)
    assert found.learner == "the network"
    for row in (0, 17, 239):
        same = (known.x == data.x[row]).all(1) & (known.z == data.z[row]) & (known.t == data.t[row])
        if not amounts:
            same &= known.y == data.y[row]
        assert same.sum() == 1
        assert found.law[row] == pytest.approx(known.law[same][0], abs=1e-3)
        assert found.chance[row] == pytest.approx(known.propensity[same][0], abs=1e-6)
    moved = replace(data, x=data.x + np.eye(240, 3))
    clustered = replace(data, design=Design(cluster=np.arange(240) // 6))
    for other, law in ((moved, known), (clustered, known), (data, None)):
        assert rows_law(other, law).learner == "ridge regression"
    assert "estimated by the network" in " ".join(res.sensitivity(eps=[0.0, 0.1]).notes)
    told = res.by("x0").entries[0].given_all
    alone = group_ends(data, [data.x[:, 0] == 0])[0]
    assert told.lower != alone.lower and told.lower == pytest.approx(alone.lower, abs=0.3)


def test_a_stack_pads_and_keeps_what_is_told_of_each_table():
    one = Table(np.ones((2, 1)), *np.ones((4, 2)), v=np.full(2, 0.1), no_defiers=True)
    two = Table(np.ones((3, 2)), *np.ones((4, 3)), design=np.full(11, 0.5))
    stack = stacked([one, two])
    assert stack.x.shape == (2, 3, 2) and stack.w.tolist() == [[1, 1, 0], [1, 1, 1]]
    assert stack.v.tolist() == [[0.1, 0.1, 0], [0, 0, 0]]
    assert stack.no_defiers.tolist() == [1, 0]
    assert stack.design.tolist() == [[1.0] * 11, [0.5] * 11]


def test_a_file_that_changes_is_read_again(network_file, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(network_file.read_bytes())
    assert Model.load(path) is Model.load(path)
    path.write_bytes(b"something else")
    with pytest.raises(ModelFileError, match="not an ivicl model"):
        Model.load(path)


def test_the_file_says_how_its_grids_are_read(network_file):
    metadata = json.loads(json.dumps(Model.load(network_file).metadata))
    assert metadata["schema"] == 2
    assert metadata["quantities"] == list(schema_2.QUANTITIES)
    assert metadata["grid"] == {"cells": 128, "reach": 0.8, "span": 5.0, "lowest": list(schema_2.LOWEST)}


def test_the_judge_of_efficiency_asks_it_for_every_estimand(network_file):
    from ivicl.benchmarks.efficiency.predictors import of_model

    data = IVData.from_frame(study(True, n=100), covariates=X, outcome_range=(0, 1), **ROLES)
    answers = of_model(Model.load(network_file))(data, [0.5, 0.01])
    assert set(answers) == {"ATE", "EY1", "EY0", "ATT", "ATU", "LATE"}
    for name, answer in answers.items():
        assert (answer.lower[1] <= answer.lower[0]) and (answer.lower <= answer.upper).all(), name
        assert answer.lower[1] >= -1 and answer.upper[1] <= 1
    assert answers["EY1"].lower[1] >= 0


def test_the_command_says_what_the_file_is(network_file, run):
    code, shown, _ = run("model", "--model", str(network_file))
    assert code == 0
    assert "2: bounds on the ATE, EY1, EY0, ATT, ATU, LATE" in shown
    assert "width 32, depth 2, summary width 48" in shown


def test_the_model_card_can_be_made_of_it(network_file):
    """Its lines ask for count tables, rows and both ends, whatever the schema."""
    pytest.importorskip("torch")
    from ivicl.benchmarks.model_card import lines

    model = Model.load(network_file)
    assert lines.synthetic(model, datasets=1)["width"] > 0
    assert lines.calibration(model, tables=4)["tables"] == 4


@pytest.mark.parametrize("amounts", [False, True])
def test_every_estimand_comes_from_its_own_head_and_mirrors(fit, amounts):
    """A recoded treatment turns E Y(1) into E Y(0) and the ATT into minus the ATU; a recoded outcome m into 1 - m."""
    frame = study(amounts, seed=4)
    told = fit(frame, assume="no-defiers").estimands
    treated = fit(frame | {"t": 1 - frame["t"]}, assume="no-defiers").estimands
    outcome = fit(frame | {"y": 1 - frame["y"]}, assume="no-defiers").estimands
    names = {"ATE": "ATE", "EY1": "EY0", "EY0": "EY1", "ATT": "ATU", "ATU": "ATT", "LATE": "LATE"}
    for name, other in names.items():
        here = (told[name].lower, told[name].upper, told[name].estimate_lower, told[name].estimate_upper)
        turned = _ends(treated[other], mirrored=name not in ("EY1", "EY0"))
        assert here == pytest.approx(turned, abs=EXACT), name
        flipped = _ends(outcome[name], mirrored=True)
        if name in ("EY1", "EY0"):
            flipped = tuple(1 + end for end in flipped)
        assert here == pytest.approx(flipped, abs=EXACT), name
        assert here[0] <= here[2] <= here[3] <= here[1]
        assert told[name].interval == "credible" and told[name].adjusted
        assert ("no-defiers" in told[name].assumes) and told[name].covers == "set"
    assert told["LATE"].estimate_lower == told["LATE"].estimate_upper
    assert told["ATT"] != told["ATU"]


def _ends(entry, mirrored: bool) -> tuple[float, ...]:
    ends = (entry.lower, entry.upper, entry.estimate_lower, entry.estimate_upper)
    return (-ends[1], -ends[0], -ends[3], -ends[2]) if mirrored else ends


def test_an_estimand_that_is_asked_for_is_the_headline_with_its_posterior(fit):
    frame = study(True, seed=5)
    every = fit(frame).estimands
    res = fit(frame, estimand="ATT")
    assert res.estimand == "ATT" and (res.lower, res.upper) == (every["ATT"].lower, every["ATT"].upper)
    low, high = res.interval(0.5)
    assert res.lower < low <= high < res.upper
    assert res.estimands["ATE"] == every["ATE"]
    shifted = fit(frame | {"y": 10 * frame["y"] + 50}, estimand="EY0", outcome_range=(50, 60))
    assert shifted.lower == pytest.approx(50 + 10 * every["EY0"].lower, abs=1e-3)
    with pytest.raises(InputError, match="covers='set'"):
        fit(frame, estimand="ATT", covers="effect")


def test_the_effect_among_those_moved_needs_the_assumption_to_have_a_posterior(fit):
    frame = study(False, seed=6)
    plain, granted = fit(frame).estimands["LATE"], fit(frame, assume="no-defiers").estimands["LATE"]
    assert plain.interval == "confidence" and granted.interval == "credible"
    assert -1 <= granted.lower < granted.upper <= 1


def test_an_average_over_nobody_is_left_out(network_file):
    data = IVData.from_counts([30, 20, 0, 0, 25, 25, 0, 0])
    found = METHOD.bounds(data, Request(own=NetworkOptions(model=network_file)))
    assert set(found.estimands) == {"EY1", "EY0", "ATU"}


def test_a_design_goes_through_its_own_input_and_nobody_weighs_more_than_one(network_file):
    """Ten people who are alike are worth one; sampling weights are shared between the rows' weights and the factors."""
    frame = study(False, n=400, seed=7)
    for name in ("z", "t", "y"):
        frame[name] = np.repeat(frame[name][::10], 10)
    plain = IVData.from_frame(frame, covariates=["x0"], **ROLES)
    model, request = Model.load(network_file), Request(own=NetworkOptions())
    assert pose(plain, request, model).tables[0].design is None
    question = pose(replace(plain, design=Design(cluster=np.arange(400) // 10)), request, model)
    assert question.tables[0].w.sum() == 400
    assert question.tables[0].design == pytest.approx(np.full(11, 0.1), abs=0.02)
    weights = np.where(np.arange(400) % 2, 3.0, 1.0)
    weighted = pose(replace(plain, design=Design(sampling=weights)), request, model).tables[0]
    assert weighted.w.max() == pytest.approx(1) and weighted.w.min() == pytest.approx(1 / 3)
    # Without the factors 267 people would be left of 400; Kish's formula says 320.
    worth = weighted.w.sum() * weighted.design
    assert ((worth > 200) & (worth < 420)).all()


def test_the_command_takes_an_assumption_and_an_estimand(network_file, run):
    people = ["158", "14", "0", "0", "52", "12", "23", "78"]
    counts = ["counts", *people, "--model", str(network_file), "--format", "json"]
    code, out, _ = run(*counts, "--assume", "no-defiers", "--estimand", "LATE")
    told = json.loads(out)
    assert code == 0 and "no-defiers" in told["assumptions"]
    assert told["estimand"] == "LATE" and told["interval_kind"] == "credible"
    code, _, said = run(*counts, "--assume", "monotone")
    assert code == 2 and "'monotone'" in said and "no-defiers" in said
