"""The model file: what is refused, what it says of itself, and what the shipped one answers."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ivicl.errors import ModelFileError
from ivicl.methods.pretrained import runtime
from ivicl.methods.pretrained.runtime import Model, file_digest, graph_of

REFERENCE = Path(__file__).with_name("reference_predictions.json")
CHOLESTYRAMINE = [158, 14, 0, 0, 52, 12, 23, 78]
VITAMIN_A = [74, 11514, 0, 0, 34, 2385, 12, 9663]


def rows_table(seed: int = 0, n: int = 400, d: int = 4) -> tuple[np.ndarray, ...]:
    """A fixed table with covariates, from integer arithmetic alone so that no library's generator can change it."""
    i = np.arange(n * d, dtype=np.int64) + seed
    x = ((i * 7919 + 104_729) % 2003 / 1001.5 - 1).reshape(n, d)
    k = np.arange(n)
    z = k % 2
    t = ((k * 37 % 100) < 15 + 55 * z + 20 * (x[:, 0] > 0)).astype(int)
    y = ((k * 53 % 100) < 30 + 30 * t * (x[:, 1] > 0)).astype(int)
    return tuple(np.asarray(a, float)[None] for a in (x, z, t, y, np.ones(n)))


def quantiles(model: Model) -> dict[str, list[float]]:
    counts = model.predict_counts(np.array([CHOLESTYRAMINE, VITAMIN_A]))
    rows = model.predict(*rows_table())
    levels = [0.005, 0.05, 0.5, 0.95, 0.995]
    found = {}
    for name in ("effect", "lower", "upper"):
        for table, part, k in (("cholestyramine", counts, 0), ("vitamin A", counts, 1), ("rows", rows, 0)):
            found[f"{table}: {name}"] = [round(float(q), 4) for q in part.of(name, k).quantile(levels)]
    return found


def test_shipped_model_answers_as_recorded() -> None:
    """Reference predictions; after new weights, remake them with `python tests/refresh_numbers.py`."""
    recorded = json.loads(REFERENCE.read_text())
    model = Model.shipped()
    assert recorded["sha256"] == model.sha256
    found = quantiles(model)
    for name, values in recorded["quantiles"].items():
        assert found[name] == pytest.approx(values, abs=0.002), name


def test_shipped_model_says_what_it_is() -> None:
    metadata = Model.shipped().metadata
    assert metadata["network"]["max_features"] >= 48
    assert metadata["prior"]["name"] == "default"
    runs = [*metadata["training"]["before"], metadata["training"]]
    assert all(sum(run["tables"][kind] for run in runs) > 0 for kind in ("counts", "compressed", "rows"))
    assert metadata["evaluation"]


def test_damaged_file_is_refused(tmp_path: Path) -> None:
    content = bytearray(Model.shipped()._content)
    content[len(content) // 2] ^= 1
    (tmp_path / "bad.onnx").write_bytes(content)
    with pytest.raises(ModelFileError, match="damaged"):
        Model.load(tmp_path / "bad.onnx")


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("not a model")
    with pytest.raises(ModelFileError, match="not an ivicl model"):
        Model.load(tmp_path / "text.onnx")
    with pytest.raises(ModelFileError, match="cannot be read"):
        Model.load(tmp_path / "nowhere.onnx")


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [(1, "has graph schema 1; this version of ivicl reads schema 2"), (99, "has graph schema 99; this version")],
)
def test_another_schema_is_refused_in_a_sentence(schema: int, sentence: str) -> None:
    with pytest.raises(ModelFileError, match=rf"'mine\.onnx' .*{sentence}.* leave model out"):
        graph_of(schema, "mine.onnx")


def test_same_input_same_answer() -> None:
    table = rows_table()
    assert np.array_equal(Model.shipped().predict(*table).effect, Model.shipped().predict(*table).effect)


def test_digest_is_of_the_whole_file() -> None:
    written, computed = file_digest(Model.shipped()._content, "ivicl.onnx")
    assert written == computed


def test_two_threads_load_the_model_once(monkeypatch) -> None:
    """`ivicl fit` loads it beside the reading of the table; the main thread may ask before that is done."""
    runtime._load_shipped.cache_clear()
    loads: list[str] = []
    make = Model.__init__

    def slow(self: Model, content: bytes, name: str) -> None:
        loads.append(name)
        time.sleep(0.05)
        make(self, content, name)

    monkeypatch.setattr(Model, "__init__", slow)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: Model.shipped(), range(4)))
    assert loads == [runtime.SHIPPED]
    assert all(model is found[0] for model in found)
