"""A trained network made wider, with the same answers, so that a larger network starts from what a small one learnt.

Every unit of the summary path is copied. Whatever reads the unit divides its weights among the copies, with random
differences that cancel as long as the copies are equal: so the answers stay the same, and the copies diverge as they
learn.
"""

from __future__ import annotations

import re
from dataclasses import replace

import torch
from torch import Tensor

from ivicl.errors import InputError
from ivicl.learn.network.config import NetworkConfig

WRITTEN = re.compile(r"summary\.(embed|norm|blocks\.\d+\.(norm|up|down))\.(weight|bias)")
"""Parameters whose first axis runs over units of the summary path."""
READ = re.compile(r"(summary\.blocks\.\d+\.(up|down)|summary_heads\.\w+|covariates\.(condition|gather))\.weight")
"""Parameters whose second axis reads such units: all of it or, in `gather`, the last part of it."""


def grown(
    weights: dict[str, Tensor], old: NetworkConfig, new: NetworkConfig, generator: torch.Generator
) -> dict[str, Tensor]:
    """The weights of a network whose summary path is a whole number of times as wide."""
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
    """`times` parts of about equal size that add up to the weight."""
    noise = torch.randn(times, *weight.shape, generator=generator) * weight.std() / times
    return list(weight / times + noise - noise.mean(0))
