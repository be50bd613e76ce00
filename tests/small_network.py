"""A small network with made-up weights: its answers mean nothing, but they behave as the real one's."""

from __future__ import annotations

from pathlib import Path

import torch

from ivicl.learn.export import export
from ivicl.learn.network.config import NetworkConfig
from ivicl.learn.network.model import IVNetwork
from ivicl.methods.pretrained.streaming.constants import PACE

SMALL = NetworkConfig(
    width=32, heads=2, latents=8, row_hidden=48, max_features=16, regression_features=24, trees=16, tree_depth=3,
    summary_width=48, summary_depth=2, covariate_width=64,
)  # fmt: skip


def small_network() -> IVNetwork:
    torch.manual_seed(0)
    made = IVNetwork(SMALL).eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for part in (made.covariate_heads, made.summary_heads, made.covariates.trust, made.covariates.law):
            for parameter in part.parameters():
                # Smooth along the grids, as trained heads are.
                noise = torch.randn(parameter.shape, generator=generator)
                smooth = torch.nn.functional.avg_pool1d(noise.flatten()[None, None], 15, 1, 7)
                parameter.copy_(0.3 * smooth.view_as(noise) / (PACE if part is made.covariates.trust else 1))
    return made


def small_file(folder: Path) -> Path:
    """Its graph, as a model file."""
    path = folder / "small.onnx"
    export(small_network(), path, {"prior": {"name": "none"}, "training": {"step": 0, "hours": 0.0, "tables": {}}})
    return path
