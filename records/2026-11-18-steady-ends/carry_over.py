"""The weights of the model before, in a network whose pool reads the steady ends too: new weights begin at zero.

    python carry_over.py before.onnx runs/carried

`before.onnx` is src/ivicl/weights/ivicl.onnx of commit 04845bf. What comes out is its last stage as if it had been
trained with this network.
"""

import sys
from pathlib import Path

import torch

from ivicl.learn.network.config import NetworkConfig
from ivicl.learn.network.model import IVNetwork
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.run import Run
from ivicl.methods.pretrained.runtime import Model
from ivicl.methods.pretrained.streaming.weights import PLACES, Weights

path, folder = (Path(argument) for argument in sys.argv[1:])
record = Model.load(path).metadata
config = NetworkConfig.from_dict(record["network"])
held = Weights(path.read_bytes(), record[PLACES])
weights = {}
for name, value in IVNetwork(config).state_dict().items():
    old = torch.from_numpy(held[name]).to(value)
    if name == "covariates.pool.0.weight":
        old = torch.cat([old, torch.zeros(len(old), value.shape[1] - old.shape[1])], 1)
    elif name.startswith("covariates.trust."):
        old = torch.cat([old, torch.zeros(len(value) - len(old), *old.shape[1:])])
    weights[name] = old
training = record["training"]
place = {name: training.pop(name) for name in ("step", "hours", "tables", "before")}
run = Run(TrainConfig.from_dict({**training, "network": record["network"], "prior": record["prior"]}), folder)
run.start_from(weights, {})
run.step, run.seconds, run.tables, run.before = place["step"], 3600 * place["hours"], place["tables"], place["before"]
run.save()
print(f"{sum(w.numel() for w in weights.values()):,} weights in {folder}")
