"""Loss on kept tables that the pool has not learnt from, by their number of rows.

    python held_out.py runs/carried 300        # reads 10 files of other tables first: minutes
    python held_out.py runs/kept-tables 300
"""

import sys
from pathlib import Path

import torch

from ivicl.learn.files import load_tensors, save_tensors
from ivicl.learn.training import kept
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.run import result_of

BANDS = ((0, 64), (64, 300), (300, 1_000), (1_000, 4_000), (4_000, 16_000), (16_000, 70_000))
folder, first = Path(sys.argv[1]), int(sys.argv[2])
network, _ = result_of(folder)
config = TrainConfig(seed=51, rows=(48, 1024), long_rows=(512, 65536), row_tokens=16384, network=network.config)
parts = []
for k in range(first, first + 10):
    file = Path("runs/held-out") / f"{k:05d}.safetensors"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        batches = [kept.read_batch(network, config, i) for i in range(32 * k, 32 * k + 32)]
        save_tensors(file, kept.KeptTables.together(batches).tensors(), {})
    parts.append(kept.KeptTables.of(load_tensors(file)[0]))
tables = kept.KeptTables.together(parts)
print("| rows | tables | effect | ends | others |\n|---|---|---|---|---|")
with torch.no_grad():
    for low, high in BANDS:
        some = tables.chosen(((tables.rows >= low) & (tables.rows < high)).nonzero().flatten())
        found = kept.kept_loss(network, some, config)
        figures = " | ".join(f"{found[name].item():.3f}" for name in ("effect", "ends", "others"))
        print(f"| {low:,} to {high:,} | {len(some.rows):,} | {figures} |")
