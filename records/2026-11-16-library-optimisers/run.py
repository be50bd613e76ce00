"""torch.optim.Muon, AdamW and AveragedModel against our own, from the same seed on the same tables.

Run on an otherwise idle machine, about two minutes each; prints a line of losses and seconds a step:
    python records/2026-11-16-library-optimisers/run.py counts ours 1
    python records/2026-11-16-library-optimisers/run.py rows library 2
The stages, optimizers and seeds of the README's table: {counts, rows} x {ours, library, mixed} x {1, 2}; `mixed` is our Muon
beside torch's AdamW and average. ONEDNN_MAX_CPU_ISA=AVX2 in front shows a processor without bf16.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch
from ours import OurAverage, Ours

from ivicl.learn.network.checkpoint import load_weights
from ivicl.learn.network.model import IVNetwork
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.loop import train_step
from ivicl.learn.training.run import Run
from ivicl.learn.training.validation import validate

WEIGHTS = Path(__file__).parents[2] / "weights" / "ivicl.safetensors"
STAGES = {
    "counts": {"count_steps": 400, "steps": 400, "count_batch": 256, "warmup": 20, "average": 0.98},
    "rows": {"count_steps": 0, "steps": 60, "row_tokens": 2048, "compressed_batch": 16, "warmup": 10, "average": 0.95},
}


def main(stage: str, optimizer: str, seed: int) -> None:
    torch.set_num_threads(1)
    config = TrainConfig().with_values({**STAGES[stage], "seed": seed, "lr": 0.002, "precision": "fp32"})
    run = Run(config, Path("unused"))
    if stage == "rows":  # the summary path of the shipped model, everything else from its start
        run = Run(config.with_values({"network.summary_width": 384}), Path("unused"))
        trained = load_weights(WEIGHTS)[0].state_dict()
        for network in (run.network, run.averaged()):
            network.load_state_dict({k: v for k, v in trained.items() if k.startswith("summary")}, strict=False)
    ours = OurAverage(run.network, config.average)
    if optimizer == "ours":
        run.optimizer = Ours(run.network.parameter_groups(), config.lr, config.muon, config.weight_decay)  # type: ignore[assignment]
        run.average = ours  # type: ignore[assignment]
    step = run.optimizer.step
    inside = 0.0

    def timed(rates: object) -> None:
        nonlocal inside
        started = time.perf_counter()
        step(rates)  # type: ignore[arg-type]
        inside += time.perf_counter() - started

    run.optimizer.step = timed  # type: ignore[method-assign]
    started = time.perf_counter()
    while not run.finished:
        train_step(run)
        run.step += 1
    took = (time.perf_counter() - started) / config.steps
    network = IVNetwork(run.config.network).eval()
    network.load_state_dict(ours.values if optimizer == "ours" else run.averaged().state_dict())
    found = validate(network, config)
    names = ("counts", "count_ends") if stage == "counts" else ("compressed", "rows", "rows_one_label", "ends", "law")
    losses = "  ".join(f"{name} {found[name]:.4f}" for name in names)
    print(f"{stage:6}  {optimizer:8}  seed {seed}  {losses}  {took:.3f} s a step, {inside / config.steps:.3f} s in it")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
