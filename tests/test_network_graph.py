"""The network's graph: the file answers as the network does, and says on request what it knows of each row."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnxruntime = pytest.importorskip("onnxruntime")

from ivicl.learn.export import rounded  # noqa: E402
from ivicl.learn.network.ends import QUANTITIES  # noqa: E402
from ivicl.learn.prior import Form, PriorConfig, generator_for, sample_rows  # noqa: E402
from small_network import small_network  # noqa: E402

OUTPUTS = ("effect", "anchor", "unit", "mass", "law", "refined", "propensity")


@pytest.fixture(scope="module")
def network():
    return rounded(small_network())


@pytest.fixture(scope="module")
def session(network_file):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # as the product has it
    return onnxruntime.InferenceSession(network_file.read_bytes(), options, providers=["CPUExecutionProvider"])


def table(form: Form, columns: int, tables: int = 3, rows: int = 90, seed: int = 0) -> dict:
    batch = sample_rows(PriorConfig.default(), generator_for(seed, columns), tables, rows, columns, form)
    return {
        "x": batch.x.double(), "z": batch.z, "t": batch.t, "y": batch.y, "v": batch.v, "w": batch.w,
        "no_defiers": torch.full((tables, 1), float(form.no_defiers)), "design": torch.ones(tables, QUANTITIES),
    }  # fmt: skip


def by_torch(network, inputs: dict) -> dict[str, np.ndarray]:
    with torch.no_grad():
        return dict(zip(OUTPUTS, (part.numpy() for part in network(*inputs.values())), strict=True))


def half_and_half(rows: int = 120) -> dict:
    """Half treated, half with y = 1, no first stage: all eight codings are tied."""
    generator = torch.Generator().manual_seed(4)
    pattern = torch.tensor([0.0, 1.0] * (rows // 2))
    t, y = (pattern[torch.randperm(rows, generator=generator)][None] for _ in range(2))
    return {
        "x": torch.randn(1, rows, 2, generator=generator).double(), "z": pattern[None], "t": t, "y": y,
        "v": 0 * t, "w": 0 * t + 1, "no_defiers": torch.zeros(1, 1), "design": torch.ones(1, QUANTITIES),
    }  # fmt: skip


@pytest.mark.parametrize("columns", [0, 4])
@pytest.mark.parametrize("form", [Form(), Form(4, True), Form(3, True, True)])
def test_the_file_answers_as_the_network_does(network, session, form, columns):
    inputs = table(form, columns)
    told = by_torch(network, inputs)
    found = dict(zip(OUTPUTS, session.run(OUTPUTS, {k: v.numpy() for k, v in inputs.items()}), strict=True))
    for name in ("law", "propensity"):
        assert np.abs(found[name] - told[name]).max() < 1e-6, name
    assert np.abs(found["refined"] - told["refined"]).max() < 5e-6  # through float32 blocks
    assert (np.abs(found["anchor"] - told["anchor"]) / told["unit"]).max() < 1e-5
    assert np.abs(np.exp(found["mass"]) - np.exp(told["mass"])).max() < 5e-6
    assert np.abs(np.exp(found["effect"]) - np.exp(told["effect"])).max() < 5e-6


@pytest.mark.parametrize("columns", [0, 4])
def test_laws_of_rows_are_laws_and_follow_the_callers_coding(network, columns):
    inputs = table(Form(3, True), columns, seed=3)
    before = by_torch(network, inputs)
    for name in ("law", "refined"):
        assert before[name].shape == (3, 90, 2, 2, 2)
        assert np.abs(before[name].sum((3, 4)) - 1).max() < 1e-5
        assert before[name].min() >= 0
    for column, axis in (("z", 2), ("t", 3), ("y", 4)):
        after = by_torch(network, inputs | {column: 1 - inputs[column]})
        for name in ("law", "refined"):
            assert np.abs(np.flip(after[name], axis) - before[name]).max() < 1e-5, (column, name)
            assert np.abs(after[name] - before[name]).max() > 1e-3  # a control
        turned = 1 - after["propensity"] if column == "z" else after["propensity"]
        assert np.abs(turned - before["propensity"]).max() < 1e-5


def test_laws_of_rows_at_a_tie_of_all_codings_mirror_too(network):
    inputs = half_and_half()
    before = by_torch(network, inputs)["law"]
    for column, axis in (("z", 2), ("t", 3), ("y", 4)):
        after = by_torch(network, inputs | {column: 1 - inputs[column]})["law"]
        assert np.abs(np.flip(after, axis) - before).max() < 1e-5, column


def test_a_table_without_covariates_has_one_law_which_is_its_counts(network):
    inputs = table(Form(), 0)
    found = by_torch(network, inputs)
    assert np.ptp(found["law"], axis=1).max() < 1e-7
    z, t, y = (inputs[name].numpy()[0] for name in "zty")
    for arm in (0, 1):
        here = z == arm
        share = ((t == 1) & (y == 1) & here).sum() / here.sum()
        assert found["law"][0, 0, arm, 1, 1] == pytest.approx(share, abs=3 / here.sum())
    assert found["propensity"][0, 0] == pytest.approx(z.mean(), abs=0.03)
