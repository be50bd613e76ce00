"""Bad inputs and what is answered: python records/2026-11-18-bad-inputs/run.py [first | second | odd] > table.md

Each command must end with exit code 2 and one line on standard error; each call in Python with one sentence. Odd but
ordinary files must just be read.
"""

from __future__ import annotations

import gzip
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


def second_files() -> None:
    """Files of the second round, beside those of the first."""
    text = Path("good.csv").read_text()
    rows = text.splitlines()
    frame = pl.read_csv("good.csv")
    n = len(frame)
    block = [f"b{i % 4}" for i in range(n)]

    def outcome(*values: object) -> str:
        lines = zip(frame["z"], frame["t"], range(n), strict=True)
        return "z,t,y\n" + "".join(f"{z},{t},{values[i % len(values)]}\n" for z, t, i in lines)

    texts = {
        "twice.csv": text.replace("age", "y", 1),
        "no-names.csv": text.split("\n", 1)[1],
        "title.csv": "Trial of 2024,,,\n" + text,
        "spaces-between.csv": text.replace(",", " "),
        "ragged.csv": text + "1,0,1,33,44\n",
        "quote.csv": text.replace(rows[1], '"' + rows[1], 1),
        "infinite.csv": outcome("inf", 1, 2),
        "dates.csv": outcome("2024-01-11", "2024-02-11", "2024-03-11"),
        "mixed.csv": outcome(1, 2, 3, "high"),
        "capitals.csv": outcome("Yes", "no", "yes", "No"),
        "money.csv": outcome('"$1,200"', '"$900"', '"$1,500"'),
        "one-row.csv": "z,t,y\n1,1,1\n",
        "other-columns.csv": text.replace("age", "years"),
        "broken.jsonl": '{"z": 1, "t": 1, "y": 0}\n{"z": 0, "t":\n',
        "no-model.onnx": "not a model",
        "future.json": '{"kind": "ivicl-bounds", "schema": 9}',
    }
    for name, content in texts.items():
        Path(name).write_text(content)
    Path("cut.csv.gz").write_bytes(gzip.compress(text.encode())[:60])
    frame.with_columns(w=pl.lit(1e300)).write_csv("huge-weights.csv")
    frame.with_columns(w=pl.lit(0.0)).write_csv("zero-weights.csv")
    frame.with_columns(w=pl.lit("many")).write_csv("text-weights.csv")
    frame.with_columns(person=pl.int_range(n), school=pl.int_range(n) % 6, block=pl.Series(block)).write_csv(
        "blocks.csv"
    )
    frame.with_columns(y=pl.col("age") - 40).write_csv("negative-amounts.csv")
    frame.with_columns(gone=pl.lit(None, dtype=pl.Float64)).write_csv("gone.csv")
    frame.with_columns(y=pl.col("age")).write_csv("amounts.csv")


def second_commands() -> list[str]:
    files = "twice no-names title spaces-between ragged quote infinite dates mixed capitals money one-row".split()
    return [
        *(f"fit {name}.csv {FLAGS}" for name in files),
        f"fit broken.jsonl {FLAGS}",
        f"fit cut.csv.gz {FLAGS}",
        f"fit good.csv other-columns.csv {FLAGS}",
        f"fit 'none-*.csv' {FLAGS}",
        f"fit https://example.org/trial.csv {FLAGS}",
        f"fit good.csv - {FLAGS}",
        f"fit huge-weights.csv {FLAGS} -w w",
        f"fit zero-weights.csv {FLAGS} --sampling-weights w",
        f"fit text-weights.csv {FLAGS} --sampling-weights w",
        f"fit blocks.csv {FLAGS} --strata person",
        f"fit blocks.csv {FLAGS} --cluster school --strata block",
        f"fit gone.csv {FLAGS} -x gone",
        f"fit negative-amounts.csv {FLAGS} -m balke-pearl --estimand RR",
        f"fit amounts.csv {FLAGS} --range 30,40",
        f"fit good.csv {FLAGS} -m late --estimand ATT",
        f"fit good.csv {FLAGS} --model no-model.onnx",
        f"fit good.csv {FLAGS} --alpha five",
        f"fit good.csv {FLAGS} --format xml",
        f"fit good.csv {FLAGS} --one age=30",
        f"fit good.csv {FLAGS} -m balke-pearl -o nowhere/bounds.json",
        f"fit good.csv {FLAGS} -m balke-pearl -f json -o folder",
        f"fit good.csv {FLAGS} -m balke-pearl --report page.html --also by=sex",
        f"batch good.csv --by site {FLAGS} -o bounds.csv",
        "counts 1 2 3 4 5 6 7 -8",
        "counts 1 2 3 4 0 0 0 0",
        "fitt good.csv",
    ]


