"""The passes of two model files in turn, in one process: median and shortest of twelve, in seconds.

python side_by_side.py before.onnx src/ivicl/weights/ivicl.onnx
"""

import sys
import time

import numpy as np
import onnxruntime

sessions = {path: onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]) for path in sys.argv[1:]}
rng, rows = np.random.default_rng(0), 2048
z = rng.integers(0, 2, (1, rows)).astype(np.float32)
t = (rng.random((1, rows)) < 0.2 + 0.5 * z).astype(np.float32)
y = (rng.random((1, rows)) < 0.3).astype(np.float32)
table = {"x": rng.normal(size=(1, rows, 10)), "z": z, "t": t, "y": y, "v": 0 * y, "w": np.ones_like(y)}
table |= {"no_defiers": np.zeros((1, 1), np.float32), "design": np.ones((1, 11), np.float32)}
seconds: dict[str, list[float]] = {path: [] for path in sessions}
for _ in range(14):
    for path, session in sessions.items():
        start = time.perf_counter()
        session.run(["effect", "anchor", "unit", "mass"], table)
        seconds[path].append(time.perf_counter() - start)
for path, found in seconds.items():
    print(path, round(float(np.median(found[2:])), 4), round(min(found[2:]), 4))
