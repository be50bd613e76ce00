"""The alarm: rings for what was missed in assignment and outcome both, and for nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ivicl import IVData
from ivicl.identification.end_scores import EFFECT_ENDS, end_scores
from ivicl.methods.row_laws import RowLaws
from ivicl.results.diagnostics import hidden_patterns
from ivicl.results.diagnostics.findings import diagnose
from ivicl.results.diagnostics.groupings import MOST_TOGETHER, TREES, groupings
from ivicl.results.diagnostics.hidden_patterns import fires, hidden_pattern
from ivicl.results.diagnostics.records import Diagnostics

OFF = 0.125 * (0.7 + 0.8)
"""How far the lower end is off in `world`, as the first test explains."""


def world(seed: int, n: int = 1500, chance: float = 0.25, outcome: float = 0.25, weight: int = 1) -> RowLaws:
    """People whose instrument and outcome go with x1 x2 by so much, and a law at the rows that knows nothing of it."""
    rng = np.random.default_rng(seed)
    x = np.sign(rng.normal(size=(n, 3))) if weight > 1 else rng.normal(size=(n, 3))
    hidden = np.sign(x[:, 0] * x[:, 1])
    z = (rng.random(n) < 0.5 + chance * hidden).astype(float)
    t = (rng.random(n) < 0.2 + 0.5 * z).astype(float)
    y = (rng.random(n) < 0.45 + 0.1 * t + outcome * hidden).astype(float)
    law = np.zeros((n, 2, 2, 2))
    for arm in (0, 1):
        for taken in (0, 1):
            here = (z == arm) & (t == taken)
            share = here.sum() / (z == arm).sum()
            law[:, arm, taken] = share * np.array([1 - y[here].mean(), y[here].mean()])
    w = np.full(n, float(weight))
    return RowLaws(x, z, t, y, np.zeros(n), w, law, np.full(n, z.mean()))


def test_rings_for_a_pattern_in_both_and_says_how_far_the_ends_are_off():
    rows = world(0, 6000)
    found = hidden_pattern(rows, ("age", "dose", "site"))
    assert found is not None and fires(found)
    assert found.pattern == "groups by age, dose"
    # By hand: in each arm, people with the pattern are too many by a half or too few, and half a half is 0.125 in Y:
    # E[Y 1{T=1} | Z=1] is too high by P(T=1 | Z=1) 0.125, E[Y 1{T=0} | Z=0] too low by P(T=0 | Z=0) 0.125.
    assert found.lower_off == pytest.approx(OFF, abs=0.03)
    assert found.lower_off > 3 * found.se_lower


def test_a_yes_no_covariate_is_a_grouping_too():
    """Both values are told apart by any law; what is tested is whether this one did."""
    rows = world(0)
    hidden = (rows.x[:, :1] * rows.x[:, 1:2] > 0).astype(float)
    found, other = hidden_pattern(replace(rows, x=hidden)), hidden_pattern(replace(rows, x=1.0 * (rows.x[:, 2:] > 0)))
    assert found is not None and fires(found) and found.pattern == "groups by covariate 1"
    assert other is not None and not fires(other)


def stripes(age: np.ndarray) -> np.ndarray:
    return np.where(np.mod(age, 2) == 1, 1.0, -1.0)


def rings(x: np.ndarray) -> np.ndarray:
    return np.sign(np.cos(2 * np.pi * np.hypot(x[:, 0], x[:, 1])))


@pytest.mark.parametrize("kind", ["stripes", "rings"])
def test_no_shape_is_too_odd(kind):
    """Odd years of age, or rings around the middle of two covariates: neither is a range, a wave or a product."""
    rows = world(4, 3000)
    rng = np.random.default_rng(5)
    x = rows.x.copy()
    if kind == "stripes":
        x[:, 2] = rng.integers(18, 80, len(x))
    hidden = stripes(x[:, 2]) if kind == "stripes" else rings(x)
    z = (rng.random(len(x)) < 0.5 + 0.25 * hidden).astype(float)
    y = (rng.random(len(x)) < 0.5 + 0.25 * hidden).astype(float)
    found = hidden_pattern(replace(rows, x=x, z=z, y=y, law=world(4, 3000).law, propensity=np.full(len(x), z.mean())))
    assert found is not None and fires(found)
    assert found.pattern == ("groups by covariate 3" if kind == "stripes" else "groups by covariate 1, covariate 2")


def test_the_size_is_right_on_average_though_groups_are_small():
    """Six people a group: the product of two means of residuals is not pushed up by their noise."""
    sizes = []
    for seed in range(30):
        rows = world(seed, 1200)
        hidden = (rows.x[:, 0] * rows.x[:, 1] > 0).astype(int)
        group = 100 * hidden + np.random.default_rng(seed).integers(0, 100, len(hidden))
        scores = end_scores(rows.law, rows.propensity, rows.z, rows.t, rows.y, rows.w, which=EFFECT_ENDS)
        sizes.append(hidden_patterns._off(group, rows, scores.score, scores.score**2)[0][0])
    spread = np.std(sizes) / np.sqrt(len(sizes))
    assert abs(abs(np.mean(sizes)) - OFF) < 3 * spread + 0.005
    assert spread < 0.004


@pytest.mark.parametrize(("chance", "outcome"), [(0.0, 0.25), (0.25, 0.0), (0.0, 0.0)])
def test_silent_where_a_pattern_is_missed_once_or_never(chance, outcome):
    rung = [fires(found) for seed in range(20) if (found := hidden_pattern(world(seed, 600, chance, outcome)))]
    assert len(rung) == 20
    assert sum(rung) <= 3


def test_p_values_are_not_too_small_where_the_instrument_alone_has_the_pattern():
    """The second test is among the patterns that passed the first: its p-value must be one."""
    p = [found.p_value for seed in range(60) if (found := hidden_pattern(world(seed, 500, 0.25, 0.0)))]
    assert np.mean(np.array(p) < 0.05) <= 0.12  # 0.05 and three standard errors
    assert min(p) < 1.0


def test_counts_are_people():
    """A thousand rows of one, or each row twice as one of weight two: the same alarm."""
    rows = world(3, 700)
    twice = RowLaws(
        *(np.repeat(getattr(rows, name), 2, axis=0) for name in ("x", "z", "t", "y", "v", "w", "law", "propensity"))
    )
    heavy = replace(rows, w=2 * rows.w)
    one, other = hidden_pattern(twice), hidden_pattern(heavy)
    assert one is not None and other is not None
    assert one.p_value == pytest.approx(other.p_value, rel=1e-6)
    assert one.lower_off == pytest.approx(other.lower_off, rel=1e-6)
    assert one.se_lower == pytest.approx(other.se_lower, rel=1e-9)


def test_a_pattern_that_the_law_knows_is_not_rung_for():
    rows = world(0)
    hidden = np.sign(rows.x[:, 0] * rows.x[:, 1])
    law = rows.law.copy()
    for side in (-1, 1):
        here = hidden == side
        for arm in (0, 1):
            for taken in (0, 1):
                cell = here & (rows.z == arm) & (rows.t == taken)
                share = cell.sum() / (here & (rows.z == arm)).sum()
                law[here, arm, taken] = share * np.array([1 - rows.y[cell].mean(), rows.y[cell].mean()])
    found = hidden_pattern(replace(rows, law=law))
    assert found is not None and not fires(found)


def test_nothing_to_say_without_a_law_covariates_or_rows():
    rows = world(1)
    assert hidden_pattern(None) is None
    assert hidden_pattern(replace(rows, x=0 * rows.x)) is None
    few = {name: getattr(rows, name)[:20] for name in ("x", "z", "t", "y", "v", "w", "law", "propensity")}
    assert hidden_pattern(RowLaws(**few)) is None


def test_its_finding_is_in_the_diagnostics_and_survives_saving():
    rows = world(0)
    data = IVData.from_arrays(rows.z, rows.t, rows.y, rows.x)
    plain, checked = diagnose(data), diagnose(data, rows)
    assert plain.hidden_pattern is None and "fit to the covariates" not in [f.name for f in plain.findings]
    finding = next(f for f in checked.findings if f.name == "fit to the covariates")
    assert finding.grade == "look" and checked.grade in ("look", "stop")
    assert checked.hidden_pattern is not None
    off = max(checked.hidden_pattern.lower_off, checked.hidden_pattern.upper_off)
    assert f"the ends may be off by about {off:.2g}." in finding.sentence
    wide = hidden_pattern(rows, span=10.0)
    assert wide is not None and wide.lower_off == pytest.approx(10 * checked.hidden_pattern.lower_off)
    assert Diagnostics.from_dict(checked.to_dict()) == checked
    quiet = diagnose(data, world(0, chance=0.0))
    assert next(f for f in quiet.findings if f.name == "fit to the covariates").grade == "ok"


def test_many_columns_do_not_make_endless_groupings():
    rng = np.random.default_rng(0)
    rows = world(2, 300)
    wide = replace(rows, x=rng.normal(size=(300, 40)))
    number = sum(1 for _ in groupings(wide.x, wide.w))
    assert 4 * MOST_TOGETHER < number <= 2 * 40 + 4 * MOST_TOGETHER + TREES
    assert hidden_pattern(wide) is not None


def test_groupings_follow_the_people_not_the_rows():
    """Each row twice, or once with twice the weight; rows in another order; a covariate on another scale."""
    rng = np.random.default_rng(1)
    x, w = np.column_stack([rng.normal(size=200), rng.integers(0, 3, 200), rng.random((200, 2))]), np.full(200, 2.0)
    order = rng.permutation(200)
    twice, shuffled = groupings(np.repeat(x, 2, axis=0), np.ones(400)), groupings(x[order], w)
    scaled = groupings(np.column_stack([np.exp(x[:, 0]), x[:, 1:]]), w)
    number = 0
    for (chosen, group), *others in zip(groupings(x, w), twice, shuffled, scaled, strict=True):
        assert all(other[0] == chosen for other in others)
        assert (group == others[0][1][::2]).all()
        assert (group[order] == others[1][1]).all()
        assert (group == others[2][1]).all()
        number += 1
    assert number > 4 + 6 + 4 + TREES
