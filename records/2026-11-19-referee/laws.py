"""Laws of the referee's own, with their true sets given the covariates of the people drawn. Nothing of ivicl is used.

Types: 0 never-taker, 1 complier, 2 always-taker, 3 defier. A law gives each person P(Z=1 | x), the shares of the types
and the mean outcome of each type without and with the treatment (scaled to [0, 1]); `outcome` draws an amount with that
mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

TAKES = np.array([[0, 0, 1, 1], [0, 1, 1, 0]])


@dataclass(frozen=True)
class People:
    x: dict[str, np.ndarray]
    e: np.ndarray
    types: np.ndarray
    means: np.ndarray

    def truth(self) -> dict[str, tuple[float, float]]:
        """The ends that the means allow, averaged over these people; ITT and LATE are numbers."""
        n = len(self.e)
        shown = np.zeros((n, 2, 2, 2))  # [z][t][mass, mean mass]
        for z in (0, 1):
            for k in range(4):
                t = TAKES[z, k]
                shown[:, z, t, 0] += self.types[:, k]
                shown[:, z, t, 1] += self.types[:, k] * self.means[:, k, t]
        one, none = shown[..., 1], shown[..., 0] - shown[..., 1]  # (n, z, t)
        soft = np.stack([none, one], -1)  # (n, z, t, y)
        shared = soft.min(1)  # (n, t, y)
        balance = soft[:, 0, 0].sum(-1) - soft[:, 1, 1].sum(-1)
        always = np.maximum(np.minimum(shared[:, 1].sum(-1), shared[:, 0].sum(-1) - balance), 0)
        never = np.maximum(always + balance, 0)
        seen = soft.sum(1)[..., 1]
        low, high = np.zeros((n, 2)), np.zeros((n, 2))
        for t, twice, unseen in ((1, always, never), (0, never, always)):
            low[:, t] = seen[:, t] - np.minimum(twice, shared[:, t, 1])
            high[:, t] = seen[:, t] - np.maximum(twice - shared[:, t, 0], 0) + unseen
        (l0, l1), (u0, u1) = low.mean(0), high.mean(0)
        y = ((1 - self.e) * one[:, 0].sum(-1) + self.e * one[:, 1].sum(-1)).mean()
        yt = ((1 - self.e) * one[:, 0, 1] + self.e * one[:, 1, 1]).mean()
        p = ((1 - self.e) * shown[:, 0, 1, 0] + self.e * shown[:, 1, 1, 0]).mean()
        itt = (one[:, 1].sum(-1) - one[:, 0].sum(-1)).mean()
        first = (shown[:, 1, 1, 0] - shown[:, 0, 1, 0]).mean()
        without = (l0 - (y - yt), u0 - (y - yt))
        found = {"ATE": (l1 - u0, u1 - l0), "EY1": (l1, u1), "EY0": (l0, u0), "ITT": (itt, itt)}
        found["ATT"] = ((y - u0) / p, (y - l0) / p)
        found["ATU"] = ((l1 - y) / (1 - p), (u1 - y) / (1 - p))
        found["RR"] = (l1 / u0, u1 / l0 if l0 > 1e-9 else np.inf)
        found["LIFT"] = (yt / without[1] - 1, yt / without[0] - 1 if without[0] > 1e-9 else np.inf)
        found["LATE"] = (itt / first, itt / first)
        return found

    def draw(self, rng: np.random.Generator, outcome: Callable | None):
        z = (rng.random(len(self.e)) < self.e).astype(int)
        kind = (self.types.cumsum(1) < rng.random(len(z))[:, None]).sum(1).clip(0, 3)
        t = TAKES[z, kind]
        mean = self.means[np.arange(len(z)), kind, t]
        y = (rng.random(len(z)) < mean).astype(float) if outcome is None else outcome(rng, mean)
        return z, t, y


def expit(v: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-v))


def shares(*logits: np.ndarray) -> np.ndarray:
    e = np.exp(np.stack(np.broadcast_arrays(*logits), -1))
    return e / e.sum(-1, keepdims=True)


def same(n: int, e: float, types: list[float], means: list[list[float]], x: dict | None = None) -> People:
    return People(x or {}, np.full(n, e), np.tile(types, (n, 1)), np.tile(means, (n, 1, 1)))


# Without covariates
def plain(rng, n):
    return same(n, 0.5, [0.3, 0.5, 0.2, 0.0], [[0.5, 0.7], [0.3, 0.55], [0.4, 0.6], [0.5, 0.5]])


def rare_outcome(rng, n):
    return same(n, 0.5, [0.35, 0.6, 0.05, 0.0], [[0.012, 0.01], [0.01, 0.004], [0.02, 0.015], [0, 0]])


def rare_treatment(rng, n):
    return same(n, 0.5, [0.965, 0.03, 0.005, 0.0], [[0.3, 0.4], [0.4, 0.7], [0.5, 0.6], [0, 0]])


def unbalanced(rng, n):
    return same(n, 0.05, [0.3, 0.6, 0.1, 0.0], [[0.4, 0.4], [0.3, 0.5], [0.6, 0.7], [0, 0]])


def nearly_one_sided(rng, n):
    return same(n, 0.5, [0.39, 0.6, 0.01, 0.0], [[0.5, 0.5], [0.4, 0.6], [0.9, 0.9], [0, 0]])


def ties(rng, n):
    """Every type equally likely, outcomes at one half: several of Balke and Pearl's terms tie."""
    return same(n, 0.5, [0.25, 0.25, 0.25, 0.25], [[0.5, 0.5]] * 4)


