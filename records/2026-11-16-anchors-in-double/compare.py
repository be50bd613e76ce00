"""How far copies of rows and weights differ in the exported graph, over random tables: share above 1e-4, quantiles.

    python records/2026-11-16-anchors-in-double/compare.py --tables 2000 [--noise] [--shipped]

`--noise`: random heads without relation between neighbours on a grid. `--shipped`: the shipped model instead.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from rich.progress import track

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import test_network_invariance as invariance
from ivicl.learn.export import export
from ivicl.methods.pretrained.runtime import Model, Posteriors

ENDS = ("effect", "lower", "upper")


def random_model(noise: bool) -> Model:
    network = invariance.random_network(invariance.SMALL["induced"])
    if noise:
        generator = torch.Generator().manual_seed(4)
        for name, parameter in network.named_parameters():
            if "head" in name and parameter.ndim == 2:
                drawn = torch.randn(parameter.shape, generator=generator)
                parameter.data = 2.4 * drawn / parameter.shape[1] ** 0.5
    with tempfile.TemporaryDirectory() as folder:
        export(network, Path(folder) / "m.onnx", {})
        return Model.load(Path(folder) / "m.onnx")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=600)
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--shipped", action="store_true")
    options = parser.parse_args()
    model = Model.shipped() if options.shipped else random_model(options.noise)

    def answer(table: invariance.Table) -> Posteriors:
        return model.predict(*(part[None] for part in (table.x, table.z, table.t, table.y, table.w)))

    distances, spread = [], []
    for seed in track(range(options.tables)):
        table = invariance.make_table(seed, 24, 1 + seed % 3)
        copies = np.random.default_rng(seed).integers(1, 3 + seed % 8, 24)
        weighted = answer(replace(table, w=copies.astype(float)))
        distances.append(invariance.distance(weighted, answer(table.rows(np.repeat(np.arange(24), copies)))))
        spread.append([np.log(getattr(weighted, name).clip(1e-30)).std() for name in ENDS])
    found = np.array(distances)
    quantiles = " ".join(f"{q:.1e}" for q in np.quantile(found, [0.5, 0.99, 1]))
    print(f"above 1e-4: {(found > 1e-4).sum()} of {len(found)}; median, 99 %, largest: {quantiles}")
    print("mean sd of the logits, effect, lower, upper:", np.round(np.mean(spread, 0), 1))


if __name__ == "__main__":
    main()
