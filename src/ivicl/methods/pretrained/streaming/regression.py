"""The regression layer of `learn.network.regression` in passes over chunks: sums, fits, and then what each row gets.

P kept covariates, F hinges, C candidates, n rows of a chunk. Both arms' laws of a row are (n,2,4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ivicl.methods.pretrained.streaming import constants
from ivicl.methods.pretrained.streaming.arms import Arm, Fit, Sums, inverse, to_simplex, without_self
from ivicl.methods.pretrained.streaming.grown import GrownTree
from ivicl.methods.pretrained.streaming.layers import softmax
from ivicl.methods.pretrained.streaming.logistic import Logistic
from ivicl.methods.pretrained.streaming.mixture import Likelihoods
from ivicl.methods.pretrained.streaming.propensity import Propensity, Steps, features_of, sums_of
from ivicl.methods.pretrained.streaming.source import Chunk, Recoded
from ivicl.methods.pretrained.streaming.trees import Forest, below
from ivicl.methods.pretrained.streaming.weights import Weights

_NAME = "covariates.regression"


class Shape(NamedTuple):
    """What the network's config says of the layer."""

    columns: int
    features: int
    tree_depth: int
    pseudo_count: float


@dataclass(frozen=True)
class Regressed:
    """What the layer knows of a chunk's rows."""

    features: np.ndarray
    """(n,outputs) float32 for the network; the law and the propensity are among them."""

    @property
    def log_law(self) -> np.ndarray:
        """(n,2,4)."""
        here = self.features[:, constants.DIRECTIONS : constants.DIRECTIONS + 8]
        return here.astype(np.float64).reshape(-1, 2, 4)

    @property
    def propensity(self) -> np.ndarray:
        """(n,)."""
        return self.features[:, -2].astype(np.float64)


