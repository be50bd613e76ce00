"""Ablations at equal steps, each run validated on the same tables. Resumable; prints two tables.

`counts`: count tables alone, which train the summary path. `rows`: tables with covariates, from the summary path of one
trained run (--from, a run folder), which stays frozen unless the variant says otherwise.

Run: python records/2026-11-16-ablations/run.py counts [--only muon,spikes] [--seeds 1,2,3]
     python records/2026-11-16-ablations/run.py rows --from runs/counts2
Results are kept in results.csv beside this file; a variant and seed that stands there is not run again.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from pathlib import Path

import torch

from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.journal import append_rows
from ivicl.learn.training.loop import train_step
from ivicl.learn.training.run import Run, result_of
from ivicl.learn.training.validation import validate

COUNTS = [
    "network.summary_width=384", "count_steps=300", "steps=300", "count_batch=512",
    "lr=0.002", "average=0.98", "warmup=30", "decay_from=0.4",
]  # fmt: skip
ROWS = [
    "network.summary_width=384",
    "count_steps=0", "steps=150", "mixed_count_batch=0", "compressed_batch=16", "row_batches=2", "row_tokens=4096",
    "rows=[32,1024]", "long_from=1.1", "summary_lr=0.0", "rows_lr=1.0",
    "lr=0.0008", "average=0.96", "warmup=15", "decay_from=0.4",
]  # fmt: skip
VARIANTS: dict[str, dict[str, list[str]]] = {
    "counts": {
        "base": [],
        "no spikes at the corners": ["network.spikes=false"],
        "linear head on 1,024 bins (the paper's)": ["network.anchored_head=false", "network.spikes=false"],
        "no canonical coding": ["network.canonical_coding=false"],
        "one posterior draw a table instead of 64": ["count_draws=1"],
        "no teachers at the ends": ["loss.ends=0"],
        "AdamW for all": ["muon=false"],
        "learning rate 0.0007": ["lr=0.0007"],
        "learning rate 0.005": ["lr=0.005"],
        "summary path half as wide": ["network.summary_width=192"],
        "summary path half as deep": ["network.summary_depth=2"],
        "AdamW, twice the steps": ["muon=false", "count_steps=600", "steps=600"],
        "half as wide, 2.4 times the steps": ["network.summary_width=192", "count_steps=720", "steps=720"],
    },
    "rows": {
        "base": [],
        "one label a table (no orbit)": ["orbit=false"],
        "no teachers at the ends": ["loss.ends=0"],
        "no loss on the rows' law": ["loss.law=0"],
        "no regression layer": ["network.regression=none"],
        "learned features in the regression layer": ["network.regression=learned"],
        "64 regression features": ["network.regression_features=64"],
        "summary path at a fifth of the rate": ["summary_lr=0.2", "mixed_count_batch=256"],
        "AdamW for all": ["muon=false"],
        "learning rate 0.0003": ["lr=0.0003"],
        "learning rate 0.002": ["lr=0.002"],
        "width 48": ["network.width=48", "network.row_hidden=96"],
        "width 160": ["network.width=160", "network.row_hidden=320"],
        "depth 1": ["network.depth=1"],
        "depth 4": ["network.depth=4"],
        "8 latents": ["network.latents=8"],
        "64 latents": ["network.latents=64"],
        "64 regression features, 1.5 times the steps": ["network.regression_features=64", "steps=225"],
    },
}
SHOWN = {"counts": ["counts", "count_ends"], "rows": ["compressed", "rows", "rows_one_label", "ends", "law"]}
RESULTS = Path(__file__).with_name("results.csv")
FIELDS = ["family", "variant", "seed", "seconds", *SHOWN["counts"], *SHOWN["rows"]]


def run(family: str, name: str, seed: int, start: Path | None) -> dict[str, object]:
    settings = [*(COUNTS if family == "counts" else ROWS), *VARIANTS[family][name], f"seed={seed}"]
    with tempfile.TemporaryDirectory() as folder:
        state = Run(TrainConfig().with_settings(settings), Path(folder))
        if start is not None:
            trained = {k: v for k, v in result_of(start)[0].state_dict().items() if k.startswith("summary")}
            state.network.load_state_dict(trained, strict=False)
            state.averaged().load_state_dict(trained, strict=False)
        started = time.perf_counter()
        while state.step < state.config.steps:
            train_step(state)
            state.step += 1
        seconds = round(time.perf_counter() - started, 1)
        found = validate(state.averaged(), state.config)
    return {"family": family, "variant": name, "seed": seed, "seconds": seconds, **found}


def table(family: str, done: list[dict[str, str]]) -> str:
    """Means over seeds, and the range of the seeds where there are several."""
    lines = ["| variant | seeds | " + " | ".join(SHOWN[family]) + " | seconds |"]
    lines.append("|---" * (len(SHOWN[family]) + 3) + "|")
    for name in VARIANTS[family]:
        rows = [r for r in done if r["family"] == family and r["variant"] == name]
        if not rows:
            continue
        cells = []
        for key in SHOWN[family]:
            values = [float(r[key]) for r in rows]
            spread = f" ± {(max(values) - min(values)) / 2:.3f}" if len(values) > 1 else ""
            cells.append(f"{sum(values) / len(values):.3f}{spread}")
        seconds = sum(float(r["seconds"]) for r in rows) / len(rows)
        lines.append(f"| {name} | {len(rows)} | " + " | ".join(cells) + f" | {seconds:.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("family", choices=list(VARIANTS))
    parser.add_argument("--from", dest="start", type=Path)
    parser.add_argument("--only", default="", help="words; a variant with any of them in its name is run")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.family == "rows" and options.start is None:
        parser.error("the rows' ablations need the run of a trained summary path: --from runs/counts2")
    torch.set_num_threads(options.threads)
    done = list(csv.DictReader(RESULTS.open())) if RESULTS.exists() else []
    for seed in map(int, options.seeds.split(",")):
        for name in VARIANTS[options.family]:
            if options.only and not any(word in name for word in options.only.split(",")):
                continue
            key = (options.family, name, str(seed))
            if any((r["family"], r["variant"], r["seed"]) == key for r in done):
                continue
            row = run(options.family, name, seed, options.start if options.family == "rows" else None)
            append_rows(RESULTS, [row], FIELDS)
            done.append({field: str(row.get(field, "nan")) for field in FIELDS})
            print(row, flush=True)
    print(f"\n{table(options.family, done)}")


if __name__ == "__main__":
    main()
