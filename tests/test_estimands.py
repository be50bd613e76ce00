"""Other estimands: closed forms against programs, coherence, what is refused, and how they reach rows and files."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.optimize import linprog

from every_method import ROLES, small_table
from ivicl import BoundsResult, InputError, IVBounds, IVData
from ivicl.identification import strata
from ivicl.identification.amounts import mean_ends
from ivicl.identification.estimands import Seen, by_name
from ivicl.identification.inequalities import level_excess
from ivicl.identification.law_posterior import CellMoments, draw_laws, settled, spread_laws
from ivicl.identification.laws import law_of
from ivicl.identification.weaker_ends import BINARY, sharp
from ivicl.methods.answers import answers
from ivicl.methods.registry import shipped
from linear_program import random_laws

CHOLESTYRAMINE = [158, 14, 0, 0, 52, 12, 23, 78]
CLASSICAL = ("balke-pearl", "manski", "manski-iv", "no-defiers", "sharp")
NAMES = ["ATE", "ATT", "ATU", "EY1", "EY0", "RR", "LIFT", "ITT", "LATE"]


# --- closed forms


def optimum(laws: np.ndarray, numerator: np.ndarray, denominator: np.ndarray, sign: int) -> np.ndarray:
    """The least (sign 1) or largest ratio of two linear functions of the strata, for N laws: one program for all.

    Charnes and Cooper: with unknowns f / (denominator f) and 1 / (denominator f) the ratio is linear.
    """
    n = len(laws)
    one = [
        sparse.csr_array(np.vstack([np.column_stack([strata.LAW.T, -law]), [*below, 0.0]]))
        for law, below in zip(laws.reshape(n, 8), denominator, strict=True)
    ]
    targets = np.tile([0.0] * 8 + [1.0], n)
    objective = np.column_stack([numerator, np.zeros(n)])
    solved = linprog(
        sign * objective.ravel(), A_eq=sparse.block_diag(one), b_eq=targets, bounds=(0, None), method="highs"
    )
    assert solved.status == 0, solved.message
    return (objective * solved.x.reshape(n, -1)).sum(axis=1)


def test_closed_forms_of_every_estimand_against_the_linear_program():
    rng = np.random.default_rng(0)
    people = [np.round(rng.dirichlet(np.full(16, c), 250), 5) for c in (0.03, 0.1, 0.3, 1.0)]  # no shares of 1e-30
    shares = np.concatenate(people)
    laws = strata.law_of(shares / shares.sum(axis=1, keepdims=True))
    e = rng.uniform(0.1, 0.9, len(laws))
    takes = (1 - e)[:, None] * strata.TREATMENT[0] + e[:, None] * strata.TREATMENT[1]
    seen = Seen.of(laws, e)
    meant = (seen.treated > 1e-3) & (seen.treated < 1 - 1e-3)
    assert meant.sum() > 900
    ends = mean_ends(laws, BINARY)
    found = by_name(ends, seen)
    all_of, y = np.ones_like(takes), strata.OUTCOME
    ratios = {
        "ATE": (strata.EFFECT * all_of, all_of),
        "ATT": (strata.EFFECT * takes, takes),
        "ATU": (strata.EFFECT * (1 - takes), 1 - takes),
        "EY1": (y[1] * all_of, all_of),
        "EY0": (y[0] * all_of, all_of),
        "RR": (y[1] * all_of, y[0] * all_of),
        "LIFT": (strata.EFFECT * takes, y[0] * takes),
    }
    for name, (numerator, denominator) in ratios.items():
        lower, upper = found[name]
        # A ratio whose denominator must be zero is not a number, and one where it may be has no largest value.
        clear = meant & (upper < 1e3) if name in ("RR", "LIFT") else meant
        assert clear.sum() > (200 if name in ("RR", "LIFT") else 900)
        for end, sign in ((lower, 1), (upper, -1)):
            program = optimum(laws[clear], numerator[clear], denominator[clear], sign)
            np.testing.assert_allclose(end[clear], program, atol=1e-7, rtol=1e-7, err_msg=name)


def test_the_upper_end_of_a_ratio_is_infinite_exactly_where_the_denominator_may_vanish():
    laws = np.concatenate([random_laws(300, c, np.random.default_rng(1)) for c in (0.03, 0.3)])
    seen, ends = Seen.of(laws, np.full(600, 0.5)), mean_ends(laws, BINARY)
    found = by_name(ends, seen)
    assert (np.isinf(found["RR"][1]) == (ends.untreated_lower < 1e-12)).all() and np.isinf(found["RR"][1]).any()
    assert not np.isinf(found["RR"][0]).any() and np.isinf(found["LIFT"][1]).sum() > np.isinf(found["RR"][1]).sum()


# --- coherence


def random_tables(n: int, rng: np.random.Generator, one_sided: bool = False) -> list[np.ndarray]:
    tables = []
    for law in random_laws(n, 0.3, rng):
        people = rng.integers(30, 600, 2)
        counts = np.stack([rng.multinomial(people[z], law[z].ravel() / law[z].sum()) for z in (0, 1)])
        counts = counts.reshape(2, 2, 2)
        if one_sided:
            counts[0, 0] += counts[0, 1]
            counts[0, 1] = 0
        tables.append(counts)
    return [t for t in tables if t[:, 1].sum() and t[:, 0].sum()]


def told(method: str, data: IVData, **asked):
    """What a method says of each estimand, without the ladder and the diagnostics around it."""
    chosen, request = shipped()[method], IVBounds(method=method, **asked).request()
    return answers(chosen, chosen.bounds(data, request), data, request)


@pytest.mark.parametrize("method", CLASSICAL)
def test_everything_a_result_says_is_coherent(method):
    rng = np.random.default_rng(2)
    for table in random_tables(40, rng):
        data = IVData.from_counts(table)
        found = told(method, data)
        treated, possible = data.w @ data.t / data.n, level_excess(law_of(table)).max() <= 0
        ate, att, atu = (found[name] for name in ("ATE", "ATT", "ATU"))
        for end in ("estimate_lower", "estimate_upper"):
            parts = treated * getattr(att, end) + (1 - treated) * getattr(atu, end)
            if not possible:
                continue  # the weights of the parts are those of the nearest possible law
            assert getattr(ate, end) == pytest.approx(parts, abs=1e-9)
        assert min(att.lower, atu.lower) - 1e-9 <= ate.lower and ate.upper <= max(att.upper, atu.upper) + 1e-9
        found.pop("LATE", None)  # Wald's ratio itself can lie beyond what an effect can be
        for name, entry in found.items():
            assert entry.lower <= entry.estimate_lower, name
            if entry.upper is not None and entry.estimate_upper is not None:
                assert entry.estimate_lower <= entry.estimate_upper + 1e-12 and entry.estimate_upper <= entry.upper
        effect = found["EY1"].estimate_upper - found["EY0"].estimate_lower
        assert ate.estimate_upper == pytest.approx(effect)


def test_in_one_sided_randomised_tables_the_treated_are_the_compliers():
    for table in random_tables(40, np.random.default_rng(3), one_sided=True):
        found = told("no-defiers", IVData.from_counts(table))
        att, late = found["ATT"], found["LATE"]
        assert att.estimate_lower == pytest.approx(att.estimate_upper)
        # Wald's ratio of a small sample can lie outside what an effect can be.
        if abs(late.estimate_lower) < 1:
            assert att.estimate_lower == pytest.approx(late.estimate_lower)
            assert max(att.lower, late.lower) <= min(att.upper, late.upper)


def test_recoding_the_treatment_turns_the_effect_on_the_treated_into_minus_that_on_the_untreated():
    data = IVData.from_counts(CHOLESTYRAMINE)
    for method in CLASSICAL:
        plain, turned = told(method, data), told(method, replace(data, t=1 - data.t))
        assert plain["ATT"].estimate_lower == pytest.approx(-turned["ATU"].estimate_upper)
        assert plain["ATU"].estimate_lower == pytest.approx(-turned["ATT"].estimate_upper)
        assert plain["ATU"].lower == pytest.approx(-turned["ATT"].upper, abs=0.02), "other draws, the same law"


def test_units_are_those_of_the_outcome():
    rng = np.random.default_rng(4)
    z, t = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    y = rng.beta(2, 3, 400) + 0.2 * t
    small, large = (
        IVData.from_arrays(z, t, y, outcome_range=(0, 2)),
        IVData.from_arrays(z, t, 5 * y, outcome_range=(0, 10)),
    )
    for method in (*CLASSICAL, "late"):
        first, second = told(method, small), told(method, large)
        for name, entry in first.items():
            factor = 1 if name in ("RR", "LIFT") else 5
            for end in ("lower", "upper", "estimate_lower", "estimate_upper"):
                value, scaled = getattr(entry, end), getattr(second[name], end)
                assert scaled == (None if value is None else pytest.approx(factor * value, rel=1e-6, abs=1e-9))


def test_exact_reads_the_draws_of_its_chains():
    res = IVBounds(method="exact", n_draws=40_000, n_chains=128).fit_counts(CHOLESTYRAMINE)
    drawn = told("balke-pearl", IVData.from_counts(CHOLESTYRAMINE))
    assert list(res.estimands) == NAMES
    assert (res.estimands["ATE"].lower, res.estimands["ATE"].upper) == (res.lower, res.upper)
    for name in ("ATT", "ATU", "EY1", "EY0", "ITT", "LATE"):
        ours, theirs = res.estimands[name], drawn[name]
        assert (ours.lower, ours.upper) == pytest.approx((theirs.lower, theirs.upper), abs=0.05), name
    assert "prior" in res.estimands["ITT"].assumes and res.estimands["LATE"].interval == "confidence"


# --- draws


def test_draws_of_a_table_of_counts_are_dirichlet():
    data = IVData.from_counts(CHOLESTYRAMINE)
    cells = CellMoments.of(data.z, data.t, data.y01, data.w, True)
    drawn = draw_laws(cells, 40_000, np.random.default_rng(0))
    shape = np.reshape(CHOLESTYRAMINE, (2, 4)) + 0.4
    mean = shape / shape.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(drawn.reshape(-1, 2, 4).mean(axis=0), mean, atol=2e-3)
    variance = mean * (1 - mean) / (shape.sum(axis=1, keepdims=True) + 1)
    np.testing.assert_allclose(drawn.reshape(-1, 2, 4).var(axis=0), variance, rtol=0.05)


def test_draws_of_an_amount_have_the_spread_of_its_mean():
    rng = np.random.default_rng(5)
    z, t = rng.integers(0, 2, 2000), rng.integers(0, 2, 2000)
    y = 0.02 + 0.01 * rng.random(2000)  # far from the middle of its range, and much less spread than yes and no
    cells = CellMoments.of(z, t, y, np.ones(2000), False)
    drawn = draw_laws(cells, 20_000, rng)
    means = drawn[..., 1] / drawn.sum(axis=-1)
    for a, b in np.ndindex(2, 2):
        here = y[(z == a) & (t == b)]
        assert means[:, a, b].mean() == pytest.approx(here.mean(), rel=1e-3)
        assert means[:, a, b].std() == pytest.approx(here.std() / math.sqrt(len(here)), rel=0.05)


def test_intervals_hold_their_sets_as_often_as_they_say():
    """At 90 %: both ends of the effect on the treated, and of everybody, over repeated samples of one law."""
    rng = np.random.default_rng(6)
    law = random_laws(6, 0.5, rng)[5]
    held = {"ATE": 0, "ATT": 0, "EY1": 0}
    truth = by_name(mean_ends(law, BINARY), Seen.of(law, np.array(0.5)))
    for _ in range(150):
        table = np.stack([rng.multinomial(300, law[z].ravel()) for z in (0, 1)]).reshape(2, 2, 2)
        found = told("balke-pearl", IVData.from_counts(table), alpha=0.1)
        for name in held:
            held[name] += found[name].lower <= truth[name][0] and truth[name][1] <= found[name].upper
    assert min(held.values()) >= 0.85 * 150, held


# --- what is asked for


def test_what_is_asked_for_is_the_headline():
    plain = IVBounds(method="balke-pearl").fit_counts(CHOLESTYRAMINE)
    for name in NAMES:
        res = IVBounds(method="balke-pearl", estimand=name).fit_counts(CHOLESTYRAMINE)
        assert res.estimand == name
        if name != "ATE":
            entry = plain.estimands[name]
            assert (res.lower, res.upper, res.interval_kind) == (entry.lower, entry.upper, entry.interval)
            assert res.assumptions == entry.assumes and not any("allowance" in w for w in res.warnings)
            rung = res.ladder.rungs[-1]
            assert (rung.estimand, rung.lower, rung.label) == (name, res.lower, f"Balke-Pearl: {name}")
        assert res.estimands.keys() == plain.estimands.keys()


def test_a_ratio_without_a_limit_is_null_and_comes_back(tmp_path):
    table = [100, 0, 0, 0, 63, 0, 20, 17]  # nobody has the outcome untreated
    res = IVBounds(method="balke-pearl", estimand="RR").fit_counts(table)
    assert res.estimands["RR"].estimate_upper is None and res.estimands["LIFT"].estimate_upper is None
    nothing = IVBounds(method="manski", estimand="LIFT").fit_counts(table)
    assert nothing.estimands["LIFT"].upper is None and nothing.upper == math.inf
    assert nothing.to_dict()["upper"] is None and nothing.row()["lift_upper"] is None
    nothing.save(tmp_path / "lift.json")
    assert BoundsResult.load(tmp_path / "lift.json") == nothing
    assert "inf" in nothing.summary() and nothing.report(tmp_path / "lift.html").exists()


def test_a_ratio_of_an_outcome_that_may_be_negative_is_refused(run):
    table = small_table(amounts=True)
    below = table | {"y": [value - 3 for value in table["y"]]}
    assert not {"RR", "LIFT"} & set(IVBounds(method="balke-pearl").fit(below, **ROLES).estimands)
    with pytest.raises(
        InputError, match=r"the RR is a ratio .* range is -3 to 4; set outcome_range .* ask for the ATE"
    ):
        IVBounds(method="balke-pearl", estimand="RR").fit(below, **ROLES)
    many = IVBounds(method="balke-pearl", estimand="RR").fit_many(below | {"site": [0] * 240}, by="site", **ROLES)
    assert many["error"][0].startswith("the RR is a ratio")
    code, _, err = run("counts", *map(str, CHOLESTYRAMINE), "-m", "late", "--estimand", "ATT")
    assert code == 2 and "method 'late' has no bounds on the ATT; it has: LATE, ITT. Methods that have it: ivicl" in err


def test_nobody_treated():
    nobody = [10, 20, 0, 0, 12, 18, 0, 0]
    found = told("balke-pearl", IVData.from_counts(nobody))
    assert "ATT" not in found and "LIFT" not in found and found["ATU"].estimate_lower < 0 < found["ATU"].estimate_upper
    with pytest.raises(InputError, match="average over the treated, of whom there are none"):
        IVBounds(method="balke-pearl", estimand="ATT").fit_counts(nobody)


@pytest.mark.parametrize("method", ["ivicl", "balke-pearl", "sharp"])
@pytest.mark.parametrize("cells", [(30, 33, 25, 32), (30, 32, 25, 33), (25, 32, 30, 33)])
def test_nobody_up_to_rounding(method, cells):
    """Where all have one treatment, arms that differ contradict the instrument, and the nearest law rounds."""
    a, b, c, d = cells
    untreated, treated = (
        told(method, IVData.from_counts(n)) for n in ([a, b, 0, 0, c, d, 0, 0], [0, 0, a, b, 0, 0, c, d])
    )
    assert "ATT" not in untreated and "LIFT" not in untreated and "ATU" in untreated
    assert "ATU" not in treated and "ATT" in treated


def test_rows_of_many_studies_are_those_of_each_alone():
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(
        [
            {"study": i, "z": z, "t": t, "y": y, "people": int(n)}
            for i, table in enumerate(random_tables(5, rng))
            for (z, t, y), n in np.ndenumerate(table)
            if n
        ]
    )
    roles = dict(outcome="y", treatment="t", instrument="z", weights="people")
    many = IVBounds(method="balke-pearl").fit_many(frame, by="study", **roles)
    assert many["error"].null_count() == len(many) >= 4
    for row in many.rows(named=True):
        alone = IVBounds(method="balke-pearl").fit(frame.filter(pl.col("study") == row["study"]), **roles)
        for name in ("ATT", "LIFT", "ITT", "LATE"):
            entry = alone.estimands[name]
            found = [row[f"{name.lower()}_{end}"] for end in ("lower", "upper")]
            assert found == [entry.lower, None if entry.upper is None else pytest.approx(entry.upper)]
        assert row["itt_estimate"] == alone.estimands["ITT"].estimate_lower
        assert row["late_estimate"] == alone.estimands["LATE"].estimate_lower
        assert row["att_estimate_lower"] == alone.estimands["ATT"].estimate_lower


def test_the_command_line_asks_too(run):
    code, out, _ = run("counts", *map(str, CHOLESTYRAMINE), "-m", "no-defiers", "--estimand", "ATU")
    assert code == 0 and "average effect on the untreated (ATU)" in out


def test_points_that_lie_evenly_tell_what_many_draws_tell():
    """Quantiles of the effect of the instrument, and of the effect on the treated, against 100,000 random draws."""
    tables = [[3500, 1500, 0, 0, 1200, 800, 1500, 1500], [330, 120, 30, 20, 120, 80, 150, 150]]
    cells = [CellMoments.of(d.z, d.t, d.y01, d.w, True) for d in map(IVData.from_counts, tables)]
    assert all(settled(each) for each in cells), "nobody treated in an arm of 5,000 does not matter"
    few = IVData.from_counts(CHOLESTYRAMINE)
    assert not settled(CellMoments.of(few.z, few.t, few.y01, few.w, True))

    def ends(laws):
        bounds, possible = sharp(laws, np.array(0.5))
        itt = laws[..., 1, :, 1].sum(axis=-1) - laws[..., 0, :, 1].sum(axis=-1)
        return [itt, *by_name(bounds, Seen.of(possible, np.array(0.5)))["ATT"]]

    for k, each in enumerate(cells):
        even = ends(spread_laws(cells, seed=0)[:, k])
        drawn = ends(draw_laws(each, 100_000, np.random.default_rng(1)))
        for found, expected in zip(even, drawn, strict=True):
            for level in (0.025, 0.5, 0.975):
                off = np.quantile(found, level) - np.quantile(expected, level)
                assert abs(off) < 0.2 * expected.std(), (k, level)
        np.testing.assert_array_equal(spread_laws([each], 0)[:, 0], spread_laws(cells, 0)[:, k])
