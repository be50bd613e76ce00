"""What goes into a paper compiles: every `to_latex`, with names that TeX would choke on, set by a real TeX."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest

from ivicl import BoundsResult, IVBounds, compare, plan
from ivicl.results.tables import _tex

WIDE = r"\usepackage[a4paper, margin=2.5cm]{geometry}"
PAPER = r"""\documentclass{article}
%s
\usepackage{booktabs}
\setlength{\parindent}{0pt}
\begin{document}
%s
\end{document}
"""


def tables() -> dict[str, str]:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 400)
    people = {
        "z_1": z,
        "50% dose": np.where(rng.random(400) < 0.7, z, 1 - z),
        "y & more": rng.integers(0, 2, 400),
        "group^2": rng.choice(["[18, 30]", "*", "~30 #{1}", "a\\b"], 400),
    }
    roles = {"outcome": "y & more", "treatment": "50% dose", "instrument": "z_1", "covariates": ["group^2"]}
    res = IVBounds("balke-pearl").fit(people, **roles)
    found = {
        "result": res,
        "by": res.by("group^2"),
        "sensitivity": res.sensitivity("exclusion", eps=[0, 0.1]),
        "compare": compare(people, methods=["manski", "late"], **roles),
        "plan": plan(n=[400, 4000], takeup=0.8, rates=(0.3, 0.6)),
    }
    return {name: each.to_latex() for name, each in found.items()}


def network() -> BoundsResult:
    """The widest tables: amounts of thousands, below zero too."""
    rng = np.random.default_rng(1)
    z = rng.integers(0, 2, 600)
    t = z * rng.integers(0, 2, 600)
    people = {"z": z, "t": t, "pay": rng.normal(20_000, 20_000, 600).round(), "age": rng.integers(20, 60, 600)}
    return IVBounds().fit(people, outcome="pay", treatment="t", instrument="z", covariates=["age"])


def test_a_minus_is_a_minus_and_a_bracket_does_not_end_the_row():
    assert _tex("[-0.2, 3-4] x-1 -5") == "{}[$-$0.2,~3-4] x-1 $-$5"
    assert _tex("* 5 %") == r"{}* 5 \%"


def test_it_compiles(tmp_path):
    compile_without_overrun(tmp_path, WIDE, tables())


def test_a_result_fits_the_narrow_page_of_an_article(tmp_path):
    compile_without_overrun(tmp_path, "", {"result": tables()["result"], "network": network().to_latex()})


def compile_without_overrun(tmp_path, page, texts):
    if not shutil.which("pdflatex") or subprocess.run(["kpsewhich", "booktabs.sty"], check=False).returncode:
        pytest.skip("no pdflatex with booktabs here; Debian has them in texlive-latex-recommended")
    (tmp_path / "paper.tex").write_text(PAPER % (page, "\n\n\\bigskip\n\n".join(texts.values())), encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 10_000
    wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", done.stdout)]
    assert max(wide, default=0) < 3, f"tables wider than the page, by {wide} points"