def defiant(rng, n):
    """Defiers, and outcomes that are certain: terms 5 to 8 bind."""
    return same(n, 0.4, [0.1, 0.5, 0.1, 0.3], [[0.0, 0.5], [1.0, 0.0], [0.5, 1.0], [1.0, 1.0]])


# With covariates
def _normal(rng, n, d):
    x = rng.normal(size=(n, d))
    return x, {f"x{j}": x[:, j] for j in range(d)}


def _means(base, effect, tilt=0.4):
    lift = tilt * np.array([-1.0, 0.0, 1.0, 0.0])
    logits = base[:, None, None] + lift[:, None] + np.stack([0 * base, effect + 0 * base], 1)[:, None, :]
    return expit(logits)


def confounded(rng, n):
    x, named = _normal(rng, n, 5)
    e = expit(0.8 * x[:, 0] - 0.6 * x[:, 1])
    return People(
        named,
        e,
        shares(-0.3 + 0.5 * x[:, 0], 0.6, -0.8 - 0.6 * x[:, 2], -40.0),
        _means(0.9 * x[:, 0] + 0.5 * x[:, 3], 0.7 - 0.3 * x[:, 1]),
    )


def noise_30(rng, n):
    _, named = _normal(rng, n, 30)
    return People(
        named,
        np.full(n, 0.5),
        np.tile([0.3, 0.5, 0.2, 0.0], (n, 1)),
        np.tile([[0.5, 0.7], [0.3, 0.55], [0.4, 0.6], [0, 0]], (n, 1, 1)),
    )


def many_levels(rng, n):
    """A category with 15 levels, whose chance of Z, compliance and outcome are independent draws for each level."""
    level = rng.integers(0, 15, n)
    e, a, b, c = rng.uniform(0.2, 0.8, 15), rng.normal(0, 0.8, 15), rng.normal(0, 1, 15), rng.normal(0.5, 0.7, 15)
    named = {"site": np.array([f"s{k:02d}" for k in range(15)])[level]}
    return People(named, e[level], shares(a[level], 0.5, a[level] - 1.5, -40.0), _means(b[level], c[level]))


def poor_overlap(rng, n):
    """A covariate nearly collinear with Z, which also moves the outcome."""
    x, named = _normal(rng, n, 3)
    return People(
        named,
        np.clip(expit(2.5 * x[:, 0]), 0.01, 0.99),
        shares(-0.2, 0.6, -1.0, -40.0) * np.ones((n, 1)),
        _means(0.8 * x[:, 0], 0.5),
    )


def heavy_tails(rng, n):
    x = rng.standard_t(1.5, size=(n, 4))
    u = x / (1 + np.abs(x))
    named = {f"x{j}": x[:, j] for j in range(4)}
    return People(
        named, expit(1.2 * u[:, 0]), shares(u[:, 1], 0.8, -1.0 - u[:, 1], -40.0), _means(2 * u[:, 0], 0.8 * u[:, 2])
    )


def defiers_by_region(rng, n):
    x, named = _normal(rng, n, 3)
    flip = (x[:, 0] > 0.3)[:, None]
    types = np.where(flip, [[0.3, 0.1, 0.2, 0.4]], [[0.2, 0.6, 0.2, 0.0]])
    return People(named, expit(0.5 * x[:, 1]), types, _means(0.7 * x[:, 1], 0.9))


def checkerboard(rng, n):
    """P(Z=1) and the outcome both turn with the sign of x0 x1: what the alarm is for."""
    x, named = _normal(rng, n, 3)
    s = np.sign(x[:, 0] * x[:, 1])
    return People(named, expit(0.9 * s), shares(-0.2, 0.6, -1.0, -40.0) * np.ones((n, 1)), _means(1.1 * s, 0.5))


def lottery(rng, n):
    """Z by lot; five covariates of which two matter, with a threshold and an interaction."""
    x, named = _normal(rng, n, 5)
    base = np.where(x[:, 0] > 0.5, 1.2, -0.8) + 0.6 * x[:, 1] * (x[:, 0] > 0)
    return People(named, np.full(n, 0.5), shares(-0.5 + x[:, 1], 0.5, -0.6 - x[:, 1], -40.0), _means(base, 0.6))


# Outcomes that are amounts, scaled to [0, 1]; each has the mean that is asked for
_W = np.random.default_rng(0).lognormal(0, 1, 4_000_000).clip(0, 25)
W_MEAN = float(_W.mean())


def earnings(rng, mean):
    """Zeros, and a log-normal rest cut at 25: mean / 1 is the share that earns, so the mean is share * E[W] / 25."""
    share = mean * 25 / W_MEAN
    assert share.max() <= 1
    return (rng.random(len(mean)) < share) * rng.lognormal(0, 1, len(mean)).clip(0, 25) / 25


def scale_5(rng, mean):
    return rng.binomial(4, mean) / 4


def tally(rng, mean):
    """Counts up to 40."""
    return rng.poisson(40 * mean).clip(0, 40) / 40


def narrow(rng, mean):
    return rng.beta(60 * mean, 60 * (1 - mean))


def low_means(law, factor):
    def drawn(rng, n):
        people = law(rng, n)
        return People(people.x, people.e, people.types, people.means * factor)

    return drawn
