"""`BinnedPosterior`: the posterior of one number, as probabilities of bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from ivicl._shared.special import t_quantiles
from ivicl.errors import InputError

N_BINS = 1024
EFFECT_EDGES = np.linspace(-1.0, 1.0, N_BINS + 1)
EFFECT_EDGES.setflags(write=False)


@dataclass(frozen=True, eq=False)
class BinnedPosterior:
    """Probabilities of bins with the given edges; the density is constant inside a bin.

    Examples:
        >>> flat = BinnedPosterior(np.linspace(-1, 1, 5), np.full(4, 0.25))
        >>> float(flat.quantile(0.75)), flat.prob_positive, flat.interval(0.5)
        (0.5, 0.5, (-0.5, 0.5))
        >>> float(flat.pdf(0.3)), float(flat.cdf(0.5)), flat.sample(2, np.random.default_rng(0)).shape
        (0.5, 0.75, (2,))
        >>> up = flat.scaled(0.5, shift=0.5)
        >>> up.interval(0.5), up.mirrored().mean, BinnedPosterior.mixture([up, up.mirrored()]).mean
        ((0.25, 0.75), -0.5, 0.0)
        >>> together = BinnedPosterior.combine_comonotone([flat, up])
        >>> together.sd > BinnedPosterior.combine_independent([flat, up]).sd
        True
        >>> BinnedPosterior.from_dict(flat.to_dict()) == flat
        True
        >>> BinnedPosterior.from_samples([0.1, 0.2, 0.3]).prob_positive
        1.0
    """

    edges: np.ndarray
    """(K + 1,) increasing."""
    probabilities: np.ndarray
    """(K,) at least zero; scaled to sum to one."""

    def __post_init__(self) -> None:
        edges = np.asarray(self.edges, dtype=np.float64)
        probabilities = np.asarray(self.probabilities, dtype=np.float64)
        if edges.ndim != 1 or probabilities.shape != (len(edges) - 1,):
            raise InputError(f"{edges.shape[0]} edges need {len(edges) - 1} probabilities, not {probabilities.shape}.")
        if not (np.diff(edges) > 0).all() or not np.isfinite(edges).all():
            raise InputError("the edges of a posterior must be finite and increase.")
        total = probabilities.sum()
        if not np.isfinite(total) or total <= 0 or (probabilities < 0).any():
            raise InputError("the probabilities of a posterior must be at least zero, and not all zero.")
        object.__setattr__(self, "edges", edges)
        # Probabilities that already sum to one are kept bit for bit, so that a saved posterior is equal when loaded.
        object.__setattr__(self, "probabilities", probabilities if abs(total - 1) < 1e-12 else probabilities / total)

    # --- reading it

    @property
    def _cumulated(self) -> np.ndarray:
        sums: np.ndarray = np.minimum(np.concatenate([[0.0], np.cumsum(self.probabilities)]), 1.0)
        return sums

    def pdf(self, x: Any) -> np.ndarray:
        """The density at x; zero outside the edges."""
        x = np.asarray(x, dtype=np.float64)
        bin_of = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.probabilities) - 1)
        inside = (x >= self.edges[0]) & (x <= self.edges[-1])
        return np.where(inside, (self.probabilities / np.diff(self.edges))[bin_of], 0.0)

    def cdf(self, x: Any) -> np.ndarray:
        """P(value <= x)."""
        below: np.ndarray = np.interp(x, self.edges, self._cumulated, left=0.0, right=1.0)
        return below

    def quantile(self, q: Any) -> np.ndarray:
        """The smallest x with cdf(x) >= q, interpolated inside a bin; at 0 and 1 these are the ends of the support."""
        q = np.asarray(q, dtype=np.float64)
        if ((q < 0) | (q > 1) | np.isnan(q)).any():
            raise InputError("a quantile is asked at a level between 0 and 1.")
        filled = np.flatnonzero(self.probabilities)
        cumulated = np.cumsum(self.probabilities[filled])
        # The last entry is 1 up to rounding: a level of 1 must fall into the last filled bin.
        place = np.minimum(np.searchsorted(cumulated, q, side="left"), len(filled) - 1)
        chosen = filled[place]
        below = cumulated[place] - self.probabilities[chosen]
        share = np.clip((q - below) / self.probabilities[chosen], 0.0, 1.0)
        value: np.ndarray = self.edges[chosen] + share * (self.edges[chosen + 1] - self.edges[chosen])
        return value

    def interval(self, alpha: float) -> tuple[float, float]:
        """The central interval that holds 1 - alpha of the probability."""
        low, high = self.quantile([alpha / 2, 1 - alpha / 2])
        return float(low), float(high)

    @property
    def mean(self) -> float:
        return float(self.probabilities @ self._middles)

    @property
    def sd(self) -> float:
        # Computed in units of the largest edge, because squares of 1e200 would overflow.
        unit = max(float(np.abs(self.edges).max()), 1e-300)
        distances, widths = (self._middles - self.mean) / unit, np.diff(self.edges / unit)
        return unit * float(np.sqrt(self.probabilities @ (distances**2 + widths**2 / 12)))

    @property
    def _middles(self) -> np.ndarray:
        # Halved before they are added, so that edges of 1e308 do not overflow.
        return 0.5 * self.edges[1:] + 0.5 * self.edges[:-1]

    @property
    def prob_positive(self) -> float:
        return float(1.0 - self.cdf(0.0))

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n independent draws."""
        return self.quantile(rng.random(n))

    # --- moving it

    def scaled(self, factor: float, shift: float = 0.0) -> BinnedPosterior:
        """The law of factor * value + shift."""
        if factor == 0 or not np.isfinite([factor, shift]).all():
            raise InputError("a posterior is scaled by a finite factor other than zero.")
        if factor == 1 and shift == 0:
            return self
        edges = self.edges * factor + shift
        probabilities = self.probabilities
        if factor < 0:
            edges, probabilities = edges[::-1], probabilities[::-1]
        # Edges that are close together, as in a mixture, can become equal by rounding, above all after a shift.
        make = BinnedPosterior.on_cells if shift or not (np.diff(edges) > 0).all() else BinnedPosterior
        return make(edges, probabilities)

    def stretched(self, degrees: float) -> BinnedPosterior:
        """Quantiles moved away from the median as Student's quantiles are from the normal ones, for an error that is
        estimated from few clusters with this many degrees of freedom.

        The edges stay the same; what would lie beyond them is put into the last bins.
        """
        if math.isinf(degrees):
            return self
        z = np.linspace(-8.0, -0.05, 160)
        tails = np.array([NormalDist().cdf(each) for each in z])
        ratio = t_quantiles(tails, degrees) / z
        middle = float(self.quantile(0.5))
        levels = np.concatenate([tails, [0.5], 1 - tails[::-1]])
        moved = middle + (self.quantile(levels) - middle) * np.concatenate([ratio, [1.0], ratio[::-1]])
        cumulated = np.interp(self.edges, np.clip(moved, self.edges[0], self.edges[-1]), levels)
        cumulated[0], cumulated[-1] = 0.0, 1.0
        return BinnedPosterior(self.edges, np.maximum(np.diff(cumulated), 0.0))

    def mirrored(self) -> BinnedPosterior:
        """The law of -value: what a recoded treatment or outcome does to an effect."""
        return self.scaled(-1.0)

    # --- making it, and making one of many

    @classmethod
    def on_cells(cls, edges: np.ndarray, masses: np.ndarray) -> BinnedPosterior:
        """On edges some of which may be equal: the mass of a cell without width goes to the next cell that has one."""
        wide = np.flatnonzero(np.diff(edges) > 0)
        if not len(wide):
            raise InputError("a posterior needs at least two different edges.")
        first, last = int(wide[0]), int(wide[-1])
        if last - first + 1 == len(wide):  # only outer cells have no width: no search is needed
            kept = masses[first : last + 1].astype(np.float64)
            kept[0] += masses[:first].sum()
            kept[-1] += masses[last + 1 :].sum()
            return cls(edges[first : last + 2], kept)
        owner = np.minimum(np.searchsorted(wide, np.arange(len(masses))), len(wide) - 1)
        return cls(np.append(edges[wide], edges[wide[-1] + 1]), np.bincount(owner, masses, len(wide)))

    @classmethod
    def from_samples(cls, samples: Any, edges: np.ndarray = EFFECT_EDGES, weights: Any = None) -> BinnedPosterior:
        """From draws, which may be weighted; those beyond the edges count in the outermost bins."""
        samples = np.clip(np.asarray(samples, dtype=np.float64).ravel(), edges[0], edges[-1])
        return cls(edges, np.histogram(samples, edges, weights=weights)[0])

    @staticmethod
    def combine_comonotone(parts: Sequence[BinnedPosterior], n_bins: int = N_BINS) -> BinnedPosterior:
        """The law of the sum if all parts move together: quantiles add. The sum cannot sensibly be wider than this."""
        levels = np.unique(np.concatenate([part._cumulated for part in parts]))
        # If a part has empty bins, its quantile jumps at a level: take the values on both sides of it.
        levels = np.unique(np.clip(np.concatenate([levels, np.nextafter(levels, 2.0)]), 0.0, 1.0))
        summed = np.maximum.accumulate(np.sum([part.quantile(levels) for part in parts], axis=0))
        edges = np.linspace(sum(p.edges[0] for p in parts), sum(p.edges[-1] for p in parts), n_bins + 1)
        cumulated = np.interp(edges, summed, levels, left=0.0, right=1.0)
        cumulated[0], cumulated[-1] = 0.0, 1.0
        return BinnedPosterior(edges, np.maximum(np.diff(cumulated), 0.0))

    @staticmethod
    def combine_independent(parts: Sequence[BinnedPosterior], n_bins: int = N_BINS) -> BinnedPosterior:
        """The law of the sum if the parts are independent: a convolution, by FFT on a common fine grid."""
        low, high = sum(p.edges[0] for p in parts), sum(p.edges[-1] for p in parts)
        fine = 8 * n_bins
        step = (high - low) / fine
        transform = np.ones(fine + 1, dtype=np.complex128)
        for part in parts:
            transform *= np.fft.rfft(_on_grid(part, step, fine + 1), 2 * fine)
        masses = np.maximum(np.fft.irfft(transform, 2 * fine)[: fine + 1], 0.0)
        cumulated = np.cumsum(masses) - masses / 2  # the mass at a grid point lies half on each side of it
        points = low + step * np.arange(fine + 1)
        edges = np.linspace(low, high, n_bins + 1)
        cumulated = np.interp(edges, points, cumulated / masses.sum())
        cumulated[0], cumulated[-1] = 0.0, 1.0
        return BinnedPosterior(edges, np.maximum(np.diff(cumulated), 0.0))

    @staticmethod
    def mixture(parts: Sequence[BinnedPosterior]) -> BinnedPosterior:
        """The equal mixture; if the edges differ, it has the edges of all parts."""
        if all(np.array_equal(part.edges, parts[0].edges) for part in parts):
            return BinnedPosterior(parts[0].edges, np.mean([part.probabilities for part in parts], axis=0))
        edges = np.unique(np.concatenate([part.edges for part in parts]))
        return BinnedPosterior(edges, np.maximum(np.diff(np.mean([part.cdf(edges) for part in parts], axis=0)), 0.0))

    # --- keeping it

    def to_dict(self) -> dict[str, list[float]]:
        """The posterior as plain values."""
        return {"edges": self.edges.tolist(), "probabilities": self.probabilities.tolist()}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> BinnedPosterior:
        """The inverse of `to_dict`."""
        return cls(np.asarray(saved["edges"]), np.asarray(saved["probabilities"]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BinnedPosterior):
            return NotImplemented
        return np.array_equal(self.edges, other.edges) and np.array_equal(self.probabilities, other.probabilities)

    def __repr__(self) -> str:
        low, middle, high = self.quantile([0.005, 0.5, 0.995])
        return f"BinnedPosterior(median {middle:.3f}, 99 % in [{low:.3f}, {high:.3f}])"


def _on_grid(part: BinnedPosterior, step: float, length: int) -> np.ndarray:
    """Masses on the grid part.edges[0] + step * k: each bin's mass goes to the two points around each of its slices."""
    # Slicing bins at least as finely as the grid keeps the uniform law inside them; linear splitting keeps the mean.
    slices = max(1, int(np.ceil(np.max(np.diff(part.edges)) / step)))
    offsets = (np.arange(slices) + 0.5) / slices
    values = (part.edges[:-1, None] - part.edges[0] + np.diff(part.edges)[:, None] * offsets).ravel() / step
    masses = np.repeat(part.probabilities / slices, slices)
    left = np.minimum(values.astype(np.int64), length - 2)
    share = values - left
    grid = np.bincount(left, masses * (1 - share), length)
    return grid + np.bincount(left + 1, masses * share, length)