class Regression:
    """Fitted when made; `features` then gives each chunk its part."""

    def __init__(self, rows: Recoded, weights: Weights, shape: Shape) -> None:
        self._shape, columns = shape, rows.columns
        self.columns = shape.columns
        plain, cut = _both(columns), np.zeros((min(columns, constants.STRONGEST), len(constants.CUTS)))
        assigned = [Sums.none(features_of(np.zeros((0, columns))).shape[1], 1) for _ in range(2)]
        for chunk, (sums, shares, alike) in rows.sweep(
            lambda chunk: (_sums(chunk, chunk.wide), below(chunk), sums_of(chunk))
        ):
            plain[chunk.z].add(sums, _classes(chunk))
            assigned[chunk.z].add(alike)
            cut += shares
        self.plain = [Arm(sums, shape.pseudo_count, shape.columns) for sums in plain]
        self.propensity = Propensity(assigned, columns, shape.columns)
        stiff = [[arm.solver(np.exp(penalty)) for penalty in constants.LINEAR] for arm in self.plain]
        self._set_hinges(stiff, plain, weights)
        self.forest = Forest(
            weights.wide(f"{_NAME}.trees.choice"), weights.wide(f"{_NAME}.trees.quantile"), shape.tree_depth,
            cut / rows.source.total, rows.score, shape.columns,
        )  # fmt: skip
        bent = _both(shape.features)
        for chunk, (sums, leaves) in rows.sweep(
            lambda chunk: (_sums(chunk, self._hinges(chunk.wide)), self.forest.sums(chunk))
        ):
            bent[chunk.z].add(sums, _classes(chunk))
            self.forest.held[:, :, chunk.z, chunk.t] += leaves
        mean = np.stack([arm.mean for arm in self.plain])
        self.forest.grow(mean)
        self.grown = GrownTree(rows, shape.columns, mean)
        self.bent = [Arm(sums, shape.pseudo_count, shape.features) for sums in bent]
        self._linear = [
            [*(arm.ridge(solver) for solver in solvers), _sparse(arm, solvers[0])]
            for arm, solvers in zip(self.plain, stiff, strict=True)
        ]
        self._bent = [[arm.ridge(arm.solver(np.exp(penalty))) for penalty in constants.HINGES] for arm in self.bent]
        self._fit_logistic(rows, bent)
        self._mix(rows)

    def _set_hinges(self, stiff: list[list[np.ndarray]], arms: list[Sums], weights: Weights) -> None:
        """Directions that a linear fit finds, standardised, and hinges of x and of them: affine functions of x."""
        slope = np.concatenate([solvers[1] @ arm.moment for arm, solvers in zip(self.plain, stiff, strict=True)], 1)
        total = max(sum(arm.size for arm in arms), 1e-6)
        centre = (arms[0].features + arms[1].features) / total
        covariance = (arms[0].squares + arms[1].squares) / total - np.outer(centre, centre)
        variance = np.einsum("pk,pq,qk->k", slope, covariance, slope)
        self._direction = slope / np.sqrt(np.maximum(variance, 0) + 1e-6)
        self._direction_level = -centre @ self._direction
        weight, bias = weights.wide(f"{_NAME}.weight"), weights.wide(f"{_NAME}.bias")
        of_x, of_directions = weight[: len(slope)], weight[self._shape.columns :]
        self._hinge = of_x + self._direction @ of_directions
        self._hinge_level = bias + self._direction_level @ of_directions

    def _hinges(self, x: np.ndarray) -> np.ndarray:
        found = x @ self._hinge
        found += self._hinge_level
        answer: np.ndarray = np.maximum(found, 0, out=found)
        return answer

    def _fit_logistic(self, rows: Recoded, bent: list[Sums]) -> None:
        self.logistic = [Logistic(arm, sums) for arm, sums in zip(self.bent, bent, strict=True)]

        def gradients(chunk: Chunk) -> tuple[tuple[np.ndarray, np.ndarray], Steps]:
            x = chunk.wide
            law = self.logistic[chunk.z].gradient(self._hinges(x), chunk.w, chunk.seen, _classes(chunk))
            return law, self.propensity.gradients(chunk, x)

        def curvatures(chunk: Chunk) -> tuple[tuple[float, np.ndarray], list[tuple[float, np.ndarray]], np.ndarray]:
            x = chunk.wide
            law = self.logistic[chunk.z].curvature(self._hinges(x), chunk.w)
            return law, self.propensity.curvatures(chunk, x), self.forest.log_likelihood(chunk)

        for _ in range(constants.LOGISTIC_STEPS - 1):
            for chunk, (law, chance) in rows.sweep(gradients):
                self.logistic[chunk.z].add(law)
                self.propensity.add(chance)
            for fit in self.logistic:
                fit.step()
            self.propensity.step()
        log_likelihood = np.zeros(self.forest.trees)
        for chunk, (curvature, others, trees) in rows.sweep(curvatures):
            self.logistic[chunk.z].add_curvature(curvature)
            self.propensity.add_curvatures(others)
            log_likelihood += trees
        for fit in self.logistic:
            fit.settle()
        self.propensity.settle(rows)
        self.forest.choose(log_likelihood)

    def _mix(self, rows: Recoded) -> None:
        """Weights of the candidates in each arm, and of the propensity's."""
        worth = np.exp(-np.array(constants.COSTS) / rows.source.total)
        arms = [Likelihoods(worth, 2 * size) for size in rows.arms]

        def likely(chunk: Chunk) -> tuple[np.ndarray, np.ndarray]:
            x = chunk.wide
            own = self._stack(chunk, x, self._hinges(x))[0][:, chunk.z, :, _classes(chunk)]  # (n,C,2)
            return own.transpose(0, 2, 1).astype(np.float32), self.propensity.likely(chunk, x)

        for chunk, (law, chance) in rows.sweep(likely):
            arms[chunk.z].add(chunk.people, law)
            self.propensity.add_likely(chunk, chance)
        self.shares = np.stack([arm.shares() for arm in arms])
        """(2,C)."""
        self.propensity.mix()

    def _stack(self, chunk: Chunk, x: np.ndarray, hinges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All candidates (n,2,C,4), leave-one-out in the own arm; and leverages (n,2) of the last ridge."""
        n, z = len(x), chunk.z
        stack = np.empty((n, 2, constants.CANDIDATES, 4))
        outcome = np.zeros((n, 4))
        outcome[:, _classes(chunk)] = chunk.seen
        for arm in (0, 1):
            stack[:, arm, 0] = self.plain[arm].mean
        for features, places, slope, level in self._maps(x, hinges):
            stack[:, :, places] = (features @ slope + level).reshape(n, 2, -1, 4)
        stack[:, z, 0] = without_self(stack[:, z, 0], self.plain[z].mean_leverage, outcome)
        fits = [(x, fit) for fit in self._linear[z]] + [(hinges, fit) for fit in self._bent[z]]
        leverages = np.empty((n, 2))
        for place, (features, fit) in enumerate(fits, 1):
            leverages[:, z] = fit.weighing(features)
            stack[:, z, place] = without_self(stack[:, z, place], leverages[:, z], outcome)
        leverages[:, 1 - z] = self._bent[1 - z][-1].weighing(hinges)
        forest = constants.FOREST
        logit = forest - 1
        stack[:, z, logit] = self.logistic[z].without_self(stack[:, z, logit], hinges, outcome)
        stack[:, :, logit] = softmax(stack[:, :, logit])
        for place, law in enumerate((*self.forest.laws(chunk), *self.grown.laws(chunk)), forest):
            stack[:, :, place] = law
        return to_simplex(stack), leverages

    def _maps(self, x: np.ndarray, hinges: np.ndarray) -> list[tuple[np.ndarray, slice, np.ndarray, np.ndarray]]:
        """Features, the candidates that are linear in them, and the slopes and levels of all these, of both arms."""
        bent = [
            [*((fit.slope, fit.level) for fit in fits), logistic.fit]
            for fits, logistic in zip(self._bent, self.logistic, strict=True)
        ]
        linear = [[(fit.slope, fit.level) for fit in fits] for fits in self._linear]
        first = 1 + len(linear[0])
        found = []
        for features, places, fits in ((x, slice(1, first), linear), (hinges, slice(first, constants.FOREST), bent)):
            slopes, levels = zip(*(fit for of_arm in fits for fit in of_arm), strict=True)
            found.append((features, places, np.concatenate(slopes, 1), np.concatenate(levels)))
        return found

    def features(self, chunk: Chunk) -> np.ndarray:
        """Those of `Regressed`."""
        x = chunk.wide
        hinges = self._hinges(x)
        stack, leverages = self._stack(chunk, x, hinges)
        law = np.einsum("naci,ac->nai", stack, self.shares)
        chance = self.propensity(chunk, x)
        parts = [
            x @ self._direction + self._direction_level, np.log(law), stack[:, :, 4],
            np.log(stack[:, :, constants.FOREST - 1]), stack[:, :, constants.FOREST + 1],
            np.minimum(leverages, 1), chance, np.log(chance / (1 - chance)),
        ]  # fmt: skip
        return np.concatenate([part.reshape(len(x), -1) for part in parts], 1, dtype=np.float32, casting="same_kind")


def _both(features: int) -> list[Sums]:
    """Of either arm: nothing yet."""
    return [Sums.none(features, 4) for _ in range(2)]


def _classes(chunk: Chunk) -> slice:
    """The chunk's outcomes among the cells of (t, y)."""
    return slice(2 * chunk.t, 2 * chunk.t + 2)


def _sums(chunk: Chunk, features: np.ndarray) -> Sums:
    return Sums.of(features, chunk.seen, chunk.w)


def _sparse(arm: Arm, solver: np.ndarray) -> Fit:
    """Ridge whose penalties follow the size of the last fit's coefficients: what is small is pushed to zero."""
    slope = solver @ arm.moment
    for _ in range(constants.SPARSE_ROUNDS):
        size = np.sqrt((slope**2).sum(1))
        scale = np.outer(size, size) / max(float(size.max()), 1e-12) ** 2
        solver = inverse(arm.gram * scale, np.exp(constants.SPARSE) + arm.floor) * scale
        slope = solver @ arm.moment
    return arm.ridge(solver)
