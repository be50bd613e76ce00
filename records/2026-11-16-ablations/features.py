"""How many features does the regression layer need? One trained network, its fixed random features drawn anew.

What the layer hands on are fits and leverages, whatever the number of features behind them, so that the trained weights
serve every number; nothing is trained here.

Run: python records/2026-11-16-ablations/features.py runs/rows3 [--export folder]
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import torch

from ivicl.learn.export import export
from ivicl.learn.network.model import IVNetwork
from ivicl.learn.training.run import Run
from ivicl.learn.training.validation import validate

FEATURES = (32, 48, 64, 96, 128, 256)


def redrawn(run: Run, features: int, seed: int) -> IVNetwork:
    torch.manual_seed(seed)
    network = IVNetwork(dataclasses.replace(run.config.network, regression_features=features))
    drawn = ("covariates.regression.weight", "covariates.regression.bias")
    network.load_state_dict({k: v for k, v in run.averaged().state_dict().items() if k not in drawn}, strict=False)
    return network.eval()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path)
    parser.add_argument("--export", type=Path, help="folder for the networks of seed 7, for `ivicl evaluate`")
    options = parser.parse_args()
    run = Run.resume(options.run)
    print("| features | seed | rows | ends | law |\n|---|---|---|---|---|")
    for features in FEATURES:
        for seed in (7, 8):
            network = redrawn(run, features, seed)
            found = validate(network, run.config)
            print(
                f"| {features} | {seed} | {found['rows']:.3f} | {found['ends']:.3f} | {found['law']:.4f} |", flush=True
            )
            if options.export is not None and seed == 7:
                export(network, options.export / f"features-{features}.onnx", {"training": {}, "prior": {}})


if __name__ == "__main__":
    main()
