"""The trainer: one function of a config, that can be killed at any moment and goes on with the same tables.

Under `torchrun` each process takes every world-size-th micro-batch and gradients are summed, so that any number of
processes computes the same step.
"""

from __future__ import annotations

import contextlib
import signal
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ivicl.errors import InputError
from ivicl.learn.network.model import IVNetwork
from ivicl.learn.prior import CountBatch
from ivicl.learn.training import plan, store
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.journal import Journal, progress_bar
from ivicl.learn.training.losses import count_loss, table_loss
from ivicl.learn.training.optim import MuonAdamW, clip_gradients
from ivicl.learn.training.processes import join, leave, sum_over_processes
from ivicl.learn.training.validation import validate


class Run:
    """The state of a run: network, average, optimizer, position."""

    def __init__(self, config: TrainConfig, folder: Path) -> None:
        self.config = config
        self.folder = folder
        with torch.random.fork_rng():
            torch.manual_seed(config.seed)
            self.network = IVNetwork(config.network)
        self.network.covariates.bf16 = config.precision == "bf16" or (config.precision == "auto" and native_bf16())
        self.average = {name: p.detach().clone() for name, p in self.network.state_dict().items()}
        self.optimizer = MuonAdamW(self.network, config.lr, config.muon, config.weight_decay)
        self.step = 0
        self.seconds = 0.0
        self.tables = {"counts": 0, "compressed": 0, "rows": 0}
        self.before: list[dict[str, Any]] = []

    def record(self) -> dict[str, Any]:
        """What is kept of a run in the files it leaves: its settings, how far it came, and the runs it started from."""
        settings = {name: value for name, value in self.config.to_dict().items() if name not in ("network", "prior")}
        hours = round(self.seconds / 3600, 2)
        return {**settings, "step": self.step, "hours": hours, "tables": self.tables, "before": self.before}

    def save(self) -> None:
        tensors: dict[str, Tensor] = {f"weights.{k}": v for k, v in self.network.state_dict().items()}
        tensors |= {f"average.{k}": v for k, v in self.average.items()}
        tensors |= {f"optimizer.{k}": v for k, v in self.optimizer.state.items()}
        meta = {"config": self.config.to_dict(), "step": self.step, "seconds": self.seconds, "tables": self.tables}
        meta["before"] = self.before
        store.save(self.folder, tensors, meta)

    @staticmethod
    def resume(folder: Path, settings: list[str] | None = None) -> Run:
        tensors, meta = store.load(folder)
        run = Run(TrainConfig.from_dict(meta["config"]).with_settings(settings or []), folder)
        run.network.load_state_dict(_part(tensors, "weights."))
        run.average = _part(tensors, "average.")
        run.optimizer.state = _part(tensors, "optimizer.")
        run.step, run.seconds, run.tables = meta["step"], meta["seconds"], meta["tables"]
        run.before = meta.get("before", [])
        return run

    def start_from(self, weights: dict[str, Tensor], record: dict[str, Any]) -> None:
        """Begin from the weights of another run, with a fresh optimizer; `record` is what that run left."""
        shapes = [{name: tuple(v.shape) for name, v in part.items()} for part in (weights, self.network.state_dict())]
        for name in sorted({*shapes[0], *shapes[1]}):
            there, here = (part.get(name) for part in shapes)
            if there != here:
                raise InputError(
                    f"The weights to start from are of another network: {name} has shape {there} there and {here} here."
                )
        self.network.load_state_dict(weights)
        self.average = {name: p.detach().clone() for name, p in weights.items()}
        self.before = [*record.get("before", []), {name: v for name, v in record.items() if name != "before"}]

    def averaged(self) -> IVNetwork:
        """A network with the averaged weights: what is evaluated and shipped."""
        network = IVNetwork(self.config.network)
        network.load_state_dict(self.average)
        return network.eval()


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: t for name, t in tensors.items() if name.startswith(prefix)}


