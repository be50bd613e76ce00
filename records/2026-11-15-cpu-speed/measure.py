"""What training costs here: bf16 against float32, tables a second at N = 512, and the growth of a step with N.

Run, on an otherwise idle machine, with and without tcmalloc preloaded:
    python records/2026-11-15-cpu-speed/measure.py
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from pathlib import Path

import torch

from ivicl.learn.prior import generator_for, sample_counts, sample_rows
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.devices import rows_in_bf16
from ivicl.learn.training.losses import count_loss, table_loss
from ivicl.learn.training.run import Run

REPEATS = 5


def seconds(work: Callable[[], object]) -> float:
    work()
    best = math.inf
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    print(f"threads {torch.get_num_threads()}, tcmalloc {'tcmalloc' in os.environ.get('LD_PRELOAD', '')}, ", end="")
    print(f"native bf16 {rows_in_bf16('auto', torch.device('cpu'))}")
    for dtype in (torch.float32, torch.bfloat16):
        a, b = torch.randn(2048, 384).to(dtype), torch.randn(384, 768).to(dtype)
        took = seconds(lambda a=a, b=b: a @ b)
        print(f"matmul {dtype}: {2 * 2048 * 384 * 768 / took / 1e9:.0f} GFLOP/s")
    config = TrainConfig()
    network = Run(config, Path("unused")).network.train()
    counts = sample_counts(config.prior, generator_for(0, 0), 2048, n_draws=64)
    took = seconds(lambda: count_loss(network, counts, config.loss, generator_for(0, 1))["loss"].backward())
    print(f"count tables: {2048 / took:.0f} a second (forward and backward)")
    times = []
    for n in (512, 1024, 2048, 4096, 8192):
        tables = max(1, 16_384 // n)
        batch = sample_rows(config.prior, generator_for(0, n), tables, n, 8)
        took = seconds(
            lambda batch=batch: table_loss(network, batch, config.loss, generator_for(0, 1))["loss"].backward()
        )
        times.append((n, took / tables))
        print(f"rows, N = {n}: {tables / took:.1f} tables a second")
    made = seconds(lambda: sample_rows(config.prior, generator_for(0, 2), 32, 512, 8))
    print(f"making 32 tables of 512 rows: {1000 * made:.0f} ms")
    exponent = math.log(times[-1][1] / times[0][1]) / math.log(times[-1][0] / times[0][0])
    print(f"growth of a table's cost with N, 512 to 8,192: exponent {exponent:.2f}")


if __name__ == "__main__":
    main()
