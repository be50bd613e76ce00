"""torch.optim.Muon, AdamW and AveragedModel against our own, from the same seed on the same tables.

Run on an otherwise idle machine, about two minutes each; prints a line of losses and times:
    python records/2026-11-16-library-optimisers/run.py counts ours 1
    python records/2026-11-16-library-optimisers/run.py rows library 2
Stages: counts, rows. Optimizers: `ours` (all our own, as until this day), `library` (all torch's), `trainer` (what the
trainer has now: our Muon, torch's AdamW and average). A fourth argument sets another number of steps, for the times alone.
`ONEDNN_MAX_CPU_ISA=AVX2` in front of the command shows a processor without bf16.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch
from ours import OurAverage, Ours

from ivicl.learn.checkpoint import load_weights
from ivicl.learn.network.model import IVNetwork
from ivicl.learn.training import optim
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.loop import train_step
from ivicl.learn.training.run import Run
from ivicl.learn.training.validation import validate

WEIGHTS = Path(__file__).parents[2] / "weights" / "ivicl.safetensors"
STAGES = {
    "counts": {"count_steps": 400, "steps": 400, "count_batch": 256, "warmup": 20, "average": 0.98},
    "rows": {"count_steps": 0, "steps": 60, "row_tokens": 2048, "compressed_batch": 16, "warmup": 10, "average": 0.95},
}
SHOWN = {"counts": ("counts", "count_ends"), "rows": ("compressed", "rows", "rows_one_label", "ends", "law")}


def main(stage: str, optimizer: str, seed: int, steps: int | None = None) -> None:
    torch.set_num_threads(1)
    values = {**STAGES[stage], "seed": seed, "lr": 0.002, "precision": "fp32"}
    config = TrainConfig().with_values(values | ({"network.summary_width": 384} if stage == "rows" else {}))
    if optimizer == "library":
        optim.Muon = lambda groups, lr: torch.optim.Muon(groups, lr, adjust_lr_fn="match_rms_adamw")  # type: ignore
    run = Run(config, Path("unused"))
    if stage == "rows":  # the summary path of the shipped model, everything else from its start
        trained = load_weights(WEIGHTS)[0].state_dict()
        for network in (run.network, run.averaged()):
            network.load_state_dict({k: v for k, v in trained.items() if k.startswith("summary")}, strict=False)
    average = OurAverage(run.network, config.average)
    if optimizer == "ours":
        run.optimizer = Ours(run.network.parameter_groups(), config.lr, config.muon, config.weight_decay)  # type: ignore
        run.average = average  # type: ignore
    update, times, inside = run.optimizer.step, [], []

    def timed(rates: object) -> None:
        started = time.perf_counter()
        update(rates)  # type: ignore
        inside.append(time.perf_counter() - started)

    run.optimizer.step = timed  # type: ignore
    while run.step < (steps or config.steps):
        started = time.perf_counter()
        train_step(run)
        times.append(time.perf_counter() - started)
        run.step += 1
    network = IVNetwork(config.network).eval()
    network.load_state_dict(average.values if optimizer == "ours" else run.averaged().state_dict())
    found = {} if steps else validate(network, config)
    losses = "  ".join(f"{name} {found[name]:.4f}" for name in SHOWN[stage] if found)
    fastest = f"fastest step {min(times):.3f} s, fastest update {min(inside):.3f} s"
    print(f"{stage:6}  {optimizer:8} seed {seed}  {losses}  {fastest}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *(int(number) for number in sys.argv[3:]))
