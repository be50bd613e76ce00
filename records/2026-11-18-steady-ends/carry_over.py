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
from ivicl.methods.pretrained.streaming.constants import PACE
from ivicl.methods.pretrained.streaming.weights import PLACES, Weights

path, folder = (Path(argument) for argument in sys.argv[1:])
record = Model.load(path).metadata
config = NetworkConfig.from_dict(record["network"])
held = Weights(path.read_bytes(), record[PLACES])
weights = {}
renamed = {"pool.1": "pool.2", "pool.2": "pool.3", "gather": "pool.0"}
for name, value in IVNetwork(config).state_dict().items():
    _, _, rest = name.partition("covariates.")
    part, _, kind = rest.rpartition(".")
    if part in ("heed", *renamed):
        of, columns = renamed.get(part, "pool.0"), 2 * config.width + config.summary_width
        old = torch.from_numpy(held[f"covariates.{of}.{kind}"]).to(value)
        if part == "gather" and kind == "weight":
            old = old[:, :columns]
        elif part == "heed":
            old = old[:, columns:]
            old = torch.cat([old, torch.zeros(len(old), value.shape[1] - old.shape[1])], 1)
    else:
        old = torch.from_numpy(held[name]).to(value)
        if part == "trust":
            old = torch.cat([old, torch.zeros(len(value) - len(old), *old.shape[1:])]) / PACE
    weights[name] = old
training = record["training"]
place = {name: training.pop(name) for name in ("step", "hours", "tables", "before")}
run = Run(TrainConfig.from_dict({**training, "network": record["network"], "prior": record["prior"]}), folder)
run.start_from(weights, {})
run.step, run.seconds, run.tables, run.before = place["step"], 3600 * place["hours"], place["tables"], place["before"]
run.save()
print(f"{sum(w.numel() for w in weights.values()):,} weights in {folder}")
