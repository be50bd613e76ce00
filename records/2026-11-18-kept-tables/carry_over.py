"""The weights of the model before, in a network whose pool reads more: new columns begin at zero.

    python carry_over.py before.onnx runs/carried

`before.onnx` is src/ivicl/weights/ivicl.onnx of commit c059072. The trees that are grown are new candidates, so that the
answers change a little even so.
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
        old = torch.cat(
            [first, torch.zeros(len(old), QUANTITIES), torch.cat([shares, new], 2).flatten(1), torch.zeros(len(old), DOUBTS)], 1
        )
    weights[name] = old
run = Run(TrainConfig(network=config, steps=0, count_steps=0), folder)
run.start_from(weights, record["training"])
run.save()
print(f"{sum(w.numel() for w in weights.values()):,} weights in {folder}")
