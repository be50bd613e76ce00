"""The trainer: one function of a config, that can be killed at any moment and goes on with the same tables.

Under `torchrun` each process takes its part of the micro-batches and gradients are summed, so that any number of
processes computes the same step.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from contextlib import nullcontext
from typing import Any

import torch

from ivicl.learn.training import plan
from ivicl.learn.training.journal import Journal, progress_bar
from ivicl.learn.training.kept import KeptTables, keep
from ivicl.learn.training.optim import clip_gradients
from ivicl.learn.training.processes import Processes, joined
from ivicl.learn.training.run import Run
from ivicl.learn.training.stop import StopSignals
from ivicl.learn.training.teaching import micro_loss
from ivicl.learn.training.validation import validate

logger = logging.getLogger(__name__)


def train(run: Run, progress: bool = True, until: int | None = None, stop: StopSignals | None = None) -> Run:
    """Train to the end of the config (or to step `until`), saving every few minutes; `stop` is a caller's own."""
    end = run.config.steps if until is None else min(run.config.steps, until)
    listening = StopSignals() if stop is None else nullcontext(stop)
    with joined(run.device) as processes, listening as signals:
        log = Journal(run.folder, run.step) if processes.first else None
        parameters = sum(p.numel() for p in run.network.parameters())
        logger.info("%s parameters on %s; run in %s, from step %d", f"{parameters:,}", run.device, run.folder, run.step)
        begun = time.monotonic()
        kept = keep(run, processes, signals, progress) if run.config.kept_batches else None
        run.seconds += time.monotonic() - begun
        with progress_bar(progress and processes.first, end, run.step) as advance:
            last_save = time.monotonic()
            while run.step < end and not processes.any(signals.asked):
                started = time.monotonic()
                row = train_step(run, processes, kept)
                run.seconds += time.monotonic() - started
                run.step += 1
                if log is None:
                    continue
                log.add(row | {"step": run.step, "seconds": round(run.seconds, 2), "tables": sum(run.tables.values())})
                advance(run, row)
                if _validates(run, end):
                    found = validate(run.averaged(), run.config.prior)
                    log.note(found | {"step": run.step, "seconds": round(run.seconds)})
                    logger.info("step %d: %s", run.step, ", ".join(f"{k} {v:g}" for k, v in found.items()))
                if time.monotonic() - last_save > run.config.save_seconds:
                    _save(run, log)
                    last_save = time.monotonic()
        if log is not None:
            log.flush()
            log.draw()
            _save(run, log)
        processes.wait()
    logger.info("step %d of %d, %.2f hours", run.step, run.config.steps, run.seconds / 3600)
    return run


def _validates(run: Run, end: int) -> bool:
    every = run.config.validate_every
    return every > 0 and (run.step % every == 0 or run.step == end)


def _save(run: Run, log: Journal) -> None:
    # The journal first: lines beyond the saved step are dropped on resuming, lines that were lost would stay so.
    log.flush()
    run.save()
    logger.debug("saved step %d in %s", run.step, run.folder)


def train_step(run: Run, processes: Processes | None = None, kept: KeptTables | None = None) -> dict[str, Any]:
    """One step: this process's micro-batches, gradients summed over processes, one update."""
    processes = processes or Processes(0, 1, run.device)
    config, network = run.config, run.network
    network.train()
    for parameter in network.parameters():
        parameter.grad = None
    sums = {"counts": 0.0, "compressed": 0.0, "rows": 0.0, "ends": 0.0, "law": 0.0}
    sizes = {"counts": 0, "compressed": 0, "rows": 0}
    pieces = plan.micro_batches(config, run.step)
    number = Counter(kind for kind, _ in pieces)
    teaching = "counts" if run.step < config.count_steps else "rows"
    for index in plan.own_batches(
        [kind for kind, _ in pieces], plan.costs(config, run.step), processes.rank, processes.world
    ):
        kind, share = pieces[index]
        losses, tables = micro_loss(network, config, run.step, index, kind, kept)
        torch.autograd.backward(losses["loss"] * share)
        # Kept tables are tables with rows, drawn again and again.
        named = "rows" if kind == "kept" else kind
        sizes[named] += tables
        sums[named] += losses["effect"].item() / number[kind]
        if named == teaching:
            sums["ends"] += losses["ends"].item() / number[kind]
            sums["law"] += losses.get("law", torch.zeros(())).item() / number[kind]
    processes.sum_gradients(network)
    found = processes.sum_values([*sums.values(), *sizes.values()])
    sums = dict(zip(sums, found, strict=False))
    norm = clip_gradients(network, config.clip)
    rates = plan.learning_rates(config, run.step)
    run.optimizer.step(rates)
    run.average.update_parameters(network)
    for kind, size in zip(sizes, found[len(sums) :], strict=True):
        run.tables[kind] += int(size)
    stage = 1 if run.step < config.count_steps else 2
    return {**sums, "norm": norm, "lr": config.lr * max(rates.values()), "stage": stage}
