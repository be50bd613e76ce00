"""The network in chunks of rows says what its one graph says, of all the rows, in bounded memory."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ivicl import IVBounds, IVData  # noqa: E402
from ivicl.errors import ModelFileError  # noqa: E402
from ivicl.learn.export import export, rounded  # noqa: E402
from ivicl.learn.network.config import NetworkConfig  # noqa: E402
from ivicl.learn.network.model import IVNetwork  # noqa: E402
from ivicl.methods.pretrained import batching  # noqa: E402
from ivicl.methods.pretrained.runtime import Model  # noqa: E402
from ivicl.methods.pretrained.schema_2 import Posteriors  # noqa: E402
from ivicl.methods.pretrained.stacks import Table, stacked  # noqa: E402
from ivicl.methods.pretrained.streaming import covariates, kept, source  # noqa: E402
from ivicl.methods.pretrained.streaming.weights import PLACES, Weights  # noqa: E402
from small_network import small_network  # noqa: E402

X = ["x0", "x1", "x2"]
ROLES = {"outcome": "y", "treatment": "t", "instrument": "z", "covariates": X}
GRAPH = ("effect", "anchor", "unit", "mass", "law", "propensity")

LOGS = 3e-6
"""Of logarithms, relative to their size. 1e-6 cannot be asked for: the graph ends in float32, and with its rows in
another order its own logarithms of the effect's shares differ by up to 1.8e-6 on these tables."""


@pytest.fixture(scope="module")
def model(network_file):
    return Model.load(network_file)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Several chunks in every (z, t), and one of them short."""
    monkeypatch.setattr(source, "CHUNK", 150)


def table(n: int = 700, columns: int = 3, amounts: bool = False, weights: bool = False, tie: bool = False) -> Table:
    rng = np.random.default_rng(n + columns)
    x = rng.normal(size=(n, columns)) * 10.0 ** rng.integers(-2, 3, columns)
    x[:, -1] = rng.integers(0, 3, n)  # one that takes few values
    z = (rng.random(n) < 0.45).astype(float)
    above = x[:, 0] > 0
    t = (rng.random(n) < (0.25 + 0.5 * z if tie else 0.1 + 0.4 * z + 0.15 * above)).astype(float)
    chance = 0.4 + 0.2 * t if tie else 0.2 + 0.2 * t + 0.2 * above
    y = rng.beta(5 * chance, 5 * (1 - chance)) if amounts else (rng.random(n) < chance).astype(float)
    w = rng.integers(1, 6, n).astype(float) if weights else np.ones(n)
    return Table(x, z, t, y, w, rng.random(n) * 0.02 * (w > 1) if amounts else None)


def shuffled(rows: Table, order: np.ndarray) -> Table:
    parts = {name: getattr(rows, name)[order] for name in ("x", "z", "t", "y", "w")}
    return replace(rows, **parts, v=None if rows.v is None else rows.v[order])


TABLES = {
    "binary": table(),
    "amounts": table(amounts=True),
    "amounts with a spread, in weighted rows": table(amounts=True, weights=True),
    "one covariate": table(columns=1),
    "more covariates than are kept": table(columns=20, amounts=True),
    "a tie of codings": table(tie=True),
    "weights, told that nobody defies": replace(table(weights=True), no_defiers=True),
    "a design": replace(table(), w=np.full(700, 0.5), design=np.linspace(0.3, 1.4, 11)),
    "nobody treated in an arm": replace(table(), t=table().t * table().z),
    "rows of weight zero": replace(table(), w=(np.arange(700) % 7 > 0).astype(float)),
    "a constant covariate and a copy": replace(table(), x=np.hstack([table().x, table().x[:, :1], np.ones((700, 1))])),
}


def by_graph(model: Model, rows: Table) -> dict[str, np.ndarray]:
    found = model._session.run(GRAPH, model.graph.feed(stacked([rows])))
    return {name: part[0].astype(np.float64) for name, part in zip(GRAPH, found, strict=True)}


def apart(answer: Posteriors, told: dict[str, np.ndarray]) -> dict[str, float]:
    """Largest differences. Logarithms relative to their size: float32 has no more than seven digits of them."""
    found = {
        "anchor": np.abs(answer.anchor[0] - told["anchor"]).max(),
        "anchor, in units": np.abs((answer.anchor[0] - told["anchor"]) / told["unit"]).max() / 10,
        "unit": np.abs(answer.unit[0] / told["unit"] - 1).max(),
    }
    for name, shares in (("effect", answer.effect[0]), ("mass", answer.mass[0])):
        logs = told[name]
        found[name] = np.abs(shares - np.exp(logs)).max()
        there = logs > -20
        size = np.maximum(np.abs(logs[there]), 1)
        found[f"log {name}"] = (np.abs(np.log(shares[there]) - logs[there]) / size).max()
    return found


@pytest.mark.parametrize("name", TABLES)
def test_the_chunks_say_what_the_graph_says(model, name):
    found = apart(model.staged.predict(TABLES[name]), by_graph(model, TABLES[name]))
    logs = [found.pop("log effect"), found.pop("log mass")]
    assert max(found.values()) < 1e-6, found
    assert max(logs) < LOGS, logs


def test_what_differs_is_seen(model):
    """A control of the comparison: one covariate in another order is another table."""
    rows = TABLES["binary"]
    other = rows.x.copy()
    other[:, 0] = other[::-1, 0]
    found = apart(model.staged.predict(replace(rows, x=other)), by_graph(model, rows))
    assert min(found.values()) > 1e-5, found


def test_a_table_is_near_a_tie(model):
    weights = source.Source(TABLES["a tie of codings"]).coding_weights(model.metadata["network"]["tie_ramp"])
    assert (weights > 0).sum() > 1


@pytest.mark.parametrize("name", ["amounts", "a tie of codings"])
def test_neither_chunks_nor_room_nor_the_order_of_rows_show(model, name, monkeypatch):
    rows = TABLES[name]
    first = model.staged.predict(rows)
    monkeypatch.setattr(kept, "BYTES", 0)
    without_room = model.staged.predict(rows)
    assert np.array_equal(first.mass, without_room.mass) and np.array_equal(first.effect, without_room.effect)
    turned = model.staged.predict(shuffled(rows, np.random.default_rng(0).permutation(rows.rows)))
    monkeypatch.setattr(source, "CHUNK", 1000)
    whole = model.staged.predict(rows)
    for other in (turned, whole):
        for part in ("effect", "anchor", "unit", "mass"):
            assert np.abs(getattr(first, part) - getattr(other, part)).max() < 1e-6, part


def test_beyond_the_rows_of_training_a_part_of_the_error_stays(model, monkeypatch):
    """If the instrument depends on covariates, and only then; up to there the graph's unit is as it is."""
    rows = TABLES["binary"]
    leaning = replace(rows, z=(rows.x[:, 0] / rows.x[:, 0].std() + np.random.default_rng(1).normal(size=700) > 0) * 1.0)
    before = [model.staged.predict(each).unit for each in (rows, leaning)]
    monkeypatch.setattr(covariates, "TRAINED_ROWS", 7)
    after = [model.staged.predict(each).unit for each in (rows, leaning)]
    grown = [(a / b)[0, :10] for a, b in zip(after, before, strict=True)]  # the last one is as large as it may be
    assert 1 <= grown[0].max() < 1.5 < 4 < grown[1].min()
    assert covariates.beyond_training(700, 0.3) == pytest.approx(np.sqrt(1 + 0.46**2 * 99))
    assert covariates.beyond_training(7, 0.3) == 1 == covariates.beyond_training(10**7, 0.0)


