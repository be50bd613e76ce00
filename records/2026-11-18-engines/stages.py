"""`stages.py ROWS [rows|amounts]`: peak memory by stage of `ivicl fit` on rows that all differ, as ten million take it.

Limits that decide the path, and the room for what is kept, shrink with the rows. Linux: the kernel's record of the
largest resident set is reset at every stage. Run with MALLOC_MMAP_THRESHOLD_=7000000, so that arrays of a million
numbers go back to the system when they are freed, as arrays of ten million do. With a third argument the network sees
70,000 rows alone, which leaves a few seconds of work.
"""

import functools
import importlib
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

STAGES = """
data.reading:read_frame data.compression:_merge data.compression:_as_they_are data.compression:entries
data.building:build methods.pretrained.tables:problems methods.pretrained.batching:predict_tables
methods.pretrained.streaming.source:Source.prepare methods.pretrained.streaming.regression:Regression.__init__
methods.pretrained.streaming.regression:Regression._mix methods.pretrained.streaming.covariates:read_rows
methods.answers:answers methods.one_step_means:_adjusted results.ladder:climb methods.base:Method.bounds
results.diagnostics.findings:diagnose results.diagnostics.findings:first_stage
results.diagnostics.findings:hidden_pattern
"""
open_stages, done, peak = [], [], 0


def memory(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))


def mark():
    """What was the peak since the last mark belongs to all open stages."""
    global peak
    largest = memory("VmHWM")
    peak = max(peak, largest)
    for stage in open_stages:
        stage[2] = max(stage[2], largest)
    Path("/proc/self/clear_refs").write_text("5")


def watched(work, name):
    @functools.wraps(work)
    def stage(*given, **named):
        mark()
        place = len(done)
        done.append(None)
        open_stages.append([name, memory("VmRSS"), 0])
        started = time.process_time()
        try:
            return work(*given, **named)
        finally:
            mark()
            _, before, largest = open_stages.pop()
            done[place] = (len(open_stages), name, before, largest, memory("VmRSS"), time.process_time() - started)

    return stage


def watch(path):
    module, name = path.split(":")
    owner = importlib.import_module(f"ivicl.{module}")
    *outer, last = name.split(".")
    for each in outer:
        owner = getattr(owner, each)
    work = getattr(owner, last)
    stage = watched(work, name)
    setattr(owner, last, stage)
    for other in list(sys.modules.values()):  # those that imported it by name
        if getattr(other, "__name__", "").startswith("ivicl") and other.__dict__.get(last) is work:
            setattr(other, last, stage)


def few_rows(predict):
    def of_some(network, table, on_rows=lambda rows: None):
        here = slice(0, 70_000)
        columns = {name: getattr(table, name)[here] for name in ("x", "z", "t", "y", "w")}
        return predict(network, replace(table, **columns, v=None), on_rows)

    return of_some


def main(rows, kind, few):
    from ivicl.benchmarks import scale_speed
    from ivicl.cli import main as run
    from ivicl.data import compression
    from ivicl.methods.pretrained import runtime
    from ivicl.methods.pretrained.streaming import kept, network

    for module in ("cli.fit", "estimator", "data.building", "methods.pretrained.method"):
        importlib.import_module(f"ivicl.{module}")  # before anything is watched
    for path in STAGES.split():
        watch(path)
    share = rows / 10_000_000
    scale_speed.ROWS_PER_FILE = rows // 10
    compression.MOST_ENTRIES, kept.BYTES = int(compression.MOST_ENTRIES * share), int(kept.BYTES * share)
    if few:
        network.StagedNetwork.predict = few_rows(network.StagedNetwork.predict)
    with tempfile.TemporaryDirectory() as folder:
        writer = os.fork()  # writing the rows leaves memory behind
        if not writer:
            scale_speed.write_rows(f"different {kind}", rows, Path(folder) / "parts")
            os._exit(0)
        os.waitpid(writer, 0)
        named = ["-x", ",".join(f"x{j}" for j in range(scale_speed.COVARIATES))]
        output = f"{folder}/bounds.json"
        assert runtime.Model.shipped().staged is not None  # loaded before, for it does not grow with the rows
        sys.argv = ["ivicl", "fit", f"{folder}/parts/*.parquet", *scale_speed.ROLES, *named, "-o", output]
        start = memory("VmRSS")
        try:
            run()
        except SystemExit as left:
            assert not left.code
    print(f"MB at the start: {start / 1e6:.0f}; bytes a row beyond it:")
    print(f"{'stage':44s} {'before':>7s} {'peak':>7s} {'after':>7s} {'CPU s':>7s}")
    for depth, name, *sizes, seconds in done:
        numbers = " ".join(f"{(size - start) / rows:7.0f}" for size in sizes)
        print(f"{'  ' * depth + name:44s} {numbers} {seconds:7.2f}")
    print(f"peak of all {(peak - start) / rows:.0f}")


main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "amounts", len(sys.argv) > 3)
