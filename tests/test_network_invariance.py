"""What the design promises of the graph, exactly: on a file with made-up weights, and on the model that ships.

Every invariance has a negative control: a change of the data that must show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ivicl.methods.pretrained import runtime
from ivicl.methods.pretrained.runtime import Model
from ivicl.posterior import EFFECT_EDGES
from stand_in import BinnedAnswers as Posteriors

TOLERANCE = 1e-4


@dataclass(frozen=True)
class Table:
    x: np.ndarray
    z: np.ndarray
    t: np.ndarray
    y: np.ndarray
    w: np.ndarray

    def rows(self, index: np.ndarray) -> Table:
        return Table(self.x[index], self.z[index], self.t[index], self.y[index], self.w[index])


def make_table(seed: int, n: int = 40, d: int = 3) -> Table:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * rng.uniform(0.1, 30, d)
    z = (rng.random(n) < 0.5).astype(float)
    drive = x[:, 0] / x[:, 0].std() if d and n > 1 else rng.normal(size=n)
    t = (rng.random(n) < 0.15 + 0.4 * z + 0.15 * (drive > 0)).astype(float)
    y = (rng.random(n) < 0.2 + 0.3 * t * (drive > 0.3)).astype(float)
    return Table(x, z, t, y, np.ones(n))


@pytest.fixture(scope="module", params=["made up", "shipped"])
def answer(request: pytest.FixtureRequest) -> Callable[[Table], Posteriors]:
    shipped = request.param == "shipped"
    model = Model.shipped() if shipped else Model.load(request.getfixturevalue("network_file"))
    return lambda table: on_bins(model.predict(*(a[None] for a in (table.x, table.z, table.t, table.y, table.w))))


def on_bins(found: runtime.Posteriors) -> Posteriors:
    """The ends on the effect's bins, whatever grid they are on."""
    lower, upper = (np.diff(found.of(name).cdf(EFFECT_EDGES))[None] for name in ("lower", "upper"))
    return Posteriors(found.effect, lower, upper)


def distance(a: Posteriors, b: Posteriors, mirrored: bool = False) -> float:
    """Largest total variation over the three posteriors."""
    if mirrored:
        b = Posteriors(b.effect[:, ::-1], b.upper[:, ::-1], b.lower[:, ::-1])
    return max(float(np.abs(getattr(a, k) - getattr(b, k)).sum() / 2) for k in ("effect", "lower", "upper"))


def reorder_rows(table: Table, rng: np.random.Generator) -> Table:
    return table.rows(rng.permutation(len(table.z)))


def reorder_columns(table: Table, rng: np.random.Generator) -> Table:
    return replace(table, x=table.x[:, rng.permutation(table.x.shape[1])])


def change_units(table: Table, rng: np.random.Generator) -> Table:
    d = table.x.shape[1]
    scale = 10.0 ** rng.uniform(-9, 6, d) * rng.choice([-1.0, 1.0], d)
    return replace(table, x=table.x * scale + np.abs(scale) * rng.uniform(-1e5, 1e5, d))


def add_constant(table: Table, rng: np.random.Generator) -> Table:
    constant = np.full((len(table.z), 1), rng.choice([0.0, 0.1, 1e6 + 0.3, -1e-9]))
    return replace(table, x=np.concatenate([table.x, constant], 1))


def recode_instrument(table: Table, rng: np.random.Generator) -> Table:
    return replace(table, z=1 - table.z)


def recode_both(table: Table, rng: np.random.Generator) -> Table:
    return replace(table, t=1 - table.t, y=1 - table.y)


def pad(table: Table, rng: np.random.Generator) -> Table:
    junk = make_table(int(rng.integers(1e6)), 7, table.x.shape[1])
    names = ("x", "z", "t", "y", "w")
    padding = replace(junk, x=1e3 * junk.x, w=0 * junk.w)
    joined = [np.concatenate([getattr(table, name), getattr(padding, name)]) for name in names]
    return Table(*joined)


