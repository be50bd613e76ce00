"""Joint posterior draws of what every estimand is made of, from which the interval of each is computed.

One estimand's interval is never transformed into another's: each draw has the ends of E Y(1) and E Y(0), E Y and P(T)
together, so that their errors stay correlated. Outcomes are in units of their range, [0, 1]; D draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from ivicl.identification.amounts import MeanEnds, mean_ends
from ivicl.identification.estimands import Ends, average_effect, effect_on_treated, effect_on_untreated, risk_ratio


@dataclass(frozen=True)
class MeanDraws:
    """D posterior draws, all arrays (D,)."""

    treated_lower: np.ndarray
    """The least E Y(1)."""
    treated_upper: np.ndarray
    untreated_lower: np.ndarray
    """The least E Y(0)."""
    untreated_upper: np.ndarray
    mean: np.ndarray
    """E Y, with the instrument as it was."""
    treated: np.ndarray
    """P(T=1)."""
    moved: np.ndarray
    """E[Y | Z=1] - E[Y | Z=0]: the effect of the instrument."""
    late: np.ndarray | None = None
    """The effect among those whom the instrument moves, if nobody moves the other way; None if some may."""

    @property
    def ends(self) -> MeanEnds:
        return MeanEnds(self.treated_lower, self.treated_upper, self.untreated_lower, self.untreated_upper)

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def estimands(self) -> tuple[str, ...]:
        """The estimands that `of` knows."""
        return (*self._ends(), "ITT", *(() if self.late is None else ("LATE",)))

    def of(self, estimand: str) -> Ends:
        """Draws of the lower and the upper end of one of `estimands`, in units of the range.

        ITT and LATE are points, so that both ends are the same; RR is for an outcome whose range starts at 0.
        """
        points = {"ITT": self.moved, "LATE": self.late}
        point = points.get(estimand)
        return (point, point) if point is not None else self._ends()[estimand]()

    def _ends(self) -> dict[str, Callable[[], Ends]]:
        ends = self.ends
        some, rest = np.maximum(self.treated, 1e-300), np.minimum(self.treated, 1 - 1e-16)
        return {
            "ATE": lambda: average_effect(ends),
            "EY1": lambda: (ends.treated_lower, ends.treated_upper),
            "EY0": lambda: (ends.untreated_lower, ends.untreated_upper),
            "ATT": lambda: _clipped(effect_on_treated(ends, self.mean, some)),
            "ATU": lambda: _clipped(effect_on_untreated(ends, self.mean, rest)),
            "RR": lambda: risk_ratio(ends),
        }

    def interval(self, estimand: str, alpha: float) -> tuple[float, float]:
        """From the lower end's alpha / 2 quantile to the upper end's 1 - alpha / 2 quantile: it holds the set."""
        lower, upper = self.of(estimand)
        return float(np.quantile(lower, alpha / 2)), float(np.quantile(upper, 1 - alpha / 2))


def soft_laws(laws: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(..., 2, 2, K) laws of levels with values in [0, 1] to (..., 2, 2, 2): E[1-Y; T=t | z], E[Y; T=t | z]."""
    one = laws @ values
    return np.stack([laws.sum(axis=-1) - one, one], axis=-1)


def draws_at(
    laws: np.ndarray, values: np.ndarray, share: float, sharp: bool, late: np.ndarray | None = None
) -> MeanDraws:
    """The draws at laws (D, 2, 2, K) of levels with `values` from 0 to 1; `share` is P(Z=1).

    With `sharp` the ends use the whole laws, otherwise only the means.
    """
    soft = soft_laws(laws, values)
    ends = mean_ends(laws, values) if sharp else mean_ends(soft, np.array([0.0, 1.0]))
    outcome, taken = soft[..., 1].sum(axis=-1), soft[:, :, 1].sum(axis=-1)  # (D, 2) by arm
    mean, treated = ((1 - share) * by_arm[:, 0] + share * by_arm[:, 1] for by_arm in (outcome, taken))
    return MeanDraws(**vars(ends), mean=mean, treated=treated, moved=outcome[:, 1] - outcome[:, 0], late=late)


def joined(parts: Sequence[MeanDraws]) -> MeanDraws:
    """The draws of several parts, one after the other."""
    names = [field.name for field in fields(MeanDraws) if getattr(parts[0], field.name) is not None]
    return MeanDraws(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def _clipped(ends: Ends) -> Ends:
    """The ends within [-1, 1], which ratios of tiny numbers can leave by rounding."""
    return np.clip(ends[0], -1.0, 1.0), np.clip(ends[1], -1.0, 1.0)
