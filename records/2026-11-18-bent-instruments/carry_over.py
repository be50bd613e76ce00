"""The weights of the model before in a run's folder, to be exported with this network: nothing of it is new to learn.

    python carry_over.py before.onnx runs/carried
    ivicl export runs/carried -o new.onnx

`before.onnx` is src/ivicl/weights/ivicl.onnx of commit 9d9678a.
"""

import sys
from pathlib import Path

from ivicl.learn.checkpoint import load_weights
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.run import Run

path, folder = (Path(argument) for argument in sys.argv[1:])
network, about = load_weights(path)
training = about["training"]
place = {name: training.pop(name) for name in ("step", "hours", "tables", "before")}
settings = {**training, "network": network.config.to_dict(), "prior": about["prior"]}
run = Run(TrainConfig.from_dict(settings), folder)
run.start_from(network.state_dict(), {})
run.step, run.seconds, run.tables, run.before = place["step"], 3600 * place["hours"], place["tables"], place["before"]
run.save()
