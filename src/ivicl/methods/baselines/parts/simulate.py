"""Laws of (X, Z, T, Y) whose p(y, t | z, x), propensity and bounds are known, to check the estimators on.

X = (x1, x2), x1 a fair coin, x2 uniform on [-1, 1]. In each arm log p of the four (t, y) cells is linear in x2 for
each x1, so that a multinomial logistic regression on x can be right, and a learner's error is not mistaken for the
estimator's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from ivicl.data import IVData
from ivicl.identification.balke_pearl import sharp_ends, terms


@dataclass(frozen=True)
class Law:
    """One law with everything known about it."""

    name: str
    base: np.ndarray
    """(2, 2, 4) indexed [x1][z][2 t + y]: the law of (T, Y) given Z at x2 = 0."""
    slope: np.ndarray
    """(2, 4) indexed [z][2 t + y]: slopes of the log probabilities in x2."""
    propensity: tuple[float, float, float]
    """Intercept and the two slopes of the logit of P(Z=1 | x)."""

    def p(self, x: np.ndarray) -> np.ndarray:
        """(n, 2, 2, 2) indexed [z][t][y]."""
        logits = np.log(self.base)[x[:, 0].astype(int)] + self.slope * x[:, 1, None, None]
        law: np.ndarray = softmax(logits, axis=-1)
        return law.reshape(-1, 2, 2, 2)

    def e(self, x: np.ndarray) -> np.ndarray:
        a, b, c = self.propensity
        share: np.ndarray = expit(a + b * x[:, 0] + c * x[:, 1])
        return share

    def draw(self, n: int, rng: np.random.Generator) -> IVData:
        x = np.column_stack([rng.integers(0, 2, n), rng.uniform(-1, 1, n)]).astype(float)
        z = (rng.random(n) < self.e(x)).astype(int)
        cumulated = self.p(x)[np.arange(n), z].reshape(n, 4).cumsum(1)
        cell = np.minimum((rng.random((n, 1)) > cumulated).sum(1), 3)
        return IVData.from_arrays(z=z, t=cell // 2, y=cell % 2, x=x, outcome_range=(0, 1))

    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        """Points (m, 2) and weights (m,) to integrate over X: by the midpoint rule, because the bounds have kinks."""
        m = 4000
        x2 = (np.arange(m) + 0.5) / m * 2 - 1
        x = np.concatenate([np.column_stack([np.full(m, x1), x2]) for x1 in (0.0, 1.0)])
        return x, np.full(2 * m, 0.5 / m)

    def true_ends(self) -> tuple[float, float]:
        """E L(X) and E U(X)."""
        x, weight = self.grid()
        lower, upper = sharp_ends(self.p(x))
        return float(weight @ lower), float(weight @ upper)

    def margins(self) -> np.ndarray:
        """(m, 2): best minus second-best term of the lower and of the upper bound on the grid."""
        lower, upper = terms(self.p(self.grid()[0]))
        ordered = [np.sort(lower, axis=1), np.sort(-upper, axis=1)]
        return np.column_stack([v[:, -1] - v[:, -2] for v in ordered])


_RAISES = [[0.68, 0.20, 0.05, 0.07], [0.05, 0.06, 0.18, 0.71]]
_LOWERS = [[0.07, 0.05, 0.66, 0.22], [0.24, 0.65, 0.06, 0.05]]
_MILD = [[0.0, 0.15, -0.1, 0.1], [0.1, -0.1, 0.0, 0.2]]

MARGIN = Law("margin", np.array([_RAISES, _RAISES]), np.array(_MILD), (0.2, -0.4, 0.5))
"""The same term is largest everywhere."""
SWITCH = Law("switch", np.array([_RAISES, _LOWERS]), np.array(_MILD), (-0.2, 0.5, 0.4))
"""The instrument raises the treatment at x1 = 0 and lowers it at x1 = 1: the largest term depends on x."""
CROSSING = Law(
    "crossing",
    np.array([_RAISES, [[0.30, 0.25, 0.20, 0.25]] * 2]),
    np.array([[0.8, 0.4, -0.6, -0.6], [-0.8, -0.2, 0.5, 0.5]]),
    (0.0, 0.3, 0.3),
)
"""At x1 = 1 the largest term changes where x2 passes zero: the gap has positive density at zero."""
IRRELEVANT = Law(
    "irrelevant",
    np.array([[[0.35, 0.25, 0.15, 0.25]] * 2, [[0.2, 0.3, 0.3, 0.2]] * 2]),
    np.array([[0.3, -0.2, 0.2, -0.3]] * 2),
    (0.0, 0.3, 0.3),
)
"""The instrument does nothing, so four terms tie at every x: no margin anywhere."""

WITH_MARGIN = (MARGIN, SWITCH)
WITHOUT_MARGIN = (CROSSING, IRRELEVANT)


class NewtonLogistic(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Multinomial logistic regression by a few Newton steps: right for these laws, and ten times faster than L-BFGS.

    Thousands of fits are needed to measure coverage; the ridge is only there to keep the steps finite.
    """

    def __init__(self, ridge: float = 0.1, steps: int = 8) -> None:
        self.ridge = ridge
        self.steps = steps

    def fit(self, x: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> NewtonLogistic:
        self.classes_, label = np.unique(y, return_inverse=True)
        design = self._design(x)
        weight = np.ones(len(x)) if sample_weight is None else sample_weight
        n_columns, k = design.shape[1], len(self.classes_) - 1
        one_hot = np.eye(k + 1)[label][:, :k]
        beta = np.zeros((k, n_columns))
        for _ in range(self.steps):
            p = self._probabilities(design, beta)[:, :k]
            gradient = (weight[:, None] * (one_hot - p)).T @ design - self.ridge * beta
            blocks = weight[:, None, None] * (p[:, :, None] * (np.eye(k) - p[:, None, :]))
            hessian = np.einsum("nij,na,nb->iajb", blocks, design, design, optimize=True).reshape(k * n_columns, -1)
            step = np.linalg.solve(hessian + self.ridge * np.eye(len(hessian)), gradient.ravel())
            beta = beta + step.reshape(beta.shape)
        self.coefficients_ = beta
        return self

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return self._probabilities(self._design(x), self.coefficients_)

    @staticmethod
    def _design(x: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(x)), x])

    @staticmethod
    def _probabilities(design: np.ndarray, beta: np.ndarray) -> np.ndarray:
        logits = np.column_stack([design @ beta.T, np.zeros(len(design))])
        probabilities: np.ndarray = softmax(logits, axis=1)
        return probabilities