def second_calls() -> dict[str, object]:
    frame = datasets.load("cholestyramine")
    result = IVBounds("balke-pearl").fit_counts([158, 14, 0, 0, 52, 12, 23, 78])
    return {
        'IVBounds(alpha="0.05").fit(df, ...)': lambda: IVBounds(alpha="0.05").fit(frame, **ROLES),
        "IVBounds(assume=3).fit(df, ...)": lambda: IVBounds(assume=3).fit(frame, **ROLES),
        'IVBounds().fit(df, ..., ones="drug")': lambda: IVBounds().fit(frame, **ROLES, ones="drug"),
        "IVBounds().fit(array, ...)": lambda: IVBounds().fit(np.zeros((8, 3)), **ROLES),
        "IVBounds().fit(list of dictionaries, ...)": lambda: IVBounds().fit(frame.to_dicts(), **ROLES),
        "IVBounds().fit({}, ...)": lambda: IVBounds().fit({}, **ROLES),
        "IVBounds().fit_data(df)": lambda: IVBounds().fit_data(frame),
        'res.save("nowhere/bounds.json")': lambda: result.save("nowhere/bounds.json"),
        "res.interval(0.1), of balke-pearl": lambda: result.interval(0.1),
        'BoundsResult.load("future.json")': lambda: BoundsResult.load("future.json"),
    }


def odd_files() -> dict[str, bytes]:
    """Ordinary, but not what every reader takes: all the same table."""
    text = Path("good.csv").read_text()
    return {
        "a mark of UTF-8 at the start": b"\xef\xbb\xbf" + text.encode(),
        "UTF-16": text.encode("utf-16"),
        "line ends of Windows": text.replace("\n", "\r\n").encode(),
        "line ends of old Macs": text.replace("\n", "\r").encode(),
        "semicolons": text.replace(",", ";").encode(),
        "tabs": text.replace(",", "\t").encode(),
        "vertical bars": text.replace(",", "|").encode(),
        "a blank line after every row": text.replace("\n", "\n\n").encode(),
        "columns without a name at the end": text.replace("\n", ",,\n").encode(),
        "gzip": gzip.compress(text.encode()),
    }


def read_as(content: bytes) -> str:
    """Nothing, if the file means what good.csv means."""
    Path("odd.csv").write_bytes(content)
    answers = {
        name: told(f"fit {name} {FLAGS} -x age -m balke-pearl -f csv", code=0) for name in ("good.csv", "odd.csv")
    }
    return "read as the plain file" if answers["good.csv"] == answers["odd.csv"] else answers["odd.csv"]


def told(line: str, code: int = 2) -> str:
    """What the command says: one line, and exit code 2; or with exit code 0 what it prints."""
    said, out = io.StringIO(), io.StringIO()
    ended: object = 0
    with mock.patch.object(sys, "argv", ["ivicl", *shlex.split(line)]), redirect_stderr(said), redirect_stdout(out):
        try:
            main()
        except SystemExit as stopped:
            ended = stopped.code
    if code == ended == 0:
        return out.getvalue()
    text = said.getvalue().strip()
    if ended == code and "\n" not in text:
        return text
    return f"NOT ONE SENTENCE, exit code {ended}: {text or out.getvalue()[:80]}"


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
        second_files()
        rounds = {"first": (commands, calls), "second": (second_commands, second_calls)}
        rows = []
        for name in sys.argv[1:] or [*rounds, "odd"]:
            if name == "odd":
                rows += [(f"a CSV file with {what}", read_as(content)) for what, content in odd_files().items()]
                continue
            lines, asked = rounds[name]
            rows += [(f"`ivicl {line}`", told(line)) for line in lines()]
            rows += [(f"`{call}`", answered(run)) for call, run in asked().items()]
        os.chdir("/")
    print("| input | answer |\n|---|---|")
    for what, answer in rows:
        print(f"| {what} | {answer.replace('|', chr(92) + '|').replace(scratch, '.')} |")
