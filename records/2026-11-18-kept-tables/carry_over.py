"""The weights of the model before, in a network whose pool reads more: new columns begin at zero.

    python carry_over.py before.onnx runs/carried

`before.onnx` is src/ivicl/weights/ivicl.onnx of commit c059072. What comes out is its last stage as if it had been trained
with this network. The tree that is grown is a new candidate, so that the answers change a little even so.
"""

import sys
from pathlib import Path

import torch

from ivicl.learn.network.config import NetworkConfig
from ivicl.learn.network.ends import DOUBTS, QUANTITIES
from ivicl.learn.network.model import IVNetwork
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.run import Run
from ivicl.methods.pretrained.runtime import Model
from ivicl.methods.pretrained.streaming.constants import CANDIDATES
from ivicl.methods.pretrained.streaming.weights import PLACES, Weights

path, folder = (Path(argument) for argument in sys.argv[1:])
record = Model.load(path).metadata
config = NetworkConfig.from_dict(record["network"])
held = Weights(path.read_bytes(), record[PLACES])
weights = {}
for name, value in IVNetwork(config).state_dict().items():
    old = torch.from_numpy(held[name]).to(value)
    if name == "covariates.pool.0.weight":
        before = 2 * config.width + config.summary_width + 4 * QUANTITIES
        first, shares = old[:, :before], old[:, before:].view(len(old), 2, -1)
        new = torch.zeros(len(old), 2, CANDIDATES - shares.shape[2])
        news = [torch.cat([shares, new], 2).flatten(1), torch.zeros(len(old), DOUBTS)]
        old = torch.cat([first, torch.zeros(len(old), QUANTITIES), *news], 1)
    weights[name] = old
training = record["training"]
place = {name: training.pop(name) for name in ("step", "hours", "tables", "before")}
run = Run(TrainConfig.from_dict({**training, "network": record["network"], "prior": record["prior"]}), folder)
run.start_from(weights, {})
run.step, run.seconds, run.tables, run.before = place["step"], 3600 * place["hours"], place["tables"], place["before"]
run.save()
print(f"{sum(w.numel() for w in weights.values()):,} weights in {folder}")