def test_copies_and_weights_are_the_same(model):
    rows = TABLES["amounts"]
    thrice = shuffled(rows, np.repeat(np.arange(rows.rows), 3))
    one, other = model.staged.predict(thrice), model.staged.predict(replace(rows, w=3 * rows.w))
    assert np.abs(one.anchor - other.anchor).max() < 1e-6 and np.abs(one.mass - other.mass).max() < 1e-6


def test_the_laws_of_some_rows_are_handed_out(model, monkeypatch):
    for name in ("amounts", "a tie of codings"):
        rows, told = TABLES[name], by_graph(model, TABLES[name])
        for most, count in ((1000, 700), (300, 234)):
            monkeypatch.setattr(source, "SHOWN", most)
            seen = model.staged.predict(rows).rows[0]
            assert len(seen.places) == count and np.array_equal(seen.places, np.unique(seen.places))
            assert np.abs(seen.law - told["law"][seen.places]).max() < 1e-6
            assert np.abs(seen.propensity - told["propensity"][seen.places]).max() < 1e-6


def test_the_weights_are_those_of_the_file(model):
    network = rounded(small_network())
    weights = Weights(model._content, model.metadata[PLACES])
    for name, values in (*network.named_parameters(), *network.named_buffers()):
        assert np.array_equal(weights[name], values.detach().numpy()), name
    with pytest.raises(ModelFileError, match="'nowhere'"):
        Weights(model._content, {"a": ["nowhere", False, [1]]})


def test_every_row_is_told_once_to_the_progress_bar(model):
    for name in ("binary", "a tie of codings"):
        done: list[int] = []
        model.staged.predict(TABLES[name], done.append)
        assert sum(done) == 700 and len(done) > 20


@pytest.fixture
def limit(monkeypatch):
    monkeypatch.setattr(batching, "MAX_ROWS", 500)
    return 500


def study(n: int = 2000) -> dict[str, np.ndarray]:
    rows = table(n)
    return {"z": rows.z, "t": rows.t, "y": rows.y} | {f"x{j}": rows.x[:, j] for j in range(3)}


