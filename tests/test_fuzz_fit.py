"""Odd inputs to `fit`, `fit_many` and `batch`: an answer that can be, or one sentence; never anything else."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from ivicl import IVBounds
from ivicl.cli import app
from ivicl.errors import InputError
from ivicl.methods.pretrained.runtime import Model
from stand_in import StandIn, made_up

pytestmark = pytest.mark.filterwarnings("ignore::ivicl.errors.DesignWarning")  # odd tables often contradict the design

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}


def base(n: int = 60, **changes) -> dict[str, np.ndarray]:
    return made_up(n, amounts=False) | changes


def odd_frames() -> dict[str, tuple[dict, dict]]:
    """Name -> table, and what else `fit` is told."""
    rng = np.random.default_rng(0)
    wide = base() | {f"c{j}": rng.normal(size=60) for j in range(200)}
    names = ["x0", "x1", "x2"]
    return {
        "one row": (base(2) | {k: v[:1] for k, v in base(2).items()}, {}),
        "two rows": (base(2), {"covariates": names}),
        "one arm empty": (base(z=np.zeros(60)), {}),
        "200 covariates": (wide, {"covariates": [f"c{j}" for j in range(200)]}),
        "constant outcome": (base(y=np.zeros(60)), {"covariates": names}),
        "constant amount": (base(y=np.full(60, 7.5)), {"outcome_range": (0, 10)}),
        "constant treatment": (base(t=np.ones(60)), {"covariates": names}),
        "perfect compliance": (base() | {"t": base()["z"]}, {"covariates": names}),
        "perfect defiance": (base() | {"t": 1 - base()["z"]}, {"covariates": names}),
        "duplicated columns": (base() | {"x1": base()["x0"], "x2": -base()["x0"]}, {"covariates": names}),
        "huge scales": (base() | {"x0": base()["x0"] * 1e300}, {"covariates": names}),
        "tiny scales": (base() | {"x0": base()["x0"] * 1e-300, "x1": 1e6 + base()["x1"] * 1e-9}, {"covariates": names}),
        "huge amounts": (base(y=rng.normal(size=60) * 1e200), {"covariates": names}),
        "tiny amounts": (base(y=rng.normal(size=60) * 1e-200), {"covariates": names}),
        "weights of 1e9": (base(w=np.full(60, 10**9)), {"weights": "w", "covariates": names}),
        "weights 1 and 1e9": (base(w=np.where(np.arange(60) % 7, 1, 10**9)), {"weights": "w", "covariates": names}),
        "amounts of weight 1e9": (base(y=rng.normal(size=60), w=np.full(60, 10**9)), {"weights": "w"}),
        "covariate is the instrument": (base() | {"x0": base()["z"]}, {"covariates": names}),
        "constant covariates": (base(x0=np.ones(60), x1=np.zeros(60)), {"covariates": ["x0", "x1"]}),
        "three amounts": (base(y=np.arange(60) % 3), {"covariates": names, "outcome_range": (-5, 5)}),
    }


def check(res) -> None:
    span = res.outcome_range[1] - res.outcome_range[0]
    assert math.isfinite(res.lower) and math.isfinite(res.upper)
    assert -span * (1 + 1e-9) <= res.lower <= res.upper <= span * (1 + 1e-9)
    assert res.posterior.probabilities.min() >= 0
    res.to_json()
    res.summary()


@pytest.mark.parametrize("combine", ["means", "comonotone", "independent", "randomised"])
@pytest.mark.parametrize("name", odd_frames())
def test_odd_inputs_to_fit(name, combine, monkeypatch):
    monkeypatch.setattr(Model, "shipped", staticmethod(lambda: StandIn()))
    frame, more = odd_frames()[name]
    try:
        check(IVBounds(combine=combine).fit(frame, **ROLES, **more))
    except InputError as error:
        assert name in ("one row", "one arm empty"), error
        assert "\n" not in str(error)


def test_odd_inputs_to_the_shipped_model():
    try:
        Model.shipped()
    except InputError as error:
        pytest.skip(str(error))
    for name, (frame, more) in odd_frames().items():
        if name not in ("one row", "one arm empty"):
            check(IVBounds(n_thresholds=4).fit(frame, **ROLES, **more))


def test_odd_studies_share_a_table(monkeypatch):
    monkeypatch.setattr(Model, "shipped", staticmethod(lambda: StandIn()))
    frames = []
    for name, (frame, _) in odd_frames().items():
        n = len(frame["z"])
        columns = {k: np.asarray(frame[k], dtype=float) for k in ("z", "t", "x0", "x1")}
        columns |= {"y": (np.asarray(frame["y"], dtype=float) > 0).astype(float)}
        frames.append(pl.DataFrame(columns | {"w": np.asarray(frame.get("w", np.ones(n)), float), "study": [name] * n}))
    many = IVBounds().fit_many(pl.concat(frames), by="study", weights="w", covariates=["x0", "x1"], **ROLES)
    failed = set(many.filter(pl.col("error").is_not_null())["study"])
    assert failed == {"one row", "one arm empty"}
    fine = many.filter(pl.col("error").is_null())
    assert ((fine["lower"] >= -1) & (fine["lower"] <= fine["upper"]) & (fine["upper"] <= 1)).all()


values = st.one_of(st.sampled_from([0, 1, 2, -1, 0.5, 1e308, -1e308, 1e-308, None]), st.floats(allow_nan=True))
binary = st.one_of(st.sampled_from([0, 1]), st.sampled_from([0, 1, None, 2]))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(st.tuples(binary, binary, values, values, st.sampled_from(["a", "b", None])), max_size=12))
def test_random_tables(rows):
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(5)]
    frame = dict(zip(("z", "t", "y", "x0", "study"), columns, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Model, "shipped", staticmethod(lambda: StandIn()))
        try:
            check(IVBounds(n_thresholds=3).fit(frame, covariates=["x0"], **ROLES))
        except InputError as error:
            assert "\n" not in str(error)
        try:
            many = IVBounds(n_thresholds=3).fit_many(frame, by="study", covariates=["x0"], **ROLES)
        except InputError as error:
            assert "\n" not in str(error)
        else:
            assert (many["error"].is_null() == many["lower"].is_not_null()).all()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    text=st.one_of(st.text(max_size=80), st.text(alphabet="zty,study01\n;.", max_size=80).map("z,t,y,study\n".__add__))
)
def test_random_files_to_batch(text, tmp_path_factory):
    folder = tmp_path_factory.mktemp("batch")
    source = folder / "studies.csv"
    source.write_text(text, encoding="utf-8", errors="replace")
    command = ["batch", str(source), "--by", "study", "-y", "y", "-t", "t", "-z", "z", "-m", "manski-iv"]
    done = CliRunner().invoke(app, [*command, "-o", str(folder / "out.csv")])
    assert done.exit_code == 0 or isinstance(done.exception, InputError), repr(done.exception)
