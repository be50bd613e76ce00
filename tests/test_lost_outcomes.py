"""Outcomes lost of people whose instrument and treatment are known: counted, tested, dropped or left free."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from every_method import QUICK, ROLES, small_table
from ivicl import IVBounds, IVData
from ivicl.errors import InputError
from ivicl.identification.losses import DOWN, free_ends
from ivicl.methods.lost import beyond_the_fill, fills
from ivicl.methods.registry import shipped
from ivicl.results.result import BoundsResult
from ivicl.results.saved import schema
from test_lost_identification import program

TWELVE = [150, 14, 8, 0, 0, 0, 50, 12, 2, 20, 75, 6]
SPARSE = [51, 0, 2, 0, 39, 8, 45, 0, 0, 1, 0, 54]
"""A table for which the fill is too narrow."""


def lossy_table(amounts: bool = False, share: float = 0.25, seed: int = 0) -> dict[str, np.ndarray]:
    """The small table of all methods, with outcomes lost among the treated of arm 1 and a few elsewhere."""
    table = small_table(amounts=amounts)
    rng = np.random.default_rng(seed)
    chance = np.where((table["z"] == 1) & (table["t"] == 1), share, 0.03)
    table["y"] = np.where(rng.random(len(chance)) < chance, np.nan, table["y"])
    return table


def test_losses_are_counted_in_people_whatever_else_is_missing() -> None:
    nan = np.nan
    table = {
        "y": [0, 1, nan, nan, nan, nan, 1, 0],
        "t": [0, 1, 1, 0, nan, 1, 0, 1],
        "z": [0, 1, 1, 0, 1, 0, 1, 0],
        "x": [1.0, 2, 3, 4, 5, nan, 7, 8],
        "w": [3, 2, 5, 7, 11, 13, 1, 1],
    }
    roles = ROLES | {"covariates": ["x"], "weights": "w"}
    dropped = IVData.from_frame(table, **roles)
    kept = IVData.from_frame(table, **roles, missing_outcome="bounds")
    assert dropped.report.lost == kept.report.lost == ((7, 0), (0, 5))
    assert dropped.lost is None and dropped.n == 7 and dropped.report.n_dropped == 4
    assert kept.lost is not None and kept.n == 7 and kept.lost.n == 12 and kept.report.n_dropped == 2
    assert kept.lost.x.ravel().tolist() == [3.0, 4.0]
    assert "2 rows without outcome 'y' kept: it may have been anything in the range" in kept.report.notes
    indicated = IVData.from_frame(table, **roles, missing="indicator", missing_outcome="bounds")
    assert indicated.report.lost == ((7, 13), (0, 5))


def test_what_is_filled_pulls_the_effect_down_and_up() -> None:
    data = IVData.from_counts(TWELVE, "bounds")
    down, up = data.filled().counts(), data.filled(up=True).counts()
    np.testing.assert_array_equal(down - data.counts(), [[[0, 8], [0, 0]], [[0, 2], [6, 0]]])
    np.testing.assert_array_equal(up - data.counts(), [[[8, 0], [0, 0]], [[2, 0], [0, 6]]])


def test_a_share_of_the_lost_is_whole_people_whatever_the_order_of_the_rows() -> None:
    rng = np.random.default_rng(4)
    table = lossy_table() | {"x": rng.normal(size=240), "w": rng.integers(1, 5, 240)}
    ones = np.array([[0.3, 0.5], [0.25, 0.4]])
    roles = ROLES | {"covariates": ["x"], "weights": "w", "missing_outcome": "bounds"}
    order = rng.permutation(240)
    first, second = (
        IVData.from_frame({k: v[rows] for k, v in table.items()}, **roles).filled(ones=ones).merged()
        for rows in (np.arange(240), order)
    )
    np.testing.assert_array_equal(
        np.column_stack([first.x, first.y, first.w]), np.column_stack([second.x, second.y, second.w])
    )
    assert (first.w == np.round(first.w)).all() and first.n == table["w"].sum()
    lost = IVData.from_frame(table, **roles)
    added = first.counts() - lost.counts()
    np.testing.assert_allclose(added[..., 1], ones * lost.lost_counts(), atol=0.5)


def test_counts_and_rows_are_the_same_data() -> None:
    rows = [(z, t, y) for z in (0, 1) for t in (0, 1) for y in (0.0, 1.0, None)]
    frame = pl.DataFrame(rows, schema=["z", "t", "y"], orient="row").with_columns(w=pl.Series(TWELVE))
    for policy in ("drop", "bounds"):
        counted = IVBounds().fit_counts(np.reshape(TWELVE, (2, 2, 3)), missing_outcome=policy)
        read = IVBounds().fit(frame, **ROLES, weights="w", missing_outcome=policy)
        assert (counted.lower, counted.upper) == pytest.approx((read.lower, read.upper), abs=1e-6)
        assert counted.n == read.n == (337 if policy == "bounds" else 321)
        assert counted.diagnostics.losses == read.diagnostics.losses


@pytest.mark.parametrize("counts", [TWELVE, SPARSE])
def test_balke_pearl_and_sharp_are_the_program(counts: list[int]) -> None:
    cells = np.reshape(counts, (2, 2, 3)) / np.sum(np.reshape(counts, (2, 6)), axis=1)[:, None, None]
    for method in ("balke-pearl", "sharp"):
        found = IVBounds(method=method).fit_counts(counts, missing_outcome="bounds")
        assert (found.lower, found.upper) == pytest.approx(program(cells), abs=1e-7)


def test_another_fill_is_chosen_where_the_fill_is_too_narrow() -> None:
    data = IVData.from_counts(SPARSE, "bounds")
    assert max(beyond_the_fill(data, DOWN, 1 - DOWN)) > 0.02
    # At the sample's law the worst completion leaves nothing to be moved.
    assert beyond_the_fill(data, *fills(data)) == pytest.approx((0.0, 0.0), abs=1e-9)
    usual = IVData.from_counts(TWELVE, "bounds")
    assert np.array_equal(fills(usual), [DOWN, 1 - DOWN])
    assert beyond_the_fill(usual, DOWN, 1 - DOWN) == pytest.approx((0.0, 0.0), abs=1e-12)
    found = IVBounds(method="exact", **QUICK["exact"]).fit_counts([20 * n for n in SPARSE], missing_outcome="bounds")
    lower, upper = free_ends(np.reshape(SPARSE, (2, 2, 3)) / 100)
    assert found.estimates is not None
    assert (found.estimates.lower, found.estimates.upper) == pytest.approx((float(lower), float(upper)), abs=0.02)


@pytest.mark.parametrize("amounts", [False, True])
@pytest.mark.parametrize("name", sorted(shipped()))
def test_every_method_leaves_them_free_or_says_that_it_cannot(name: str, amounts: bool) -> None:
    if amounts and name in ("exact", "bayes"):
        pytest.skip("binary outcomes only")
    table, own = lossy_table(amounts), QUICK.get(name, {})
    fit = IVBounds(method=name, **own).fit
    roles = ROLES | {"covariates": ["old"]}
    if shipped()[name].lost_outcomes == "no":
        with pytest.raises(InputError, match=f"method '{name}' cannot leave lost outcomes free"):
            fit(table, **roles, missing_outcome="bounds")
        return
    free = fit(table, **roles, missing_outcome="bounds")
    assert free.n == 240 and free.diagnostics.losses is not None and free.diagnostics.losses.free
    # Whatever the lost outcomes are, the answer for the completed table lies inside.
    lost = np.isnan(table["y"])
    low, high = free.outcome_range
    for chance in (0.0, 0.5, 1.0):
        rng = np.random.default_rng(7)
        completed = table | {"y": np.where(lost, np.where(rng.random(240) < chance, high, low), table["y"])}
        one = fit(completed, **roles)
        slack = 0.02 * (high - low) if name in ("exact", "ivicl") else 1e-9
        assert free.lower <= one.lower + slack and one.upper <= free.upper + slack


def test_without_defiers_the_program_is_used_and_not_the_fill_alone() -> None:
    cells = [40, 20, 0, 0, 40, 0, 10, 10, 0, 10, 30, 40]
    found = IVBounds(method="no-defiers").fit_counts(cells, missing_outcome="bounds")
    shares = np.reshape(cells, (2, 2, 3)) / 100
    assert (found.lower, found.upper) == pytest.approx(program(shares, defiers=False), abs=1e-7)


def test_bounds_inside_strata_keep_the_lost_with_their_stratum() -> None:
    table = lossy_table()
    found = IVBounds(method="balke-pearl", within="covariates").fit(
        table, **ROLES, covariates=["old"], missing_outcome="bounds"
    )
    parts = []
    for value in (0, 1):
        here = table["old"] == value
        part = IVBounds(method="balke-pearl").fit(
            {k: v[here] for k, v in table.items()}, **ROLES, missing_outcome="bounds"
        )
        parts.append((here.mean(), part.lower, part.upper))
    assert found.lower == pytest.approx(sum(share * low for share, low, _ in parts))
    assert found.upper == pytest.approx(sum(share * high for share, _, high in parts))


def test_nobody_lost_changes_nothing() -> None:
    table = small_table()
    for name in ("ivicl", "balke-pearl", "no-defiers", "late"):
        free, dropped = (
            IVBounds(method=name).fit(table, **ROLES, missing_outcome=policy) for policy in ("bounds", "drop")
        )
        assert free.to_dict() == dropped.to_dict()
        assert free.diagnostics.losses is None and not any(f.name == "lost outcomes" for f in free.findings)
        assert "lost-at-random" not in free.assumptions


def test_an_interval_for_the_effect_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match="prior for the lost outcomes; with missing_outcome='bounds' ask for the set"):
        IVBounds(covers="effect").fit_counts(TWELVE, missing_outcome="bounds")
    with pytest.raises(InputError, match="sensitivity does not know lost outcomes"):
        IVBounds(method="balke-pearl").fit_counts(TWELVE, missing_outcome="bounds").sensitivity("exclusion")
    with pytest.raises(InputError, match="missing_outcome must be 'drop' or 'bounds', but is 'fill'"):
        IVBounds().fit(small_table(), **ROLES, missing_outcome="fill")
    table = small_table()
    table["y"] = np.where(table["z"] == 1, np.nan, table["y"])
    with pytest.raises(InputError, match="outcome 'y' is lost for everybody whose instrument 'z' is 1"):
        IVBounds().fit(table, **ROLES, missing_outcome="bounds")


def test_uneven_loss_is_a_look_with_by_how_much_and_what_to_do() -> None:
    res = IVBounds(method="balke-pearl").fit(lossy_table(), **ROLES)
    finding = next(f for f in res.findings if f.name == "lost outcomes")
    losses = res.diagnostics.losses
    assert losses is not None and finding.grade == "look" and res.grade == "look"
    assert losses.p_arms < 0.01 and "between the arms (p < 0.0001)" in finding.sentence
    assert f"{losses.lower_move:.3g} further down" in finding.sentence and "--missing-outcome bounds" in finding.remedy
    free = IVBounds(method="balke-pearl").fit(lossy_table(), **ROLES, missing_outcome="bounds")
    assert res.lower - losses.lower_move == pytest.approx(free.lower)
    assert res.upper + losses.upper_move == pytest.approx(free.upper)
    assert next(f for f in free.findings if f.name == "lost outcomes").grade == "ok"
    assert "lost-at-random" in res.assumptions and "lost-at-random" not in free.assumptions


def test_a_few_lost_at_random_are_no_alarm() -> None:
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(100):
        z = rng.integers(0, 2, 2000)
        t = (rng.random(2000) < 0.2 + 0.5 * z).astype(int)
        y = np.where(rng.random(2000) < 0.015, np.nan, rng.random(2000) < 0.3 + 0.2 * t)
        res = IVBounds(method="balke-pearl").fit({"z": z, "t": t, "y": y}, **ROLES)
        alarms += next(f for f in res.findings if f.name == "lost outcomes").grade != "ok"
    assert alarms <= 6


def test_treatment_matters_for_the_test_too() -> None:
    """Both arms lose a fifth of their people, but only treated ones."""
    counts = [40, 40, 0, 5, 5, 10, 5, 5, 0, 30, 40, 20]
    losses = IVBounds(method="manski").fit_counts([5 * n for n in counts]).diagnostics.losses
    assert losses is not None and losses.p_treatment < 1e-6
    even = IVBounds(method="manski").fit_counts([40, 40, 20, 8, 8, 4, 8, 8, 4, 40, 40, 20]).diagnostics.losses
    assert even is not None and even.p_treatment > 0.99 and even.p_arms > 0.99


def test_rows_json_report_and_files_carry_it(tmp_path) -> None:
    import jsonschema

    res = IVBounds().fit(lossy_table(), **ROLES, missing_outcome="bounds")
    jsonschema.validate(json.loads(res.to_json()), schema())
    res.save(tmp_path / "res.json")
    assert BoundsResult.load(tmp_path / "res.json").to_dict() == res.to_dict()
    row = res.row()
    assert row["n_lost"] == res.diagnostics.losses.total and row["lost_outcomes"] == "free"
    assert row["lost_if_z1"] > row["lost_if_z0"] > 0 and row["posterior_median"] is None
    assert "each may have been anything in the range" in " ".join(res.summary().split())
    page = res.report(tmp_path / "page.html").read_text()
    assert "Outcomes lost" in page and "could have any value in the range" in page


def test_many_studies_are_the_same_as_one_by_one() -> None:
    frames = [lossy_table(seed=seed) | {"study": np.full(240, seed)} for seed in range(3)] + [
        small_table() | {"study": np.full(240, 9)}
    ]
    whole = {name: np.concatenate([frame[name] for frame in frames]) for name in frames[0]}
    for method in ("ivicl", "balke-pearl"):
        roles = ROLES | {"covariates": ["old"], "missing_outcome": "bounds"}
        many = IVBounds(method=method).fit_many(whole, by="study", **roles)
        for frame, row in zip(frames, many.iter_rows(named=True), strict=True):
            one = IVBounds(method=method).fit(frame, **roles).row()
            assert {k: row[k] for k in ("n", "n_lost", "lost_outcomes", "findings")} == {
                k: one[k] for k in ("n", "n_lost", "lost_outcomes", "findings")
            }
            assert (row["lower"], row["upper"]) == pytest.approx((one["lower"], one["upper"]), abs=2e-4)


def test_the_commands_take_it(run, tmp_path) -> None:
    path = tmp_path / "trial.csv"
    pl.DataFrame(lossy_table() | {"s": np.zeros(240)}).with_columns(pl.col("y").fill_nan(None)).write_csv(path)
    roles = ("-y", "y", "-t", "t", "-z", "z", "-m", "balke-pearl", "--missing-outcome", "bounds")
    code, out, _ = run("fit", str(path), *roles, "--format", "json")
    assert code == 0 and json.loads(out)["diagnostics"]["losses"]["free"]
    batch = tmp_path / "out.jsonl"
    assert run("batch", str(path), "--by", "s", *roles, "-o", str(batch))[0] == 0
    assert json.loads(batch.read_text())["lower"] == pytest.approx(json.loads(out)["lower"])
    assert "free" in run("compare", str(path), *roles, "--format", "csv")[1]
    code, out, _ = run("check", str(path), *roles[:6], "--missing-outcome", "bounds")
    assert code == 0 and "Outcomes lost" in out
    code, out, _ = run("counts", *map(str, TWELVE), "-m", "manski", "--format", "json", "--missing-outcome", "bounds")
    assert code == 0 and json.loads(out)["n"] == 337
    code, _, err = run("counts", *map(str, TWELVE[:10]))
    assert code == 2 and "twelve where y is 0, 1 or lost" in err


@pytest.mark.parametrize("method", ["ivicl", "balke-pearl", "late"])
@pytest.mark.parametrize("design", [{"cluster": "c"}, {"sampling_weights": "s"}])
def test_lost_outcomes_and_a_design_go_together(method: str, design: dict[str, str]) -> None:
    table = lossy_table(share=0.3) | {"c": np.arange(240) // 4, "s": 1.0 + np.arange(240) % 3}
    free, dropped = (
        IVBounds(method=method).fit(table, **ROLES, **design, missing_outcome=policy) for policy in ("bounds", "drop")
    )
    assert free.n == 240 and free.lower < dropped.lower and dropped.upper < free.upper
    table = small_table() | {"c": np.arange(240) // 4, "s": 1.0 + np.arange(240) % 3}
    whole = IVBounds(method=method).fit(table, **ROLES, **design)
    assert free.lower < whole.lower and whole.upper < free.upper


def test_an_estimate_on_the_ladder_is_not_printed_as_an_interval_of_the_level() -> None:
    """Where lost outcomes are free, the classical rungs are estimates: their line says so, and has one interval."""
    summary = IVBounds("balke-pearl").fit_counts(TWELVE, missing_outcome="bounds").summary()
    line = next(line for line in summary.splitlines() if line.startswith("  Manski with the instrument"))
    assert line.endswith("estimated, no covariates") and line.count("[") == 1
