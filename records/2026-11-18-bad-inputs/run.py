"""Twenty-five bad inputs and what is answered: python records/2026-11-18-bad-inputs/run.py > table.md

Each command must end with exit code 2 and one line on standard error; each call in Python with one sentence.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import numpy as np
import polars as pl

from ivicl import BoundsResult, IVBounds, IVICLError, compare, datasets, plan
from ivicl.cli import main

ROLES = {"outcome": "y", "treatment": "t", "instrument": "z"}
FLAGS = "-y y -t t -z z"


def files() -> None:
    """The folder of bad files."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 60)
    good = {"z": z, "t": z * rng.integers(0, 2, 60), "y": rng.integers(0, 2, 60), "age": rng.integers(20, 60, 60)}
    frame = pl.DataFrame(good)
    frame.write_csv("good.csv")
    frame.with_columns(z=pl.Series(rng.integers(0, 3, 60))).write_csv("three-arms.csv")
    frame.with_columns(t=pl.lit(0)).with_columns(z=pl.lit(1)).write_csv("one-arm.csv")
    frame.with_columns(y=pl.Series(["12,5", "7,1", "3,4"] * 20)).write_csv("commas.csv")
    frame.with_columns(w=pl.lit(-1.0)).write_csv("negative.csv")
    frame.with_columns(w=pl.lit(0.5)).write_csv("halves.csv")
    frame.with_columns(y=pl.lit(None, dtype=pl.Float64)).write_csv("no-outcome.csv")
    frame.with_columns(school=pl.col("z").map_elements(lambda v: f"s{v}", return_dtype=pl.String)).write_csv(
        "two-schools.csv"
    )
    frame.rename({"y": " Y "}).write_csv("spaces.csv")
    Path("empty.csv").write_text("")
    Path("only-names.csv").write_text("z,t,y\n")
    Path("really.xlsx").write_text("this is not Excel")
    Path("cut.parquet").write_bytes(b"PAR1 and no more")
    Path("note.docx").write_text("words")
    Path("damaged.json").write_text('{"kind": "ivicl-bounds", "schema": 2')
    Path("folder").mkdir()


def commands() -> list[str]:
    return [
        f"fit nowhere.csv {FLAGS}",
        f"fit empty.csv {FLAGS}",
        f"fit only-names.csv {FLAGS}",
        f"fit folder {FLAGS}",
        f"fit really.xlsx {FLAGS}",
        f"fit cut.parquet {FLAGS}",
        f"fit note.docx {FLAGS}",
        f"fit three-arms.csv {FLAGS}",
        f"fit one-arm.csv {FLAGS}",
        f"fit commas.csv {FLAGS}",
        f"fit no-outcome.csv {FLAGS}",
        f"fit spaces.csv {FLAGS}",
        f"fit negative.csv {FLAGS} -w w",
        f"fit halves.csv {FLAGS} -w w",
        f"fit good.csv {FLAGS} -x y",
        f"fit good.csv {FLAGS} --report bounds.pdf",
        f"fit good.csv {FLAGS} --plot picture.docx",
        f"fit good.csv {FLAGS} --cap 120%",
        f"fit good.csv {FLAGS} --alpha 95",
        f"fit two-schools.csv {FLAGS} --cluster school",
        "counts 158 14 0 0 52 12 23",
        "plan --n 500 --takeup 1.7 --rates 0.3,0.6",
    ]


def calls() -> dict[str, object]:
    frame = datasets.load("cholestyramine")
    return {
        'IVBounds().fit(df, outcome=df["y"], ...)': lambda: IVBounds().fit(
            frame, outcome=frame["y"], treatment="t", instrument="z"
        ),
        'IVBounds("balke-perl").fit(df, ...)': lambda: IVBounds("balke-perl").fit(frame, **ROLES),
        'IVBounds(estimand="CATE").fit(df, ...)': lambda: IVBounds(estimand="CATE").fit(frame, **ROLES),
        'IVBounds().fit("trial.csv", ...)': lambda: IVBounds().fit("good.csv", **ROLES),
        "IVBounds().fit(df, ..., outcome_range=(1, 0))": lambda: IVBounds().fit(frame, **ROLES, outcome_range=(1, 0)),
        'BoundsResult.load("damaged.json")': lambda: BoundsResult.load("damaged.json"),
        "compare(df, methods=[], ...)": lambda: compare(frame, methods=[], **ROLES),
        "plan(n=-5, takeup=0.7, rates=(0.3, 0.6))": lambda: plan(n=-5, takeup=0.7, rates=(0.3, 0.6)),
    }


def told(line: str) -> str:
    """What the command says; it must be one line and exit code 2."""
    said, out = io.StringIO(), io.StringIO()
    code: object = 0
    with mock.patch.object(sys, "argv", ["ivicl", *shlex.split(line)]), redirect_stderr(said), redirect_stdout(out):
        try:
            main()
        except SystemExit as stopped:
            code = stopped.code
    text = said.getvalue().strip()
    return (
        text if code == 2 and "\n" not in text else f"NOT ONE SENTENCE, exit code {code}: {text or out.getvalue()[:80]}"
    )


def answered(call: object) -> str:
    try:
        call()  # type: ignore[operator]
    except IVICLError as error:
        return str(error)
    except Exception as error:
        return f"NOT ONE SENTENCE: {type(error).__name__}: {error}"
    return "NOT REFUSED"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        files()
        rows = [(f"`ivicl {line}`", told(line)) for line in commands()]
        rows += [(f"`{call}`", answered(run)) for call, run in calls().items()]
        os.chdir("/")
    print("| input | answer |\n|---|---|")
    for asked, answer in rows:
        print(f"| {asked} | {answer.replace('|', chr(92) + '|').replace(scratch, '.')} |")
