"""What recoding t, y and z does to the quantities of graph schema 2: which becomes which, and whether it is mirrored.

A flip of y turns a mean m into 1 - m and an effect into its negative, and swaps ends. A flip of t swaps E Y(1) and
E Y(0), turns ATT into -ATU, and negates the other effects. A flip of z changes nothing.
"""

from __future__ import annotations

import numpy as np

from ivicl.methods.pretrained.schema_2 import QUANTITIES
from ivicl.methods.pretrained.streaming.constants import CODINGS


def _rules(flip_t: int, flip_y: int) -> tuple[list[int], list[float], list[float]]:
    """For each quantity in the caller's coding: which canonical quantity it comes from, its sign, and its offset."""
    source, sign, offset = [], [], []
    for pair, kind in enumerate(("effect", "mean", "mean", "effect", "effect")):
        partner = {1: 2, 2: 1, 3: 4, 4: 3}.get(pair, pair) if flip_t else pair
        mirrored = flip_y if kind == "mean" else flip_t ^ flip_y
        for end in (0, 1):
            source.append(2 * partner + (1 - end if mirrored else end))
            sign.append(-1.0 if mirrored else 1.0)
            offset.append(1.0 if mirrored and kind == "mean" else 0.0)
    mirrored = flip_t ^ flip_y
    return [*source, len(QUANTITIES) - 1], [*sign, -1.0 if mirrored else 1.0], [*offset, 0.0]


_TABLE = [_rules(flip_t, flip_y) for flip_t, flip_y, _ in CODINGS]
SOURCE = np.array([rule[0] for rule in _TABLE])
"""(8,Q), one row for each of CODINGS."""
SIGN = np.array([rule[1] for rule in _TABLE])
OFFSET = np.array([rule[2] for rule in _TABLE])
