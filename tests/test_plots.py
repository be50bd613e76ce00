from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from ivicl import IVBounds
from ivicl.errors import InputError
from ivicl.methods.pretrained.runtime import Model
from stand_in import StandIn, made_up

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}
KINDS = ["posterior", "levels", "ladder", "compliance"]


@pytest.fixture(scope="module")
def result():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Model, "shipped", staticmethod(lambda: StandIn()))
        return IVBounds().fit(made_up(400), covariates=["x0"], **ROLES)


@pytest.mark.parametrize("kind", KINDS)
def test_each_picture_has_its_data_and_saves(result, kind, tmp_path):
    picture = result.plot(kind)
    assert len(picture.to_frame()) >= 4
    assert picture.caption.endswith(".")
    for ending in ("png", "svg", "pdf"):
        path = picture.save(tmp_path / f"{kind}.{ending}")
        assert path.stat().st_size > 1000
        one, other = (result.plot(kind).save(tmp_path / f"{name}.{ending}") for name in ("one", "other"))
        assert one.read_bytes() == other.read_bytes()
    first, second = result.plot(kind).svg(), result.plot(kind).svg()
    assert first == second
    assert first.startswith("<svg")


def test_the_data_are_those_of_the_result(result):
    picture = result.plot("posterior")
    assert "comes from the prior, not from the data" in picture.figure.get_supxlabel()
    frame = picture.to_frame()
    density, effect = frame["density"].to_numpy(), frame["effect"].to_numpy()
    assert (density * (effect[1] - effect[0])).sum() == pytest.approx(1)
    levels = result.plot("levels").to_frame()
    row = levels.filter(np.isclose(levels["credibility_percent"].to_numpy(), 95)).row(0, named=True)
    assert (row["lower"], row["upper"]) == pytest.approx((result.lower, result.upper))
    people = result.plot("compliance").to_frame()
    assert people["people"].sum() == result.n
    ladder = result.plot("ladder").to_frame()
    assert ladder["method"].to_list() == ["manski", "manski-iv", "balke-pearl", "ivicl", "ivicl", "late", "late"]
    assert ladder["adjusted"].to_list() == [False, False, False, False, True, False, True]


def test_what_cannot_be_drawn_is_said(result, tmp_path):
    with pytest.raises(InputError, match="posterior, levels"):
        result.plot("pie")
    with pytest.raises(InputError, match="no posterior"):
        IVBounds(method="manski").fit(made_up(50), **ROLES).plot()
    with pytest.raises(InputError, match=r"a\.docx"):
        result.plot("ladder").save(tmp_path / "a.docx")


def test_no_global_state_of_matplotlib_is_touched():
    code = (
        "import sys, matplotlib\n"
        "from ivicl.results.pictures import STYLE\n"
        "before = [matplotlib.rcParams[name] for name in STYLE]\n"
        "from ivicl import IVBounds\n"
        "res = IVBounds(method='balke-pearl').fit_counts([[[158, 14], [0, 0]], [[52, 12], [23, 78]]])\n"
        "res.plot('ladder').svg(); res.plot('compliance').svg()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert [matplotlib.rcParams[name] for name in STYLE] == before\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
