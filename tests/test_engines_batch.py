"""A batch that is killed, whenever, ends as the one that was not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

from ivicl.data import merging
from ivicl.scale.many import STUDIES_PER_CHUNK

STUDIES = 7 * STUDIES_PER_CHUNK


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Aggregated studies of 1,000 people, one of which has no instrument to compare."""
    cells = np.indices((2, 2, 2)).reshape(3, -1)
    people = np.random.default_rng(0).multinomial(1000, np.full(8, 1 / 8), size=STUDIES)
    frame = pl.DataFrame(
        {"study": np.repeat([f"study {i:04d}" for i in range(STUDIES)], 8), "people": people.ravel()}
        | {name: np.tile(cells[i], STUDIES) for i, name in enumerate("zty")}
    ).with_columns(z=pl.when(pl.col("study") == "study 0300").then(1).otherwise("z"))
    path = tmp_path_factory.mktemp("batch") / "studies.parquet"
    frame.write_parquet(path)
    return path


def command(source, output, *more: str) -> list[str]:
    roles = ["--by", "study", "-y", "y", "-t", "t", "-z", "z", "-w", "people", "-m", "manski"]
    return [sys.executable, "-m", "ivicl", "batch", str(source), *roles, "-o", str(output), *more]


def killed(call: list[str], journal, more_rows: int) -> bool:
    """kill -9 when so many more rows are on disk; False if the batch ended before."""
    start = journal.stat().st_size if journal.exists() else 0
    process = subprocess.Popen(call, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        if journal.exists() and journal.stat().st_size > start + 600 * more_rows:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            return True
        time.sleep(0.002)
    return False


@pytest.mark.parametrize("ending", [pytest.param("parquet", marks=pytest.mark.slow), "csv"])
def test_three_kills_lose_and_double_nothing(source, tmp_path, ending):
    whole, output = tmp_path / f"whole.{ending}", tmp_path / f"bounds.{ending}"
    subprocess.run(command(source, whole), check=True, stderr=subprocess.DEVNULL)
    journal = output.with_name(output.name + ".partial.jsonl")
    rng = np.random.default_rng(2)
    kills = killed(command(source, output), journal, int(rng.integers(1, 400)))
    for _ in range(2):
        kills += killed(command(source, output, "--resume"), journal, int(rng.integers(1, 400)))
        with journal.open("a") as file:
            file.write('{"study": 7, "row": {"low')  # the kill came in the middle of a line
    assert kills == 3
    assert not output.exists()
    subprocess.run(command(source, output, "--resume"), check=True, stderr=subprocess.DEVNULL)
    assert output.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [output.name, whole.name]
    frame = pl.read_parquet(output) if ending == "parquet" else pl.read_csv(output)
    assert frame["study"].to_list() == [f"study {i:04d}" for i in range(STUDIES)]
    bad = frame.filter(pl.col("error").is_not_null())
    assert bad["study"].to_list() == ["study 0300"]
    assert "nothing to compare" in bad["error"][0]


@pytest.mark.parametrize("rows", [1, 50, 5000])
@pytest.mark.parametrize("continuous", [False, True])
def test_all_ways_of_merging_are_the_same(rows, continuous, monkeypatch):
    """By numpy, by polars, and by sorting where a key is continuous although some rows are equal."""
    rng = np.random.default_rng(rows)
    last = np.clip(rng.normal(size=rows), -1.5, 1.5) if continuous else rng.integers(0, 2, rows)
    keys = {"a": rng.integers(0, 3, rows) - 0.5, "b": rng.normal(size=rows).round(1), "c": last}
    weights = rng.integers(1, 9, rows).astype(float)
    found = []
    for few, nearly in ((10_000, 2), (0, 2), (0, -1)):
        monkeypatch.setattr(merging, "FEW", few)
        monkeypatch.setattr(merging, "NEARLY_ALL", nearly)
        found.append(merging.merge_equal(keys, weights))
    for chosen, people in found:
        np.testing.assert_array_equal(chosen, found[0][0])
        np.testing.assert_array_equal(people, found[0][1])
        assert people.sum() == weights.sum()


def test_chunks_side_by_side_come_in_order_and_are_the_same(monkeypatch):
    from ivicl import IVBounds
    from ivicl.benchmarks.scale_speed import aggregated_studies
    from ivicl.scale import many

    frame = aggregated_studies(40, tied=False)
    roles = {"outcome": "bought", "treatment": "saw", "instrument": "offered", "weights": "people"}
    found = []
    for chunk, workers in ((40, 1), (7, 3)):
        monkeypatch.setattr(many, "STUDIES_PER_CHUNK", chunk)
        monkeypatch.setattr(many, "threads", lambda workers=workers: workers)
        found.append(IVBounds().fit_many(frame, by="study", **roles))
    assert found[1]["study"].to_list() == list(range(40))
    for name in ("lower", "upper", "att_lower", "late_upper", "n"):
        assert found[0][name].to_list() == pytest.approx(found[1][name].to_list(), abs=1e-6), name
