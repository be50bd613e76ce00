"""The instrument's effects on outcome and treatment, and what follows from the two: ITT, LATE, and their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ivicl.data import IVData
from ivicl.identification.law_posterior import CellMoments
from ivicl.methods.design.variance import critical_value, mean_variance
from ivicl.methods.estimand_bounds import EstimandBounds

OF_ITT = ("exchangeable", "no-interference", "large-sample")
OF_LATE = ("exchangeable", "exclusion", "no-interference", "no-defiers", "large-sample")


@dataclass(frozen=True)
class ArmEffects:
    """Differences between the arms with their covariance, for an outcome scaled to [0, 1]."""

    outcome: float
    """Difference in the mean outcome: the intention-to-treat effect."""
    treatment: float
    """Difference in the share treated: the first stage."""
    var_outcome: float
    var_treatment: float
    covariance: float
    adjusted: bool = False
    """Standardised over the covariates."""
    degrees: float = math.inf
    """Degrees of freedom of the variances, if these are estimated from few clusters."""

    @classmethod
    def of(cls, data: IVData) -> ArmEffects:
        """The plain differences in means, with the variances of two independent samples, or those of the design."""
        if data.design is not None:
            return cls._under_design(data)
        return cls.of_moments(CellMoments.of(data.z, data.t, data.y01, data.w, data.binary, data.v))

    @classmethod
    def _under_design(cls, data: IVData) -> ArmEffects:
        mass, seen = data.mass, np.column_stack([data.y01, data.t])
        share = mass @ data.z / mass.sum()
        # The mean of these scores is the difference between the arms; `mean_variance` centres them within each arm.
        side = np.where(data.z == 1, 1 / share, -1 / (1 - share))[:, None]
        scores = side * seen
        outcome, treatment = (mass @ scores / mass.sum()).tolist()
        found = mean_variance(scores, data, slope=side * np.array([1.0, 0.0]))
        (var_outcome, covariance), (_, var_treatment) = found.covariance.tolist()
        degrees = float(found.degrees.min())
        return cls(outcome, treatment, var_outcome, var_treatment, covariance, degrees=degrees)

    @classmethod
    def of_moments(cls, cells: CellMoments) -> ArmEffects:
        """The same from the cells [z][t] of one data set.

        If all outcomes of an arm are equal, its mean is not certain, however small the variance in the sample: it is
        known as well as with one more person at each end of the range (as in Agresti and Caffo's interval).
        """
        people = cells.people.sum(axis=-1)
        y, t = cells.total.sum(axis=-1) / people, cells.people[:, 1] / people
        spread = np.maximum(cells.squares.sum(axis=-1) / people - y**2, 0.0)
        guess = (cells.total.sum(axis=-1) + 1) / (people + 2)
        var_y = np.where(spread > 1e-12, spread / people, guess * (1 - guess) / (people + 2))
        var_t, cov = t * (1 - t) / people, (cells.total[:, 1] / people - y * t) / people
        return cls(float(y[1] - y[0]), float(t[1] - t[0]), float(var_y.sum()), float(var_t.sum()), float(cov.sum()))

    @property
    def ratio(self) -> float | None:
        """Wald's ratio; None if the instrument does not move the treatment at all."""
        return self.outcome / self.treatment if self.treatment != 0 else None

    @property
    def ratio_se(self) -> float | None:
        """By the delta method; the interval does not use it."""
        if self.ratio is None:
            return None
        variance = self.var_outcome - 2 * self.ratio * self.covariance + self.ratio**2 * self.var_treatment
        return math.sqrt(max(variance, 0.0)) / abs(self.treatment)

    @property
    def f(self) -> float | None:
        """F statistic of the first stage; None if it is infinite."""
        return self.treatment**2 / self.var_treatment if self.var_treatment > 0 else None

    def ratio_interval(self, alpha: float) -> tuple[float, float, bool]:
        """Anderson and Rubin's interval, cut to [-1, 1], and whether it was bounded before.

        The effects b with (outcome - b treatment)^2 <= z^2 var(outcome - b treatment) solve a quadratic
        a b^2 - 2 h b + c <= 0. With a <= 0 the set is unbounded; then the whole range is returned, even if the set is
        what lies outside of two roots, whose hull is the whole range as well.
        """
        z = critical_value(alpha, self.degrees)
        a = self.treatment**2 - z**2 * self.var_treatment
        h = self.outcome * self.treatment - z**2 * self.covariance
        c = self.outcome**2 - z**2 * self.var_outcome
        if a <= 0:
            return -1.0, 1.0, False
        root = math.sqrt(max(h * h - a * c, 0.0))
        return float(np.clip((h - root) / a, -1, 1)), float(np.clip((h + root) / a, -1, 1)), True

    def itt(self, alpha: float, span: float) -> EstimandBounds:
        """The intention-to-treat effect in outcome units."""
        # If the outcome is the same for all, rounding can leave a variance just below zero.
        margin = critical_value(alpha, self.degrees) * math.sqrt(max(self.var_outcome, 0.0))
        lower, upper = max(self.outcome - margin, -1.0), min(self.outcome + margin, 1.0)
        return self._number(lower, upper, self.outcome, span, OF_ITT)

    def late(self, alpha: float, span: float) -> EstimandBounds:
        """The effect among compliers in outcome units."""
        lower, upper, _ = self.ratio_interval(alpha)
        return self._number(lower, upper, self.ratio, span, OF_LATE)

    def _number(
        self, lower: float, upper: float, estimate: float | None, span: float, assumes: tuple[str, ...]
    ) -> EstimandBounds:
        point = None if estimate is None else span * estimate
        return EstimandBounds(
            span * lower, span * upper, point, point, assumes, "confidence", "effect", adjusted=self.adjusted
        )
