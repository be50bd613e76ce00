"""Ablations at equal steps: one short run a variant and seed, validated on the same tables. Resumable; prints a table.

Run: python records/2026-11-15-ablations/run.py [--only orbit,muon] [--seeds 1,2,3] [--steps 400]
Results are kept in results.csv beside this file; a variant and seed that stands there is not run again.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from pathlib import Path

import torch

from ivicl.training.config import TrainConfig
from ivicl.training.loop import Run, train_step
from ivicl.training.validation import validate

BASE = [
    "count_batch=512", "mixed_count_batch=256", "compressed_batch=16", "row_tokens=4096", "row_batches=2",
    "rows=[32,1024]", "lr=0.0015", "average=0.98", "warmup=20", "count_draws=32",
]  # fmt: skip
VARIANTS: dict[str, list[str]] = {
    "base": [],
    "one label a table (no orbit)": ["orbit=false"],
    "no canonical coding": ["network.canonical_coding=false"],
    "no teachers at the ends": ["loss.ends=0"],
    "no loss on the rows' law": ["loss.law=0"],
    "no regression layer": ["network.regression=none"],
    "learned features in the regression layer": ["network.regression=learned"],
    "no anchored head": ["network.anchored_head=false"],
    "no spikes at the corners": ["network.spikes=false"],
    "frozen summary path": ["summary_lr=0"],
    "summary path at full rate": ["summary_lr=1"],
    "AdamW for all": ["muon=false"],
    "learning rate 0.0005": ["lr=0.0005"],
    "learning rate 0.004": ["lr=0.004"],
    "width 64": ["network.width=64", "network.row_hidden=128"],
    "width 160": ["network.width=160", "network.row_hidden=320"],
    "depth 1": ["network.depth=1"],
    "depth 4": ["network.depth=4"],
    "8 latents": ["network.latents=8"],
    "64 latents": ["network.latents=64"],
    "64 regression features": ["network.regression_features=64"],
}
RESULTS = Path(__file__).with_name("results.csv")
FIELDS = ["variant", "seed", "steps", "seconds", "counts", "compressed", "rows", "rows_one_label", "ends", "law"]


def run(name: str, seed: int, steps: int) -> dict[str, object]:
    settings = [*BASE, *VARIANTS[name], f"seed={seed}", f"steps={steps}", f"count_steps={steps // 2}"]
    with tempfile.TemporaryDirectory() as folder:
        state = Run(TrainConfig().with_settings(settings), Path(folder))
        started = time.perf_counter()
        while state.step < steps:
            train_step(state)
            state.step += 1
        seconds = round(time.perf_counter() - started, 1)
        return {
            "variant": name,
            "seed": seed,
            "steps": steps,
            "seconds": seconds,
            **validate(state.averaged(), state.config),
        }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    done = list(csv.DictReader(RESULTS.open())) if RESULTS.exists() else []
    for name in VARIANTS:
        if options.only and not any(word in name for word in options.only.split(",")):
            continue
        for seed in map(int, options.seeds.split(",")):
            if any(r["variant"] == name and int(r["seed"]) == seed and int(r["steps"]) == options.steps for r in done):
                continue
            row = run(name, seed, options.steps)
            fresh = not RESULTS.exists()
            with RESULTS.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, extrasaction="ignore")
                if fresh:
                    writer.writeheader()
                writer.writerow(row)
            done.append({key: str(row.get(key, "")) for key in FIELDS})
            print(row, flush=True)
    print(
        "\n| variant | seeds | counts | compressed | rows | ends | law | seconds |\n|---|---|---|---|---|---|---|---|"
    )
    for name in VARIANTS:
        rows = [r for r in done if r["variant"] == name and int(r["steps"]) == options.steps]
        if rows:
            means = [
                sum(float(r[k] or "nan") for r in rows) / len(rows)
                for k in ("counts", "compressed", "rows", "ends", "law")
            ]
            seconds = sum(float(r["seconds"]) for r in rows) / len(rows)
            print(f"| {name} | {len(rows)} | " + " | ".join(f"{m:.3f}" for m in means) + f" | {seconds:.0f} |")


if __name__ == "__main__":
    main()
