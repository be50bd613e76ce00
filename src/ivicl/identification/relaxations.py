"""The ends when an assumption may fail a little: exclusion or independence for the average effect, defiers for LATE.

Shapes: laws p (..., 2, 2, 2) = P(T=t, Y=y | Z=z); results have the E values of eps on their last axis, (..., E).

*Exclusion*: a person has four outcomes Y(z, t), 64 types in all; for a share of at most eps of people the instrument
itself changes the outcome, Y(0, t) != Y(1, t) for some t. The effect is E[Y(Z, 1) - Y(Z, 0)]. *Independence*: the
sixteen types have one law if Z=0 and another if Z=1, at a total variation distance of at most eps; the effect is that
of both arms together. Both give the same ends. Pair the people of the two arms: a pair for whom the assumption holds
must be of one type, and a pair for whom it fails may be anything that their two cells allow, whichever of the two
assumptions it is.

So the upper end is Manski's without any instrument, with everybody at their best, minus what is lost because some pairs
must be of one type. The least loss is a transport of mass 1 - eps between the cells of the arms; its dual has the
seventeen vertices below, whatever P(Z=1) is. At eps = 0 eight of them matter: Balke and Pearl's.

For an amount the laws are soft (`laws.soft_law`), and eps bounds the mean over people of the largest direct effect
|Y(1, t) - Y(0, t)|, as a share of the outcome's range.
"""

from __future__ import annotations

import numpy as np

from ivicl.identification.estimands import Ends

# Vertices of the dual. Each line has the worth of a unit of mass transported, then the prices of the cells ty = 00, 01,
# 10, 11 of arm 0 and of arm 1; p stands for P(Z=1), q for P(Z=0), and a dot for zero.
_VERTICES = """
.    . . . .         . . . .
p    p . . p         . p p .
p    p . p p         . p . .
p    p p . p         . . p .
q    . . q .         q q . q
q    . q . .         q . q q
q    . q q .         q . . q
1    . 1 . p         1 . 1 1
1    p . 1 .         1 1 . 1
1    p . 1 p         q 1 . q
1    p 1 . p         q . 1 q
1    1 . 1 1         . 1 . q
1    1 1 . 1         q . 1 .
1+p  1+p . 1 1+p     . 1+p p 1
1+p  1+p 1 . 1+p     1 p 1+p .
1+q  . 1+q q 1       1+q . 1 1+q
1+q  1 q 1+q .       1+q 1 . 1+q
"""

BEST = np.array([[1.0, 0.0], [0.0, 1.0]])
"""[t][y]: the largest effect that a person observed in that cell can have."""


def vertices(z_share: float) -> tuple[np.ndarray, np.ndarray]:
    """(17,) worths and (17, 2, 2, 2) prices of the cells [z][t][y], for P(Z=1) = `z_share`."""
    value = {".": 0.0, "1": 1.0, "p": z_share, "q": 1 - z_share, "1+p": 1 + z_share, "1+q": 2 - z_share}
    table = np.array([[value[entry] for entry in line.split()] for line in _VERTICES.strip().splitlines()])
    return table[:, 0], table[:, 1:].reshape(-1, 2, 2, 2)


def relaxed_effect(p: np.ndarray, eps: np.ndarray, z_share: np.ndarray | float) -> Ends:
    """Ends of the average effect if exclusion, or independence, fails for a share of at most eps.

    Args:
        p: possible laws (..., 2, 2, 2); repair others first (`inequalities.nearest_law`).
        eps: (E,) shares from 0 to 1.
        z_share: P(Z=1), one for all laws or one for each.
    """
    p, eps = np.asarray(p, dtype=np.float64), np.atleast_1d(np.asarray(eps, dtype=np.float64))
    # Swapping the outcome's values changes the sign of the effect.
    return -_upper(p[..., ::-1], eps, z_share), _upper(p, eps, z_share)


