"""The variance of a weighted mean of scores under the design: clusters, strata and sampling weights.

One draw is a cluster or, without clusters, a person. Scores are centred within stratum and arm, because with
randomisation within a stratum its level is no source of error, and added up within a cluster, because its people vary
together. The weighted mean is a ratio (Hajek's), so only ratios of sampling weights matter.
Shapes: N rows, Q scores per row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ivicl._shared.special import t_quantiles
from ivicl.data import IVData
from ivicl.errors import InputError


@dataclass(frozen=True)
class MeanVariance:
    """The variance of means over the population that the rows stand for."""

    covariance: np.ndarray
    """(Q, Q) covariance of the Q means."""
    degrees: np.ndarray
    """(Q,) degrees of freedom of each variance: infinite if people are the draws."""

    @property
    def variance(self) -> np.ndarray:
        """(Q,) variances of the Q means."""
        return np.diagonal(self.covariance)


def critical_value(alpha: float, degrees: float) -> float:
    """The 1 - alpha / 2 quantile of Student's t; the normal one for infinite degrees of freedom."""
    if math.isinf(degrees):
        return NormalDist().inv_cdf(1 - alpha / 2)
    return float(t_quantiles(np.array([1 - alpha / 2]), degrees)[0])


def mean_variance(
    score: np.ndarray, data: IVData, clusters: bool = True, slope: np.ndarray | None = None
) -> MeanVariance:
    """The variance of the mean of `score` (N, Q), with rows weighted by `data.mass`; `clusters=False` ignores clusters.

    `slope` (N, Q) says how the scores change with `y01`, in which they must be linear: if a row stands for people with
    different outcomes (`data.v`), their scores differ too. Without it the scores must not depend on the outcome.
    """
    draws = Draws.of(data, clusters)
    centred = score - draws.centre(score, data.mass)
    # One person of a row counts with mass / w, and there are w of them; a cluster is one draw, however many are in it.
    if draws.cluster is None:
        person = centred * (data.mass / data.w)[:, None]
        parts = _squares(person, data.w, draws.group, draws.groups)
        if data.v is not None and slope is not None:
            parts += _squares(slope * (data.mass / data.w)[:, None], data.w * data.v, draws.group, draws.groups)
        sizes = np.bincount(draws.group, data.w, draws.groups)
    else:
        total = np.zeros((len(draws.group), score.shape[1]))
        np.add.at(total, draws.cluster, centred * data.mass[:, None])
        parts = _squares(total, np.ones(len(total)), draws.group, draws.groups)
        sizes = np.bincount(draws.group, minlength=draws.groups).astype(np.float64)
    if draws.few:
        parts = parts * (sizes / np.maximum(sizes - 1, 1))[:, None, None]
    covariance = parts.sum(0) / data.w.sum() ** 2
    return MeanVariance(covariance, _degrees(parts, sizes) if draws.cluster is not None else _endless(score))


@dataclass(frozen=True)
class Draws:
    """What was drawn or assigned as a unit, and with which others each unit is compared."""

    cluster: np.ndarray | None
    """(N,) code of the row's cluster; None if people are the draws."""
    group: np.ndarray
    """(clusters,) or (N,): code of stratum and arm, or of the stratum alone if clusters have people of both arms."""
    groups: int
    level: np.ndarray
    """(N,) code of stratum and arm, within which scores are centred."""
    by_cluster: bool | None
    """Whole clusters share an arm; None without clusters."""
    few: bool
    """Groups can be so small that their variances must be divided by their size minus one."""

    @classmethod
    def of(cls, data: IVData, clusters: bool = True) -> Draws:
        design = data.design
        arm = data.z.astype(np.intp)
        strata = np.zeros(len(arm), np.intp) if design is None or design.strata is None else _codes(design.strata)
        cluster = None if design is None or design.cluster is None or not clusters else _codes(design.cluster)
        if cluster is None:
            strata = _joined(strata, 2 * strata + arm, data.w)
            level = 2 * strata + arm
            return cls(None, level, int(level.max()) + 1, level, None, bool(strata.any()))
        pure = is_by_cluster(cluster, arm)
        _refuse_too_few(cluster, arm, pure)
        first = np.unique(cluster, return_index=True)[1]
        # A cluster lies in one stratum, that of its first row: `data.design.read_design` has refused others.
        own = strata[first]
        own = _joined(own, 2 * own + arm[first] if pure else 2 * own, np.ones(len(first)))
        strata = own[cluster]
        group = 2 * own + arm[first] if pure else 2 * own
        return cls(cluster, group, int(group.max()) + 1, 2 * strata + arm, pure, True)

    def centre(self, score: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """(N, Q) the mean of the scores in the row's stratum and arm."""
        people = np.bincount(self.level, mass)
        sums = np.zeros((len(people), score.shape[1]))
        np.add.at(sums, self.level, score * mass[:, None])
        found: np.ndarray = (sums / np.maximum(people, 1e-300)[:, None])[self.level]
        return found


def is_by_cluster(cluster: np.ndarray, arm: np.ndarray) -> bool:
    """Whether no cluster has people of both arms."""
    treated = np.bincount(cluster, arm)
    return bool(((treated == 0) | (treated == np.bincount(cluster))).all())


def _refuse_too_few(cluster: np.ndarray, arm: np.ndarray, pure: bool) -> None:
    """Raise an InputError for a single cluster, which tells nothing about how much clusters differ."""
    remedy = "leave out cluster= and treat the result as that of these clusters alone, or find data on more."
    if cluster.max() == 0:
        raise InputError(f"cluster has one value only, so that it cannot be seen how much clusters differ; {remedy}")
    for value in (0, 1) if pure else ():
        if len(np.unique(cluster[arm == value])) < 2:
            raise InputError(
                f"the arm Z = {value} has one cluster only, so that it cannot be seen how much clusters differ; "
                f"{remedy}"
            )


def _codes(values: np.ndarray) -> np.ndarray:
    codes: np.ndarray = np.unique(values, return_inverse=True)[1].ravel()
    return codes


def _joined(strata: np.ndarray, group: np.ndarray, people: np.ndarray) -> np.ndarray:
    """Strata as codes. Those with a group of only one draw are joined; if the joined one has such a group too, all are.

    The spread of a single draw cannot be estimated; joining strata, such as matched pairs, can only raise the variance.
    """
    lonely = np.bincount(group, people)[group] < 2
    alone = np.isin(strata, np.unique(strata[lonely]))
    if not alone.any():
        return _codes(strata)
    merged = _codes(np.where(alone, -1, strata))
    again = 2 * merged + group % 2
    return merged if (np.bincount(again, people)[again] >= 2).all() else np.zeros_like(merged)


def _squares(values: np.ndarray, times: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """(groups, Q, Q) sums of products by group."""
    found = np.zeros((groups, values.shape[1], values.shape[1]))
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        here = values[rows]
        found[group[rows[0]]] = (here * times[rows, None]).T @ here
    return found


def _degrees(parts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Satterthwaite's degrees of freedom: a group of m clusters has m - 1, and counts by its share of the variance."""
    variances = np.diagonal(parts, axis1=1, axis2=2)  # (groups, Q)
    used = sizes > 1
    below = (variances[used] ** 2 / (sizes[used] - 1)[:, None]).sum(0)
    most = float((sizes[used] - 1).sum())
    raw = np.where(below > 0, variances.sum(0) ** 2 / np.maximum(below, 1e-300), most)
    degrees: np.ndarray = np.clip(raw, 1.0, most)
    return degrees


def _endless(score: np.ndarray) -> np.ndarray:
    return np.full(score.shape[1], np.inf)
