"""Risk ratio and lift from posteriors of their parts; the network's estimands beside one another."""

from __future__ import annotations

import numpy as np
import pytest

from ivicl import IVBounds, IVData
from ivicl.identification.strata import N_STRATA, TREATMENT, law_of
from ivicl.methods.estimand_bounds import EstimandBounds
from ivicl.methods.head_ratios import ratios
from ivicl.posterior import BinnedPosterior, IdentifiedSet

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}


def ends_of(lower: np.ndarray, upper: np.ndarray) -> IdentifiedSet:
    edges = np.linspace(-1, 1, 4001)
    return IdentifiedSet(*(BinnedPosterior.from_samples(end, edges) for end in (lower, upper)))


def with_mean(draws: np.ndarray) -> np.ndarray:
    return np.r_[draws.mean(), draws]


def test_posteriors_that_are_those_of_the_draws_give_the_ratio_of_the_draws():
    rng = np.random.default_rng(0)
    common = 0.03 * rng.standard_normal(4000)
    part = {
        "EY1": (0.4 + common, 0.6 + common + 0.01 * rng.standard_normal(4000)),
        "EY0": (0.2 + common, 0.3 + common),
        "ATT": (0.1 + common, 0.2 + common),
    }
    treated = 0.5 + common
    heads = {name: ends_of(*ends) for name, ends in part.items()}
    drawn = {name: tuple(with_mean(end) for end in ends) for name, ends in part.items()}
    found = ratios(heads, drawn, with_mean(treated))
    wanted = {
        "RR": (part["EY1"][0] / part["EY0"][1], part["EY1"][1] / part["EY0"][0]),
        "LIFT": (treated / (treated - part["ATT"][0]) - 1, treated / (treated - part["ATT"][1]) - 1),
    }
    for name, ends in wanted.items():
        for one, other in zip(found[name], ends, strict=True):
            levels = [0.025, 0.5, 0.975]
            assert np.quantile(one[1:], levels) == pytest.approx(np.quantile(other, levels), abs=5e-3)
    apart = ratios(heads, drawn, with_mean(rng.permutation(treated)))["LIFT"][0]
    assert np.std(apart[1:]) > 1.15 * np.std(found["LIFT"][0][1:])  # a control: parts that do not go together


def test_estimated_ends_do_not_cross():
    """In a one-sided trial the effect on the treated is a number, but two heads say where its ends are."""
    rng = np.random.default_rng(1)
    spread = 0.02 * rng.standard_normal(500)
    crossed = ends_of(0.11 + spread, 0.09 + spread)
    entry = EstimandBounds.from_posterior(crossed, 0.05, ())
    assert entry.estimate_lower == entry.estimate_upper == pytest.approx(0.1, abs=0.005)
    assert entry.lower < entry.estimate_lower < entry.upper
    drawn = {"ATT": (with_mean(0.11 + spread), with_mean(0.09 + spread))}
    lower, upper = ratios({"ATT": crossed}, drawn, with_mean(0.5 + spread))["LIFT"]
    assert lower[0] == pytest.approx(upper[0]) == pytest.approx(0.25, abs=0.02)


def test_a_part_keeps_its_own_posterior_wherever_the_law_lies():
    rng = np.random.default_rng(1)
    head, law = 0.2 + 0.02 * rng.standard_normal(4000), 0.05 * rng.standard_normal(4000)
    found = ratios({"ATT": ends_of(head, head)}, {"ATT": (with_mean(law), with_mean(law))}, np.full(4001, 0.6))
    assert set(found) == {"LIFT"}
    lift = found["LIFT"][0]
    assert np.sort(0.6 * lift[1:] / (1 + lift[1:])) == pytest.approx(np.sort(head), abs=2e-3)
    assert lift[0] == pytest.approx(0.2 / 0.4, abs=5e-3)


def tables(n: int, seed: int, one_sided: bool = False) -> list[IVData]:
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < n:
        # Z = 0 has the treatment in none of the types, or in any.
        allowed = (TREATMENT[0] == 0) if one_sided else np.ones(N_STRATA, dtype=bool)
        law = law_of(rng.dirichlet(np.full(N_STRATA, 0.5)) * allowed)
        law = law / law.sum(axis=(1, 2), keepdims=True)
        counts = np.stack([rng.multinomial(rng.integers(60, 900), law[z].ravel()) for z in (0, 1)]).reshape(2, 2, 2)
        if counts[:, 0].sum() > 20 and counts[:, 1].sum() > 20:
            found.append(IVData.from_counts(counts))
    return found


def rows(n: int, seed: int, amounts: bool) -> IVData:
    rng = np.random.default_rng(seed)
    x, z, hidden = rng.normal(size=(n, 3)), rng.integers(0, 2, n), rng.normal(size=n)
    t = (hidden + x[:, 0] + 1.5 * z - 0.7 > 0).astype(int)
    y = 0.6 * x[:, 1] + 0.8 * t + hidden + rng.normal(size=n)
    return IVData.from_arrays(z, t, np.clip(y / 8 + 0.5, 0, 1) if amounts else (y > 0).astype(int), x)


def test_what_the_shipped_network_says_of_one_table_does_not_contradict_itself():
    """Heads are learnt one by one. The ATE's interval lies within what those of its parts allow, and its estimates are
    theirs up to a hundredth; where the effect on the treated has a sign, the lift has it."""
    for data in (*tables(25, 0), rows(500, 1, False), rows(500, 2, True)):
        found = IVBounds().fit_data(data).estimands
        treated = float(data.w @ data.t / data.w.sum())
        ate, att, atu, one, zero = (found[name] for name in ("ATE", "ATT", "ATU", "EY1", "EY0"))
        assert ate.lower >= treated * att.lower + (1 - treated) * atu.lower - 0.01
        assert ate.upper <= treated * att.upper + (1 - treated) * atu.upper + 0.01
        assert ate.lower >= one.lower - zero.upper - 0.01 and ate.upper <= one.upper - zero.lower + 0.01
        for near, far in (("lower", "upper"), ("upper", "lower")):
            estimate = getattr(ate, f"estimate_{near}")
            parts = treated * getattr(att, f"estimate_{near}") + (1 - treated) * getattr(atu, f"estimate_{near}")
            means = getattr(one, f"estimate_{near}") - getattr(zero, f"estimate_{far}")
            assert estimate == pytest.approx(parts, abs=0.015) and estimate == pytest.approx(means, abs=0.015)
        lift = found["LIFT"]
        if abs(att.lower) > 5e-3:
            assert (lift.lower > 0) == (att.lower > 0)
        if abs(att.upper) > 5e-3:
            assert (lift.upper is None or lift.upper > 0) == (att.upper > 0)


def test_in_one_sided_tables_the_network_bounds_the_same_effect_twice():
    """Nobody was treated without the offer: the treated are the compliers, and their effect is nearly a point."""
    for data in tables(15, 3, one_sided=True):
        found = IVBounds(assume="no-defiers").fit_data(data).estimands
        att, late = found["ATT"], found["LATE"]
        wide = late.upper - late.lower
        assert att.estimate_upper - att.estimate_lower < 0.2 * wide + 0.01
        middle = 0.5 * (att.estimate_lower + att.estimate_upper)
        assert middle == pytest.approx(late.estimate_lower, abs=0.15 * wide + 0.01)
        assert max(att.lower, late.lower) < min(att.upper, late.upper)