def train(run: Run, progress: bool = True, until: int | None = None) -> Run:
    """Train to the end of the config (or to step `until`), saving every few minutes."""
    rank, world = join()
    stop = _StopFlag()
    last_save = time.monotonic()
    end = min(run.config.steps, until if until is not None else run.config.steps)
    log = Journal(run.folder, run.step) if rank == 0 else None
    with progress_bar(progress and rank == 0, end, run.step) as advance:
        while run.step < end and not stop.asked:
            started = time.monotonic()
            row = train_step(run, rank, world)
            run.seconds += time.monotonic() - started
            run.step += 1
            if log is None:
                continue
            log.add(row | {"step": run.step, "seconds": round(run.seconds, 2), "tables": sum(run.tables.values())})
            advance(run, row)
            every = run.config.validate_every
            if every and (run.step % every == 0 or run.step == end):
                log.note(validate(run.averaged(), run.config) | {"step": run.step, "seconds": round(run.seconds)})
            if time.monotonic() - last_save > run.config.save_seconds:
                run.save()
                log.flush()
                last_save = time.monotonic()
    if log is not None:
        run.save()
        log.flush()
        log.draw()
    leave(world)
    return run


def train_step(run: Run, rank: int = 0, world: int = 1) -> dict[str, Any]:
    """One step: this process's micro-batches, gradients summed over processes, one update."""
    config, network = run.config, run.network
    network.train()
    for parameter in network.parameters():
        parameter.grad = None
    sums = {"counts": 0.0, "compressed": 0.0, "rows": 0.0, "ends": 0.0, "law": 0.0}
    sizes = {"counts": 0, "compressed": 0, "rows": 0}
    pieces = plan.micro_batches(config, run.step)
    rows = sum(kind == "rows" for kind, _ in pieces)
    for index, (kind, share) in enumerate(pieces):
        if index % world != rank:
            continue
        micro = plan.make(config, run.step, index, kind, share)
        if isinstance(micro.batch, CountBatch):
            losses = count_loss(network, micro.batch, config.loss, micro.generator)
        else:
            losses = table_loss(network, micro.batch, config.loss, micro.generator, one_label=not config.orbit)
        (losses["loss"] * share).backward()
        sizes[kind] += micro.tables
        sums[kind] += losses["effect"].item() / (rows if kind == "rows" else 1)
        if kind == "rows" or run.step < config.count_steps:
            sums["ends"] += losses["ends"].item() / max(rows, 1)
            sums["law"] += losses.get("law", torch.zeros(())).item() / max(rows, 1)
    if world > 1:
        sum_over_processes(network, sums, sizes)
    norm = clip_gradients(network, config.clip)
    summary_scale, scale = plan.learning_rates(config, run.step)
    scales = {n: summary_scale if n.startswith("summary") else scale for n in run.optimizer.parameters}
    run.optimizer.step(scales)
    _update_average(run)
    for kind, size in sizes.items():
        run.tables[kind] += size
    stage = 1 if run.step < config.count_steps else 2
    return {**sums, "norm": norm, "lr": config.lr * max(scale, summary_scale), "stage": stage}


@torch.no_grad()
def _update_average(run: Run) -> None:
    # Young averages forget faster, or they would remember the random start.
    decay = min(run.config.average, (1 + run.step) / (10 + run.step))
    for name, value in run.network.state_dict().items():
        run.average[name].lerp_(value, 1 - decay)


def native_bf16() -> bool:
    """Whether this processor multiplies bf16 itself; emulated, it is a hundred times slower than float32."""
    return bool(torch.cpu._is_avx512_bf16_supported())


class _StopFlag:
    """Set by SIGTERM or Ctrl-C: the step under way is finished and saved."""

    def __init__(self) -> None:
        self.asked = False
        with contextlib.suppress(ValueError):  # not in the main thread: leave signals alone
            signal.signal(signal.SIGTERM, self._set)
            signal.signal(signal.SIGINT, self._set)

    def _set(self, *_: object) -> None:
        self.asked = True
