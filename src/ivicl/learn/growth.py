"""A trained network made wider, with the same answers: what a short run has learnt is where a larger one begins.

Every unit of the summary path becomes several alike. What reads them shares its weights out among the copies, with
random differences that cancel as long as the copies are alike: so the answers stay, and the copies part as they learn.
"""

from __future__ import annotations

import re
from dataclasses import replace

import torch
from torch import Tensor

from ivicl.errors import InputError
from ivicl.learn.network.config import NetworkConfig

WRITTEN = re.compile(r"summary\.(embed|norm|blocks\.\d+\.(norm|up|down))\.(weight|bias)")
"""Parameters whose first axis is units of the summary path."""
READ = re.compile(r"(summary\.blocks\.\d+\.(up|down)|summary_heads\.\w+|covariates\.(condition|gather))\.weight")
"""Those whose second axis reads such units, all of it or, in `gather`, the last stretch of it."""


def grown(
    weights: dict[str, Tensor], old: NetworkConfig, new: NetworkConfig, generator: torch.Generator
) -> dict[str, Tensor]:
    """The weights of a network with a summary path that is a whole number of times as wide."""
    if new == old:
        return weights
    times, rest = divmod(new.summary_width, old.summary_width)
    if rest or replace(new, summary_width=old.summary_width) != old:
        raise InputError(
            f"A network grows in network.summary_width alone, here to a multiple of {old.summary_width}; "
            "leave the other settings of the network as they are."
        )
    found = {}
    for name, value in weights.items():
        if READ.fullmatch(name):
            start = 2 * old.width if name == "covariates.gather.weight" else 0
            value = torch.cat([value[:, :start], *_shared_out(value[:, start:], times, generator)], 1)
        found[name] = torch.cat([value] * times) if WRITTEN.fullmatch(name) else value
    return found


def _shared_out(weight: Tensor, times: int, generator: torch.Generator) -> list[Tensor]:
    """As many parts that add up to the weight, about as large as each other."""
    noise = torch.randn(times, *weight.shape, generator=generator) * weight.std() / times
    return list(weight / times + noise - noise.mean(0))