SAME = [reorder_rows, reorder_columns, change_units, add_constant, recode_instrument, recode_both, pad]


@pytest.mark.parametrize("change", SAME, ids=lambda f: f.__name__)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000), d=st.integers(0, 4), n=st.sampled_from([2, 9, 40]))
def test_arbitrary_choices_of_the_caller_do_not_show(answer, change, seed: int, d: int, n: int) -> None:
    table = make_table(seed, n, d)
    changed = change(table, np.random.default_rng(seed + 1))
    assert distance(answer(table), answer(changed)) < TOLERANCE


@pytest.mark.parametrize("role", ["t", "y"])
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000), d=st.integers(0, 3))
def test_recoding_treatment_or_outcome_mirrors(answer, role: str, seed: int, d: int) -> None:
    table = make_table(seed, 30, d)
    recoded = replace(table, **{role: 1 - getattr(table, role)})
    assert distance(answer(table), answer(recoded), mirrored=True) < TOLERANCE
    assert distance(answer(table), answer(recoded)) > 0.05  # the control: not mirrored, it must show


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000), d=st.integers(0, 3), copies=st.integers(2, 9))
def test_copies_and_weights_are_the_same(answer, seed: int, d: int, copies: int) -> None:
    table = make_table(seed, 24, d)
    many = np.random.default_rng(seed).integers(1, copies + 1, 24)
    weighted = replace(table, w=many.astype(float))
    assert distance(answer(weighted), answer(table.rows(np.repeat(np.arange(24), many)))) < TOLERANCE


@pytest.mark.parametrize("d", [0, 2])
def test_ties_have_no_side(answer, d: int) -> None:
    """One-to-one perfect compliance with a median split: every coding is as canonical as the other."""
    z = np.array([0.0, 1.0] * 20)
    x = np.random.default_rng(0).normal(size=(40, d))
    y = np.array([0.0, 1.0, 1.0, 0.0] * 10)
    table = Table(x, z, z, y, np.ones(40))
    assert distance(answer(table), answer(replace(table, z=1 - z))) < TOLERANCE
    assert distance(answer(table), answer(replace(table, t=1 - z)), mirrored=True) < TOLERANCE
    # Beside the tie the answer moves, but does not jump: one person in a million changes sides.
    heavy = replace(table, w=np.full(40, 25_000.0))
    nudged = replace(heavy, w=heavy.w + np.eye(40)[1])
    assert distance(answer(heavy), answer(nudged)) < 0.01


@pytest.mark.parametrize(("n", "d", "weight"), [(1, 0, 1.0), (1, 2, 1.0), (30, 1, 1e9), (30, 9, 3.0), (8, 0, 1e9)])
def test_odd_shapes_are_ordinary_inputs(answer, n: int, d: int, weight: float) -> None:
    table = replace(make_table(1, n, d), w=np.full(n, weight))
    found = answer(table)
    for name in ("effect", "lower", "upper"):
        assert np.isfinite(getattr(found, name)).all()
        assert getattr(found, name).sum() == pytest.approx(1, abs=1e-4)


def test_what_must_show_does(answer) -> None:
    """The negative control of all of the above: changes that are none of the promised ones."""
    table, rng = make_table(5, 60, 3), np.random.default_rng(0)
    base = answer(table)
    shuffled = replace(table, y=rng.permutation(table.y))
    bent = replace(table, x=np.abs(table.x - np.median(table.x, 0)))
    moved = replace(table, x=table.x[rng.permutation(60)])
    for changed in (shuffled, bent, moved):
        assert distance(base, answer(changed)) > 10 * TOLERANCE


def test_the_number_of_people_shows(answer) -> None:
    """Repeat every row seven times and attention alone answers the same; the summary path must not."""
    table = make_table(2, 30, 2)
    assert distance(answer(table), answer(replace(table, w=7 * table.w))) > 0.01
