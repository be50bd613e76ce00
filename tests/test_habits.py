"""What users of scikit-learn, pandas and notebooks expect without being told."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ivicl import IVBounds, compare
from ivicl._shared.frames import as_kind, kind_of
from ivicl.datasets import load
from ivicl.errors import DesignWarning, InputError
from ivicl.results.report.words import data_rows, methods_paragraph
from ivicl.results.result import BoundsResult

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}


def table(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    z, u = rng.integers(0, 2, n), rng.random(n)
    t = (u < 0.2 + 0.5 * z).astype(int)
    y = (rng.random(n) < 0.3 + 0.2 * t).astype(int)
    return pl.DataFrame({"study": ["a", "b"] * (n // 2), "z": z, "t": t, "y": y})


def test_parameters_go_out_and_in() -> None:
    estimator = IVBounds(method="balke-pearl", alpha=0.1, within="covariates")
    params = estimator.get_params()
    assert params["alpha"] == 0.1
    assert params["within"] == "covariates"
    assert IVBounds(**params).get_params() == params
    assert estimator.set_params(alpha=0.2, within="all") is estimator
    assert estimator.alpha == 0.2
    assert estimator.options == {"within": "all"}


def test_set_params_leaves_other_estimators_alone() -> None:
    first = IVBounds(method="balke-pearl", within="covariates")
    second = IVBounds(**first.get_params())
    second.set_params(within="all")
    assert first.options == {"within": "covariates"}


def test_clone() -> None:
    base = pytest.importorskip("sklearn.base")
    copy = base.clone(IVBounds(method="balke-pearl", alpha=0.1, within="covariates"))
    assert repr(copy) == "IVBounds(method='balke-pearl', alpha=0.1, within='covariates')"


def test_repr_is_the_call() -> None:
    assert repr(IVBounds()) == "IVBounds()"
    assert repr(IVBounds(method="late", alpha=0.01)) == "IVBounds(method='late', alpha=0.01)"


def test_frames_come_back_as_they_went_in() -> None:
    polars = IVBounds(method="balke-pearl").fit_many(table(), by="study", **ROLES)
    pandas = IVBounds(method="balke-pearl").fit_many(table().to_pandas(), by="study", **ROLES)
    arrow = IVBounds(method="balke-pearl").fit_many(table().to_arrow(), by="study", **ROLES)
    lazy = IVBounds(method="balke-pearl").fit_many(table().lazy(), by="study", **ROLES)
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(arrow, pa.Table)
    assert isinstance(lazy, pl.DataFrame)
    assert list(pandas.columns) == arrow.column_names == polars.columns == lazy.columns
    assert pandas["lower"].tolist() == arrow["lower"].to_pylist() == polars["lower"].to_list()


def test_every_answer_is_a_frame_of_the_callers_kind() -> None:
    kinds = {pl.DataFrame: table(), pd.DataFrame: table().to_pandas(), pa.Table: table().to_arrow()}
    for kind, frame in kinds.items():
        res = IVBounds("balke-pearl").fit(frame, **ROLES, covariates=["study"])
        by, fragile = res.by("study"), res.sensitivity("exclusion", eps=[0, 0.1])
        side_by_side = compare(frame, methods=["manski", "late"], **ROLES)
        for answer in (res, by, by.results[0], fragile, side_by_side):
            assert type(answer.to_frame()) is kind, (kind, answer)
    assert IVBounds("balke-pearl").fit(table().to_pandas(), **ROLES).to_frame()["lower"].dtype == float
    assert isinstance(IVBounds("manski").fit_counts([9, 1, 2, 3, 4, 5, 6, 7]).to_frame(), pl.DataFrame)


def test_missing_values_survive_the_way_back() -> None:
    frame = pl.DataFrame({"n": [1, None], "lower": [0.5, None], "error": [None, "bad"]})
    back = as_kind(frame, "pandas")
    assert back["n"].isna().tolist() == back["lower"].isna().tolist() == [False, True]
    assert back["error"].isna().tolist() == [True, False]
    assert kind_of({"a": [1]}) == kind_of(frame) == kind_of(frame.lazy()) == "polars"


@pytest.mark.parametrize("outcome", [pl.Series("y", [0, 1]), np.array([0, 1])])
def test_a_column_instead_of_its_name(outcome: object) -> None:
    with pytest.raises(InputError, match=r"outcome must be the name of a column .*IVData\.from_arrays"):
        IVBounds().fit(table(), outcome=outcome, treatment="t", instrument="z")  # type: ignore[arg-type]


def test_notebook_shows_summary_and_ladder() -> None:
    result = IVBounds().fit(load("cholestyramine"), weights="people", **ROLES)
    page = result._repr_html_()
    assert page.count("<svg") == 1
    assert f"{result.lower:.4f}" in page
    assert "Interval" in page
    assert len(page) < 80_000


def test_ids_in_a_notebook_are_the_pictures_own() -> None:
    first, second = (
        IVBounds(method="balke-pearl").fit_counts(counts)._repr_html_()
        for counts in ([158, 14, 0, 0, 52, 12, 23, 78], [100, 14, 0, 0, 52, 12, 23, 78])
    )
    ids = [set(re.findall(r'\bid="([^"]+)"', page)) for page in (first, second)]
    assert ids[0] and not ids[0] & ids[1]
    used = set(re.findall(r'href="#([^"]+)"', first)) | set(re.findall(r"url\(#([^)]+)\)", first))
    assert used <= ids[0]


def test_notebook_leads_with_a_stop_and_escapes_text() -> None:
    counts = {"<b>z": [0, 0, 1, 1], "t": [0, 1, 0, 1], "y": [0, 0, 1, 1], "w": [199, 1, 199, 1]}
    with pytest.warns(DesignWarning):
        result = IVBounds(method="balke-pearl").fit(counts, outcome="y", treatment="t", instrument="<b>z", weights="w")
    page = result._repr_html_()
    assert page.index('role="alert"') < page.index("<table")
    assert "<b>z" not in page


def labelled() -> pl.DataFrame:
    frame = table()
    return frame.with_columns(
        offer=pl.Series(["yes" if z else "no" for z in frame["z"]]),
        site=pl.Series(["north", "south", "west", "east"] * (len(frame) // 4)),
    )


def test_readers_see_the_callers_words() -> None:
    """Values instead of 0 and 1, and variables instead of a column for each level."""
    result = IVBounds(method="balke-pearl", within="covariates").fit(
        labelled(), outcome="y", treatment="t", instrument="offer", covariates=["site"]
    )
    assert len(result.covariates) == 3
    assert result.variables == ("site",)
    words = dict(data_rows(result))
    assert re.fullmatch(r"\d+ with offer = no, \d+ with offer = yes", words["Arms"])
    assert words["Covariates"] == "site (3 columns)"
    assert "covariates were site." in methods_paragraph(result)
    ticks = [tick.get_text() for tick in result.plot("compliance").figure.axes[0].get_yticklabels()]
    assert ticks == ["offer = no", "offer = yes"]
    assert BoundsResult.from_dict(result.to_dict()).variables == ("site",)
