"""A stage on kept tables: the same answers as from the rows, the same tables again, and only the pool learns."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from ivicl.errors import InputError  # noqa: E402
from ivicl.learn.network.model import IVNetwork  # noqa: E402
from ivicl.learn.prior import PriorConfig, generator_for, sample_rows  # noqa: E402
from ivicl.learn.training import kept  # noqa: E402
from ivicl.learn.training.config import TrainConfig  # noqa: E402
from ivicl.learn.training.loop import train  # noqa: E402
from ivicl.learn.training.losses import predicted  # noqa: E402
from ivicl.learn.training.run import Run  # noqa: E402
from ivicl.methods.pretrained.streaming.constants import CALM, PERSON  # noqa: E402
from small_network import SMALL  # noqa: E402


def config(**changes: object) -> TrainConfig:
    values = {
        "kept_batches": 12, "kept_tables": 32, "steps": 6, "count_steps": 0, "rows": (40, 60), "long_rows": (100, 300),
        "row_tokens": 400, "compressed_batch": 4, "covariates": (1, 4), "warmup": 1, "validate_every": 0,
        "network": SMALL,
    }  # fmt: skip
    return TrainConfig(**(values | changes))


@pytest.fixture(autouse=True)
def small_files(monkeypatch):
    monkeypatch.setattr(kept, "FILE_BATCHES", 5)


def test_what_is_kept_of_a_table_gives_the_same_answer():
    network = IVNetwork(SMALL).eval()
    batch = sample_rows(PriorConfig.default(), generator_for(1, 2), 4, 200, 3)
    with torch.no_grad():
        whole, _ = predicted(network, batch, generator_for(1, 3))
        again = network.from_reading(whole.reading, whole.moments)
    here = whole.law_tables
    assert len(here) >= 3
    pairs = [(whole.effect, again.effect), (whole.masses, again.masses), *zip(whole.grid, again.grid, strict=True)]
    for one, other in pairs:
        torch.testing.assert_close(one[here], other, atol=1e-5, rtol=1e-5)


def test_a_batch_of_kept_tables_is_a_function_of_its_number():
    network = IVNetwork(SMALL)
    first, again, other = (kept.read_batch(network, config(), index).tensors() for index in (4, 4, 5))
    assert all(torch.equal(value, again[name]) for name, value in first.items())
    assert first["reading.pooled"].shape != other["reading.pooled"].shape or not torch.equal(
        first["reading.pooled"], other["reading.pooled"]
    )
    assert 100 <= first["rows"].max() <= 300 and kept.read_batch(network, config(), 1).rows.max() <= 60


def test_kinds_of_tables_take_turns_as_asked():
    network, mixed = IVNetwork(SMALL), config(kept_mix=(0, 1, 2))
    rows = [int(kept.read_batch(network, mixed, index).rows.max()) for index in range(6)]
    assert [most <= 60 for most in rows] == [True, False, False] * 2
    for mix in ((0, 0, 0), (1, -1, 2), (1, 2)):
        with pytest.raises(InputError, match="kept_mix"):
            config(kept_mix=mix)


def test_only_the_pool_learns(tmp_path: Path):
    run = Run(config(), tmp_path)
    before = {name: value.clone() for name, value in run.network.state_dict().items()}
    train(run, progress=False)
    changed = {name for name, value in run.network.state_dict().items() if not torch.equal(value, before[name])}
    taught = ("covariates.heed.", "covariates.pool.", "covariates.trust.")
    assert all(name.startswith(taught) for name in changed)
    assert all(any(name.startswith(part) for name in changed) for part in taught)


def test_a_killed_stage_reads_no_table_twice_and_comes_to_the_same(tmp_path: Path):
    whole = train(Run(config(), tmp_path / "whole"), progress=False)
    train(Run(config(), tmp_path / "killed"), progress=False, until=2)
    files = sorted((tmp_path / "killed" / kept.FOLDER).glob("*.safetensors"))
    assert len(files) == 3
    files[1].unlink()  # as if it had not been written yet
    written = [file.stat().st_mtime_ns for file in (files[0], files[2])]
    again = train(Run.resume(tmp_path / "killed"), progress=False)
    assert [file.stat().st_mtime_ns for file in (files[0], files[2])] == written
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, again.network.state_dict()[name]), name


def test_kept_tables_of_other_settings_are_refused(tmp_path: Path):
    train(Run(config(), tmp_path), progress=False, until=2)
    with pytest.raises(InputError, match=r"seed was 1 and is 7; delete that folder"):
        train(Run.resume(tmp_path, {"seed": 7}), progress=False)
    assert train(Run.resume(tmp_path, {"lr": 0.001}), progress=False).finished  # it draws the same tables


def test_long_tables_are_drawn_more_often():
    tables = kept.KeptTables.together([kept.read_batch(IVNetwork(SMALL), config(), index) for index in (1, 5)])
    some = tables.drawn(4000, torch.Generator().manual_seed(0))
    long = tables.rows > 60
    expected = tables.rows[long].float().sqrt().sum() / tables.rows.float().sqrt().sum()
    assert abs((some.rows > 60).float().mean() - expected) < 0.04
    assert expected > long.float().mean()


def test_a_stop_is_heard_while_tables_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Reading takes most of such a stage's time. What was read stays, and the run goes on from there."""
    read = kept.read_batch

    def signalled(*arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        return read(*arguments)

    monkeypatch.setattr(kept, "read_batch", signalled)
    run = train(Run(config(), tmp_path), progress=False)
    assert run.step == 0 and len(list((tmp_path / kept.FOLDER).glob("*.safetensors"))) == 1
    monkeypatch.setattr(kept, "read_batch", read)
    assert train(Run.resume(tmp_path), progress=False).finished


def test_an_end_is_not_known_to_less_than_a_person():
    """And the units of quantities that were too sure are a little larger; those of the ATE are the formula's."""
    network = IVNetwork(SMALL).eval()
    tables = kept.read_batch(network, config(), 1)
    counts = tables.moments.counts
    people = counts.sum(1, keepdim=True)
    for unit in (0.0, 0.2):
        reading = tables.reading._replace(unit=torch.full_like(tables.reading.unit, unit))
        hidden = torch.zeros(len(people), SMALL.summary_width)
        with torch.no_grad():
            found = network.covariates.settle(reading, hidden, counts).grid.unit / torch.tensor(CALM)
        torch.testing.assert_close(found, (PERSON / people if not unit else 0 * people + unit).expand_as(found))
    assert CALM[:2] == (1.0, 1.0) and min(CALM) >= 1
