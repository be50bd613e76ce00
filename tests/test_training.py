"""The trainer: a killed run goes on as if nothing had happened, and any number of processes takes the same step."""

from __future__ import annotations

import csv
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from ivicl.cli import app  # noqa: E402
from ivicl.errors import InputError  # noqa: E402
from ivicl.learn.network.config import NetworkConfig  # noqa: E402
from ivicl.learn.network.model import IVNetwork  # noqa: E402
from ivicl.learn.prior import Form, generator_for, sample_counts, sample_rows  # noqa: E402
from ivicl.learn.scoring import LossWeights  # noqa: E402
from ivicl.learn.training import devices, plan  # noqa: E402
from ivicl.learn.training.config import TrainConfig  # noqa: E402
from ivicl.learn.training.journal import Journal, append_rows  # noqa: E402
from ivicl.learn.training.loop import train, train_step  # noqa: E402
from ivicl.learn.training.losses import count_loss, table_loss  # noqa: E402
from ivicl.learn.training.run import Run  # noqa: E402

TINY = [
    "network.width=16", "network.row_hidden=16", "network.latents=4", "network.regression_features=8",
    "network.trees=4", "network.tree_depth=2",
    "network.depth=1", "network.summary_width=24", "network.summary_depth=1", "network.covariate_width=16",
    "network.max_features=4", "count_batch=32", "mixed_count_batch=16", "compressed_batch=4", "row_tokens=256",
    "rows=[16,32]", "long_rows=[16,64]", "covariates=[1,3]", "count_steps=3", "steps=8", "warmup=2",
    "validate_every=1000", "summary_lr=0.2", "row_batches=2",
]  # fmt: skip


def tiny(*more: str) -> TrainConfig:
    return TrainConfig().with_settings([*TINY, *more])


def losses_of(folder: Path) -> list[tuple[str, ...]]:
    with (folder / "log.csv").open() as file:
        return [(r["step"], r["counts"], r["compressed"], r["rows"], r["norm"]) for r in csv.DictReader(file)]


def test_resumed_run_is_the_unbroken_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ivicl.learn.training.loop.validate", lambda *_: {"rows": 0.0})
    train(Run(tiny(), tmp_path / "whole"), progress=False)
    train(Run(tiny(), tmp_path / "broken"), progress=False, until=5)
    train(Run.resume(tmp_path / "broken"), progress=False)
    assert losses_of(tmp_path / "whole") == losses_of(tmp_path / "broken")
    whole, broken = Run.resume(tmp_path / "whole"), Run.resume(tmp_path / "broken")
    for part in ("network", "average", "optimizer"):
        one, two = (getattr(run, part) for run in (whole, broken))
        one, two = (x.state() if part == "optimizer" else x.state_dict() for x in (one, two))
        assert one.keys() == two.keys() and len(one) > 20
        for name, value in one.items():
            assert torch.equal(value, two[name]), name
    assert (tmp_path / "whole" / "loss.png").stat().st_size > 5_000


