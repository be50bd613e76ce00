"""The exact posterior of small tables without any Markov chain: enumerate who could be behind each count.

Given which strata the people belong to, the posterior is a Dirichlet; over all assignments it is a finite mixture.
It works on the 16 strata themselves, so that it shares nothing with the twelve cells of the sampler.
"""

from __future__ import annotations

from functools import lru_cache
from math import factorial, prod

import numpy as np
from scipy.special import gammaln

STRATA = np.arange(16)
TAKES = np.stack([STRATA >> 3 & 1, STRATA >> 2 & 1])
OUTCOME = np.stack([STRATA >> 1 & 1, STRATA & 1])
EFFECT = (OUTCOME[1] - OUTCOME[0]).astype(float)


def compatible(z: int, t: int, y: int) -> np.ndarray:
    """The four strata that show (t, y) in arm z."""
    return np.flatnonzero((TAKES[z] == t) & (OUTCOME[t] == y))


def compositions(n: int, parts: int) -> list[tuple[int, ...]]:
    if parts == 1:
        return [(n,)]
    return [(first, *rest) for first in range(n + 1) for rest in compositions(n - first, parts - 1)]


@lru_cache(maxsize=16)
def _mixture(flat: tuple[int, ...], gamma: float) -> tuple[np.ndarray, np.ndarray]:
    counts = np.array(flat).reshape(2, 2, 2)
    states = {(0,) * 16: 1.0}
    for (z, t, y), n in np.ndenumerate(counts):
        a, b, c, d = compatible(z, t, y)
        splits = [(s, factorial(n) / prod(factorial(m) for m in s)) for s in compositions(int(n), 4)]
        merged: dict[tuple[int, ...], float] = {}
        for state, ways in states.items():
            for split, more in splits:
                new = list(state)
                new[a] += split[0]
                new[b] += split[1]
                new[c] += split[2]
                new[d] += split[3]
                key = tuple(new)
                merged[key] = merged.get(key, 0.0) + ways * more
        states = merged
    latent = np.array(list(states))
    log_weight = np.log(list(states.values())) + gammaln(gamma + latent).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    return latent, weight / weight.sum()


def mixture(counts: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Latent counts (M, 16) and posterior weights (M,) of all assignments of the people to strata."""
    return _mixture(tuple(int(n) for n in counts.ravel()), gamma)


def draws(counts: np.ndarray, gamma: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, 16) independent draws of the strata's probabilities from the posterior."""
    latent, weight = mixture(counts, gamma)
    chosen = latent[rng.choice(len(weight), n, p=weight)]
    gammas = rng.standard_gamma(gamma + chosen)
    return gammas / gammas.sum(axis=1, keepdims=True)