def test_the_product_uses_every_row(network_file, limit, monkeypatch):
    res = IVBounds(model=network_file).fit(study(), **ROLES)
    assert res.details["in_chunks"] and not res.details["sampled"]
    assert res.details["rows_used"] == res.details["n_used"] == 2000
    assert not any("sample" in warning for warning in res.warnings)
    monkeypatch.setattr(batching, "MAX_ROWS", 2000)
    at_once = IVBounds(model=network_file).fit(study(), **ROLES)
    assert not at_once.details["in_chunks"]
    assert (res.lower, res.upper) == pytest.approx((at_once.lower, at_once.upper), abs=1e-6)
    for name, entry in at_once.estimands.items():
        assert res.estimands[name].lower == pytest.approx(entry.lower, abs=1e-6), name


def test_a_sample_is_still_a_choice_and_is_said(network_file, limit):
    res = IVBounds(model=network_file, max_rows=300).fit(study(), **ROLES)
    assert res.details["sampled"] and res.details["n_used"] == pytest.approx(300, rel=0.2)
    said = " ".join(res.warnings)
    assert "max_rows = 300" in said and "random subsample" in said
    assert "without max_rows all would be used, in chunks" in said and "GB" not in said
    assert "wider by about" in said
    more = IVBounds(model=network_file, max_rows=1000).fit(study(), **ROLES)
    assert more.details["sampled"] and more.details["in_chunks"]


def test_studies_of_any_size_share_a_call(network_file, limit):
    large = IVData.from_frame(study(), **ROLES)
    small = IVData.from_frame(study(200), **ROLES)
    together = batching.predict_tables(
        Model.load(network_file), [Table(d.x, d.z, d.t, d.y, d.w) for d in (small, large, small)]
    )
    alone = [Model.load(network_file).predict(*stacked([Table(d.x, d.z, d.t, d.y, d.w)])) for d in (small, large)]
    for place, answer in ((0, alone[0]), (1, alone[1]), (2, alone[0])):
        assert np.abs(together.anchor[place] - answer.anchor[0]).max() < 1e-6


def test_a_file_that_does_not_say_where_its_weights_are_is_sampled(network_file, monkeypatch):
    monkeypatch.setattr("ivicl.methods.pretrained.method.MAX_ROWS", 500)
    old = Model.load(network_file)
    monkeypatch.setitem(old.metadata, PLACES, None)
    old.metadata.pop(PLACES)
    monkeypatch.setitem(old.__dict__, "staged", None)
    res = IVBounds(model=network_file).fit(study(), **ROLES)
    assert res.details["sampled"] and any("GB of memory" in warning for warning in res.warnings)


def test_memory_is_that_of_a_chunk(model, monkeypatch):
    """Of a further row only its places and likelihoods stay; in one pass of the graph it takes about 12 kB."""
    monkeypatch.setattr(source, "CHUNK", 1000)
    monkeypatch.setattr(kept, "BYTES", 0)
    model.staged.predict(table(700, amounts=True))  # loaded, which is no matter of rows
    peaks = []
    for n in (6_000, 18_000):
        rows = table(n, amounts=True)
        tracemalloc.start()
        model.staged.predict(rows)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert (peaks[1] - peaks[0]) / 12_000 < 155


MILLION = """
import resource, sys, time
import numpy as np, polars as pl
from ivicl import IVBounds
n, rng = 1_000_000, np.random.default_rng(0)
x, z = rng.normal(size=(n, 10)), rng.integers(0, 2, n)
t = (rng.random(n) < 0.1 + 0.4 * z + 0.15 * (x[:, 0] > 0)).astype(int)
y = (rng.random(n) < 0.2 + 0.2 * t + 0.2 * (x[:, 0] > 0)).astype(int)
frame = pl.DataFrame({f"x{j}": x[:, j] for j in range(10)} | {"z": z, "t": t, "y": y})
if sys.argv[2] == "amount":
    frame = frame.with_columns(y=(0.8 * y + 0.2 * rng.random(n)))
started = time.process_time()
res = IVBounds(model=sys.argv[1]).fit(
    frame, outcome="y", treatment="t", instrument="z", covariates=[f"x{j}" for j in range(10)], outcome_range=(0, 1)
)
assert res.details["n_used"] == n and res.details["in_chunks"], res.details
print(time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


@pytest.mark.slow
@pytest.mark.parametrize("outcome", ["yes or no", "amount"])
def test_a_million_different_rows_of_ten_covariates(tmp_path, outcome):
    """A network of full size. 60 s on two cores are at most 120 s of their time."""
    path = tmp_path / "full.onnx"
    torch.manual_seed(0)
    export(IVNetwork(NetworkConfig()), path, {"prior": {"name": "none"}, "training": {"step": 0}})
    done = subprocess.run(
        [sys.executable, "-c", MILLION, str(path), outcome], capture_output=True, text=True, check=True
    )
    seconds, gigabytes = (float(part) for part in done.stdout.split())
    assert seconds < 120 and gigabytes < 4
