"""Ends of E Y(1) and E Y(0) at a law [z][t][y] under other assumptions than Balke and Pearl's.

The laws (..., 2, 2, 2) are of a 0/1 outcome, or the soft laws of an amount scaled to [0, 1]; every formula here needs
means only. `share_z1` is P(Z=1), of the laws' leading shape.
"""

from __future__ import annotations

import numpy as np

from ivicl.identification.amounts import MeanEnds, mean_ends
from ivicl.identification.inequalities import nearest_law

BINARY = np.array([0.0, 1.0])

EndsAtLaw = tuple[MeanEnds, np.ndarray]
"""The ends, and the laws at which they hold: the laws given, or those that they were moved to."""


def without_instrument(law: np.ndarray, share_z1: np.ndarray) -> EndsAtLaw:
    """Manski's natural ends: whoever did not take t could have had any outcome in the range."""
    e = np.asarray(share_z1)[..., None, None]
    seen = (1 - e) * law[..., 0, :, :] + e * law[..., 1, :, :]
    taken = seen.sum(axis=-1)
    ones = seen[..., 1]
    return MeanEnds(ones[..., 1], ones[..., 1] + taken[..., 0], ones[..., 0], ones[..., 0] + taken[..., 1]), law


def mean_independent(law: np.ndarray, share_z1: np.ndarray) -> EndsAtLaw:
    """Manski's ends if both arms have the same mean potential outcomes; if the arms contradict it, the gap's middle."""
    least, most = _by_arm(law)
    middle = (least + most) / 2
    crossed = least > most
    least, most = np.where(crossed, middle, least), np.where(crossed, middle, most)
    return MeanEnds(least[..., 1], most[..., 1], least[..., 0], most[..., 0]), law


def _by_arm(law: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(..., 2) by t: the largest lower and the smallest upper end of E Y(t) over the arms, which share this mean."""
    return law[..., 1].max(axis=-2), (law[..., 1] + 1 - law.sum(axis=-1)).min(axis=-2)


def sharp(law: np.ndarray, share_z1: np.ndarray) -> EndsAtLaw:
    """Balke and Pearl's ends. A law that is impossible with a valid instrument is moved to the nearest possible one."""
    e = np.asarray(share_z1)[..., None, None, None]
    people = np.concatenate([1 - e, e], axis=-3)
    possible = nearest_law(law * people)
    return mean_ends(possible, BINARY), possible


def without_defiers(law: np.ndarray, share_z1: np.ndarray) -> EndsAtLaw:
    """The ends if nobody moves against the instrument's direction, which is read off the law.

    With Z coded to raise T, everybody but never-takers shows Y(1) at Z=1, and everybody but always-takers Y(0) at Z=0.
    """
    taken = law[..., 1, :].sum(axis=-1)
    lowers = taken[..., 1] < taken[..., 0]
    coded = np.where(lowers[..., None, None, None], law[..., ::-1, :, :], law)
    least_1, least_0 = coded[..., 1, 1, 1], coded[..., 0, 0, 1]
    never, always = coded[..., 1, 0, :].sum(axis=-1), coded[..., 0, 1, :].sum(axis=-1)
    return MeanEnds(least_1, least_1 + never, least_0, least_0 + always), law