def test_a_run_from_weights_takes_their_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Going on from weights must not depend on what the preset has become since."""
    monkeypatch.setattr("ivicl.learn.training.loop.validate", lambda *_: {"rows": 0.0})
    first = train(Run(tiny(), tmp_path / "first"), progress=False, until=1)
    first.save()
    others = [s for s in TINY if not s.startswith("network.")]
    arguments = ["train", "--quiet", "--from", str(tmp_path / "first"), *(a for s in others for a in ("--set", s))]
    done = CliRunner().invoke(app, [*arguments, "--set", "steps=1", "-o", str(tmp_path / "second")])
    assert done.exit_code == 0, done.output
    assert Run.resume(tmp_path / "second").config.network == first.config.network
    wrong = CliRunner().invoke(app, [*arguments, "--set", "network.width=32", "-o", str(tmp_path / "third")])
    assert isinstance(wrong.exception, InputError)
    assert "grows in network.summary_width alone" in str(wrong.exception)
    assert "a multiple of 24" in str(wrong.exception)


@pytest.mark.slow
def test_killed_run_goes_on_as_if_unkilled(tmp_path: Path) -> None:
    """kill -9 at an arbitrary moment, then --resume: the loss curve is that of an unkilled run."""
    settings = [a for s in [*TINY, "steps=40", "save_seconds=1"] for a in ("--set", s)]
    command = [sys.executable, "-m", "ivicl.cli", "train", "--quiet", "--threads", "1", *settings]
    subprocess.run([*command, "-o", str(tmp_path / "whole")], check=True)
    process = subprocess.Popen([*command, "-o", str(tmp_path / "killed")])
    deadline = time.monotonic() + 120
    while not (tmp_path / "killed" / "state.safetensors").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    subprocess.run([*command[:4], "--quiet", "--threads", "1", "--resume", str(tmp_path / "killed")], check=True)
    assert losses_of(tmp_path / "whole") == losses_of(tmp_path / "killed")


@pytest.mark.slow
def test_two_processes_take_the_step_of_one(tmp_path: Path) -> None:
    settings = [a for s in [*TINY, "steps=6"] for a in ("--set", s)]
    arguments = ["train", "--quiet", "--threads", "1", *settings]
    subprocess.run([sys.executable, "-m", "ivicl.cli", *arguments, "-o", str(tmp_path / "one")], check=True)
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--master-port",
        "29517",
        "-m",
        "ivicl.cli",
    ]
    subprocess.run([*launch, *arguments, "-o", str(tmp_path / "two")], check=True)
    for one, two in zip(losses_of(tmp_path / "one"), losses_of(tmp_path / "two"), strict=True):
        assert [float(v) for v in one] == pytest.approx([float(v) for v in two], rel=2e-3, abs=2e-3)


def test_a_signal_to_one_process_stops_all_at_one_step(tmp_path: Path) -> None:
    """A process that left on its own would pair its goodbye with the others' next sum of gradients, and hang or lie."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = [a for s in [*TINY, "steps=1000000", "save_seconds=0.1"] for a in ("--set", s)]
    command = [sys.executable, "-m", "ivicl.cli", "train", "--quiet", "--threads", "1", *settings]
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [*command, "-o", str(tmp_path / "run")],
            env=os.environ | group | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "run" / "state.safetensors").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        processes[1].send_signal(signal.SIGTERM)
        last = [process.communicate(timeout=60)[1].strip().splitlines()[-1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0]
    assert last[0].split(",")[0] == last[1].split(",")[0]
    run = Run.resume(tmp_path / "run")
    assert run.step > 0 and last[0].startswith(f"step {run.step} of 1000000")
    assert len(losses_of(tmp_path / "run")) == run.step


class NoDoubles(TorchDispatchMode):
    """Refuses float64, as an Apple GPU does."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        found = func(*args, **(kwargs or {}))
        for value in tree_leaves(found):
            if isinstance(value, torch.Tensor) and value.dtype == torch.float64:
                raise TypeError(f"{func} made float64")
        return found


@pytest.mark.parametrize("step", [0, 4])
def test_a_device_without_doubles_can_train(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the CPU, made to refuse float64 wherever the network computes: forward, backward and update."""
    run, usual = Run(tiny("seed=3"), Path("unused")), Run(tiny("seed=3"), Path("unused"))
    run.step = usual.step = step
    expected = train_step(usual)
    canonical, from_moments, backward = run.network.canonical, run.network.from_moments, torch.autograd.backward

    def refusing(function):  # type: ignore[no-untyped-def]
        def inside(*args):  # type: ignore[no-untyped-def]
            with NoDoubles():
                return function(*args)

        return inside

    with pytest.raises(TypeError):  # "made float64", or what Python makes of it inside an operator
        refusing(canonical)(
            torch.randn(2, 9, 1), *((torch.arange(18).view(2, 9) % k > 0).float() for k in (2, 3, 5)),
            torch.zeros(2, 9), torch.ones(2, 9), torch.zeros(2, 1), torch.ones(2, 11),
        )  # fmt: skip
    monkeypatch.setattr("ivicl.learn.network.precision.WITHOUT_DOUBLE", {"cpu"})
    monkeypatch.setattr(run.network, "canonical", refusing(canonical))
    monkeypatch.setattr(run.network, "from_moments", refusing(from_moments))
    monkeypatch.setattr(torch.autograd, "backward", refusing(backward))
    found = train_step(run)
    for name in ("counts", "compressed", "rows", "ends", "law"):
        assert found[name] == pytest.approx(expected[name], abs=2e-3), name


def test_the_device_is_what_the_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    assert devices.pick("auto") == devices.pick("cpu") == torch.device("cpu")
    for name in ("cuda", "mps"):
        with pytest.raises(InputError, match=f"device is '{name}'"):
            devices.pick(name)
    with pytest.raises(InputError, match="device is 'tpu', but must be one of"):
        tiny("device=tpu")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setattr("torch.cuda.is_bf16_supported", lambda including_emulation: not including_emulation)
    assert devices.pick("auto", local_rank=1) == torch.device("cuda", 1)
    assert devices.pick("cpu", local_rank=1) == torch.device("cpu")
    with pytest.raises(InputError, match="sees 2 CUDA devices and this is process 3"):
        devices.pick("cuda", local_rank=2)
    cuda, cpu, mps = (torch.device(name) for name in ("cuda", "cpu", "mps"))
    assert (devices.backend(cuda), devices.backend(cpu)) == ("nccl", "gloo")
    with pytest.raises(InputError, match="cannot share"):
        devices.backend(mps)
    assert devices.rows_in_bf16("auto", cuda) and devices.rows_in_bf16("bf16", cpu)
    assert not devices.rows_in_bf16("auto", mps) and not devices.rows_in_bf16("fp32", cuda)
    for native in (True, False):
        monkeypatch.setattr("torch.cpu._is_avx512_bf16_supported", lambda native=native: native)
        assert devices.rows_in_bf16("auto", cpu) is native


def test_a_line_that_a_kill_cut_off_does_not_stop_a_run(tmp_path: Path) -> None:
    fields = ["step", "seconds", "rows"]
    append_rows(tmp_path / "log.csv", [{"step": k, "seconds": k, "rows": 5.5} for k in (1, 2, 3)], fields)
    with (tmp_path / "log.csv").open("a") as file:
        file.write("1")  # of 10
    (tmp_path / "validation.csv").write_text("counts,st")
    Journal(tmp_path, 2)
    assert (tmp_path / "log.csv").read_text().split() == ["step,seconds,rows", "1,1,5.5", "2,2,5.5"]
    assert not (tmp_path / "validation.csv").exists()


def test_every_field_can_be_set_and_nonsense_is_refused() -> None:
    changed = TrainConfig().with_settings(
        ["lr=0.01", "network.width=64", "loss.law=0", "prior.gamma=0.2", "rows=[8,16]"]
    )
    assert (changed.lr, changed.network.width, changed.loss.law, changed.prior.gamma) == (0.01, 64, 0, 0.2)
    assert changed.rows == (8, 16)
    assert TrainConfig.from_dict(changed.to_dict()) == changed


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("nothing=1", "no setting 'nothing'"),
        ("network.widht=1", "did you mean 'network.width'"),
        ("network=1", "no setting 'network'"),
        ("lr", "write name=value"),
        ("lr=true", "takes float"),
        ("steps=many", "takes int, such as 4900, not 'many'"),
        ("network.heads=7", "network.width is 96, which is not a multiple of network.heads, 7"),
        ("network.heads=0", "network.heads must be 1 or more"),
        ("network.gamma=0.2", "set prior.gamma instead"),
        ("prior.gamma=-1", "must be above 0"),
        ("rows=[8]", "rows is .* range of two whole numbers"),
        ("row_batches=0", "row_batches is 0, but must be 1 or more"),
        ("small_share=NaN", "a share from 0 to 1"),
        ("precision=fp64", "one of auto, bf16, fp32"),
    ],
)
def test_nonsense_is_refused_in_a_sentence(wrong: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        TrainConfig().with_settings([wrong])


def test_the_priors_concentration_reaches_the_network() -> None:
    """Corners, the spikes' spreads and pseudo-counts follow `--set prior.gamma`; a file without the field means 0.1."""
    network = Run(tiny("prior.gamma=0.3"), Path("unused")).network
    usual = Run(tiny(), Path("unused")).network
    assert network.config.gamma == 0.3 and usual.config.gamma == 0.1
    counts = torch.tensor([[30.0, 5, 4, 2, 12, 3, 9, 11]])
    assert network.config.pseudo_count == pytest.approx(1.2)
    expected = (counts.view(2, 4) + 1.2) / (counts.view(2, 4).sum(-1, keepdim=True) + 4.8)
    law, arms = expected.view(1, 2, 2, 2), counts.view(1, 2, 4).sum(-1)
    spikes, usual_spikes = (n.corners(law, arms) for n in (network, usual))
    place = (expected.flatten()[:7] @ network.corners.effects.T).clamp(-1, 1)
    assert torch.allclose(spikes.place[0], place, atol=1e-6)
    assert (spikes.log_share - usual_spikes.log_share).abs().max() > 0.1
    # At one and the same law the spread differs by the prior's weight alone: two arms of n + 16 gamma + 1.
    narrow, wide = (n.corners(law, arms).spread for n in (network, usual))
    one_arm = network.corners.effects[:, :4].abs().sum(1) == 0
    ratio = (wide / narrow)[0, one_arm].square()
    assert ratio.tolist() == pytest.approx([(35 + 5.8) / (35 + 2.6)] * len(ratio), rel=1e-4)
    assert network.covariates.regression.pseudo_count == pytest.approx(1.2)
    without = {name: value for name, value in usual.config.to_dict().items() if name != "gamma"}
    assert NetworkConfig.from_dict(without) == usual.config


def test_a_step_is_made_of_what_the_config_says() -> None:
    config = tiny()
    assert [kind for kind, _ in plan.micro_batches(config, 0)] == ["counts"]
    assert [kind for kind, _ in plan.micro_batches(config, 3)] == ["counts", "compressed", "rows", "rows"]
    first = plan.make(config, 4, 2, "rows")[0]
    again = plan.make(config, 4, 2, "rows")[0]
    other = plan.make(config, 5, 2, "rows")[0]
    assert torch.equal(first.effect, again.effect)
    assert first.effect.shape != other.effect.shape or not torch.equal(first.effect, other.effect)


def test_processes_share_a_step_out_by_cost_and_leave_nothing() -> None:
    kinds = ["counts", "counts", "compressed", "rows", "rows", "rows"]
    cost = {"counts": 1.0, "compressed": 2.0, "rows": 4.0}
    for world in (1, 2, 3, 8):
        taken = [plan.own_batches(kinds, cost, rank, world) for rank in range(world)]
        assert sorted(k for own in taken for k in own) == list(range(len(kinds))), "each of them once"
    loads = [sum(cost[kinds[k]] for k in plan.own_batches(kinds, cost, rank, 2)) for rank in (0, 1)]
    assert loads == [8, 8]


def test_large_micro_batches_cost_more() -> None:
    """A stage with many count tables beside its rows would otherwise leave one process waiting for the other."""
    few, many = (TrainConfig().with_values({"count_steps": 5, "mixed_count_batch": m}) for m in (512, 4096))
    assert plan.costs(many, 9)["counts"] == 8 * plan.costs(few, 9)["counts"]
    assert plan.costs(many, 9)["rows"] == plan.costs(few, 9)["rows"]
    assert plan.costs(few, 4)["counts"] > plan.costs(few, 5)["counts"], "count tables alone come in larger batches"


def test_yes_and_no_is_in_every_step() -> None:
    """The first of several micro-batches of counts holds it, in both stages; without that, chance decides."""
    values = {"count_steps": 20, "steps": 40, "count_batch": 64, "mixed_count_batch": 32, "count_batches": 4}
    config = TrainConfig().with_values(values)
    for step, tables in ((3, 16), (25, 8)):
        pieces = plan.micro_batches(config, step)
        assert [kind for kind, _ in pieces[:4]] == ["counts"] * 4
        assert sum(share for kind, share in pieces if kind == "counts") == pytest.approx(1)
        made = [plan.make(config, step, index, kind)[0] for index, (kind, _) in enumerate(pieces[:4])]
        assert [len(batch.effect) for batch in made] == [tables] * 4
        assert made[0].form == Form()
    forms = {plan.make(config, step, 1, "counts")[0].form for step in range(12)}
    assert len(forms) > 1, "the others are drawn"


def test_row_tables_leave_the_summary_path_alone() -> None:
    """Their gradients would be noise to it: only count tables teach it."""
    run = Run(tiny(), Path("unused"))
    batch = sample_rows(run.config.prior, generator_for(0, 0), 4, 32, 2)
    table_loss(run.network, batch, LossWeights(), generator_for(0, 1))["loss"].backward()
    for name, parameter in run.network.named_parameters():
        if name.startswith("summary"):
            assert parameter.grad is None or not parameter.grad.any(), name
    count_loss(
        run.network, sample_counts(run.config.prior, generator_for(0, 2), 8), LossWeights(), generator_for(0, 3)
    )["loss"].backward()
    assert run.network.summary.embed.weight.grad.abs().sum() > 0


def test_labels_are_recoded_with_their_tables() -> None:
    """The loss of a table does not depend on how its treatment or outcome was coded."""
    network = Run(tiny("network.tie_ramp=1e-6"), Path("unused")).network.eval()
    for parameter in network.covariate_heads.parameters():
        torch.nn.init.normal_(parameter, std=0.3, generator=torch.Generator().manual_seed(0))
    batch = sample_rows(TrainConfig().prior, generator_for(3, 0), 12, 63, 2)

    def centred(values: torch.Tensor) -> torch.Tensor:  # a label on the edge of a bin would change bins when mirrored
        return (((values + 1) * 512).floor().clamp(0, 1023) + 0.5) / 512 - 1

    labels = {name: centred(getattr(batch, name)) for name in ("effect", "draws", "ends")}
    batch = replace(batch, **labels)
    ends = batch.ends.clone()
    ends[:, 0], ends[:, 1] = -batch.upper, -batch.lower
    flipped = replace(batch, t=1 - batch.t, effect=-batch.effect, draws=-batch.draws, ends=ends, law=batch.law.flip(3))
    with torch.no_grad():
        one = table_loss(network, batch, LossWeights(), generator_for(4, 0))
        two = table_loss(network, flipped, LossWeights(), generator_for(4, 0))
        wrong = table_loss(network, replace(flipped, draws=batch.draws), LossWeights(), generator_for(4, 0))
    for key in ("effect", "ends", "law"):
        assert one[key].item() == pytest.approx(two[key].item(), abs=1e-3)
    assert abs(one["effect"].item() - wrong["effect"].item()) > 0.01


def test_learning_rates_rise_hold_and_fall() -> None:
    config = tiny("count_steps=100", "steps=300", "warmup=10")
    assert plan.learning_rates(config, 0) == {"counts": pytest.approx(0.1), "tables": 0.0}
    assert plan.learning_rates(config, 40) == {"counts": 1.0, "tables": 0.0}
    assert plan.learning_rates(config, 99)["counts"] == pytest.approx(config.summary_lr, abs=0.02)
    assert plan.learning_rates(config, 150) == {"counts": pytest.approx(config.summary_lr), "tables": config.rows_lr}
    assert max(plan.learning_rates(config, 299).values()) < 0.02


def test_training_lowers_the_loss(tmp_path: Path) -> None:
    """With the corners given a network starts close to its goal: there is little to gain."""
    run = Run(tiny("count_steps=60", "steps=60", "count_batch=128", "lr=0.01"), tmp_path)
    tables = sample_counts(run.config.prior, generator_for(9, 0), 256, 16)

    def loss() -> float:
        with torch.no_grad():
            return count_loss(run.network.eval(), tables, LossWeights(), generator_for(9, 1))["loss"].item()

    before = loss()
    while run.step < 60:
        train_step(run)
        run.step += 1
    assert loss() < before - 0.15


def test_the_network_names_every_parameter_once() -> None:
    settings = ["network.depth=1", "network.width=24", "network.row_hidden=8"]
    network = IVNetwork(TrainConfig.preset("cpu").with_settings(settings).network)
    groups = network.parameter_groups()
    named = [name for group in groups.values() for name in group.parameters]
    assert sorted(named) == sorted(name for name, p in network.named_parameters() if p.requires_grad)
    hidden = {name for group in groups.values() for name in group.hidden}
    assert {name for name in hidden if ".blocks." not in name} == set()
    assert hidden == {name for name in named if ".blocks." in name and network.get_parameter(name).ndim == 2}


def test_hidden_matrices_move_by_orthogonal_steps() -> None:
    """Muon makes the singular values of an update alike, AdamW does not; what has rate 0 does not move."""
    spread = {}
    for muon in ("true", "false"):
        run = Run(tiny("weight_decay=0.0", "count_batch=512", f"muon={muon}"), Path("unused"))
        before = {name: p.detach().clone() for name, p in run.network.named_parameters()}
        train_step(run)
        moved = {name: p.detach() - before[name] for name, p in run.network.named_parameters()}
        assert not moved["covariates.embed.weight"].any()
        for name in ("summary.blocks.0.down.weight", "summary.embed.weight"):
            values = torch.linalg.svdvals(moved[name])
            spread[name, muon] = float(values.max() / values.median())
    assert spread["summary.blocks.0.down.weight", "true"] < 2 < 4 < spread["summary.blocks.0.down.weight", "false"]
    assert spread["summary.embed.weight", "true"] == spread["summary.embed.weight", "false"]


def test_runs_of_when_there_were_two_networks_still_load() -> None:
    config = tiny()
    old = config.to_dict() | {"orbit": True}
    old["network"] |= {"architecture": "second"}
    assert TrainConfig.from_dict(old) == config
    with pytest.raises(InputError, match="no preset 'paper'; the preset is cpu"):
        TrainConfig.preset("paper")


def test_small_tables_are_added_on_request() -> None:
    shares = []
    for share in (0.0, 0.5):
        batch = plan.make(tiny("count_batch=400", f"small_share={share}"), 0, 0, "counts")[0]
        assert len(batch.effect) == len(batch.counts) == 400
        shares.append(float((batch.counts.sum((1, 2, 3)) <= plan.SMALL).float().mean()))
    assert 0.2 < shares[0] < 0.4 and 0.55 < shares[1] < 0.75