def _upper(p: np.ndarray, eps: np.ndarray, z_share: np.ndarray | float) -> np.ndarray:
    share = np.asarray(z_share, dtype=np.float64)[..., None]
    # Worths and prices are linear in P(Z=1), so tables at 0 and 1 are enough.
    (worth, prices), (worth_1, prices_1) = vertices(0.0), vertices(1.0)
    worths = worth + share * (worth_1 - worth)
    costs = np.einsum("...zty,kzty->...k", p, prices)
    costs = costs + share * (np.einsum("...zty,kzty->...k", p, prices_1) - costs)
    by_arm = np.einsum("...zty,ty->...z", p, BEST)
    best = by_arm[..., 0] + share[..., 0] * (by_arm[..., 1] - by_arm[..., 0])
    loss = np.max((worths - costs)[..., None, :] - eps[:, None] * worths[..., None, :], axis=-1)
    end: np.ndarray = best[..., None] - loss
    return end


def least_defiers(p: np.ndarray) -> np.ndarray:
    """The smallest share of defiers that laws p allow: zero if p(., 1 | z) rises with z and p(., 0 | z) falls."""
    p = np.asarray(p, dtype=np.float64)
    shared = p.min(axis=-3).sum(axis=-1)  # [t]: the most that can belong to people who take t in both arms
    needed = np.stack([p[..., 0, 1, :].sum(axis=-1) - shared[..., 1], p[..., 1, 0, :].sum(axis=-1) - shared[..., 0]])
    least: np.ndarray = np.maximum(needed.max(axis=0), 0.0)
    return least


def most_defiers(p: np.ndarray) -> np.ndarray:
    """The largest share of defiers that laws p allow: they are treated if Z=0 and not treated if Z=1."""
    most: np.ndarray = np.minimum(p[..., 0, 1, :].sum(axis=-1), p[..., 1, 0, :].sum(axis=-1))
    return most


def relaxed_complier_effect(p: np.ndarray, eps: np.ndarray) -> Ends:
    """Ends of the compliers' effect if at most a share eps of people are defiers, for an instrument that raises T.

    Exclusion and independence hold. Compliers' outcomes are what remains of the cells without always- and never-takers,
    so the total effect over compliers is largest if few always-takers have Y(1)=1 and many never-takers have Y(0)=1.
    For a given share of defiers both are known, and so is the share of compliers. Between two kinks the ratio is
    monotone in the share of defiers, so its largest value lies at a kink or at an end. At eps = 0 it is Wald's ratio; a
    law that needs defiers gets the smallest share that it needs.
    """
    p, eps = np.asarray(p, dtype=np.float64), np.atleast_1d(np.asarray(eps, dtype=np.float64))
    return -_complier_upper(p[..., ::-1], eps), _complier_upper(p, eps)


def _complier_upper(p: np.ndarray, eps: np.ndarray) -> np.ndarray:
    shared = p.min(axis=-3)[..., None]  # (..., t, y, 1)
    treated_if_0, untreated_if_1 = p[..., 0, 1, :].sum(axis=-1)[..., None], p[..., 1, 0, :].sum(axis=-1)[..., None]
    least, most = least_defiers(p)[..., None], most_defiers(p)[..., None]
    allowed = np.maximum(np.minimum(eps, most), least)  # (..., E)
    kinks = (treated_if_0 - shared[..., 1, 0, :], untreated_if_1 - shared[..., 0, 1, :])
    ratios = []
    for share in (least + 0 * allowed, allowed, *(np.clip(kink, least, allowed) for kink in kinks)):
        always = np.maximum(treated_if_0 - share - shared[..., 1, 0, :], 0.0)  # with Y(1) = 1
        never = np.minimum(untreated_if_1 - share, shared[..., 0, 1, :])  # with Y(0) = 1
        total = p[..., 1, 1, 1, None] - always - p[..., 0, 0, 1, None] + never
        compliers = p[..., 1, 1, :].sum(axis=-1)[..., None] - treated_if_0 + share
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios.append(np.where(compliers > 1e-12, total / compliers, 1.0))  # without compliers anything is possible
    best: np.ndarray = np.clip(np.max(ratios, axis=0), -1.0, 1.0)
    return best
