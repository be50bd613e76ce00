"""Where a batch keeps its rows while it runs: a journal of JSON lines beside the output, which becomes the output.

Parquet cannot be appended to, and a half-written CSV cannot be told from a whole one. So rows are written to
`<output>.partial.jsonl` as they come; when all are there, the complete output is made and the journal deleted. Rows are
not kept in memory: of a hundred thousand studies it holds only the numbers of those that are done.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ivicl._shared.records import json_safe
from ivicl._shared.writing import cannot_be_written
from ivicl.errors import InputError
from ivicl.methods.registry import resolve
from ivicl.results.rows import blank_row, frame_of
from ivicl.scale.many import Studies
from ivicl.scale.outcomes import OutcomeStudies
from ivicl.version import __version__

if TYPE_CHECKING:
    import polars as pl

    from ivicl.estimator import IVBounds

KINDS = (".parquet", ".csv", ".jsonl")


def describe(estimator: IVBounds, studies: Studies | OutcomeStudies) -> dict[str, Any]:
    """What must be the same for rows of two runs to belong together."""
    if isinstance(studies, OutcomeStudies):
        parts = [describe(estimator, part) for part in studies.parts]
        differ = {name: [part[name] for part in parts] for name in parts[0] if name.startswith("argument ")}
        return parts[0] | differ | {"data": [part["data"] for part in parts], "studies": len(studies)}
    digest = hashlib.sha256()
    for name in sorted(studies.table.columns):
        column = studies.table.columns[name]
        digest.update(f"{name} {column.kind}".encode())
        values = np.where(column.missing, "" if column.kind == "text" else 0.0, column.values)
        digest.update("\x1f".join(values).encode() if column.kind == "text" else values.tobytes())
        digest.update(column.missing.tobytes())
    digest.update(studies.table.rows.tobytes())
    if studies.table.within is not None:
        digest.update(studies.table.within.sd.tobytes())
    digest.update(repr(studies.keys).encode())
    request, method = estimator.request(), resolve(estimator.method)
    settings = {"version": __version__, "method": method.name} | method.stamps(request)
    settings |= {name: value for name, value in asdict(request).items() if name not in ("progress", "own")}
    settings |= {f"option {name}": str(value) for name, value in asdict(request.own).items()}
    settings |= {f"argument {name}": value for name, value in studies.roles.to_dict().items()}
    settings["argument by"] = studies.by
    described: dict[str, Any] = json_safe(settings | {"data": digest.hexdigest(), "studies": len(studies)})
    return described


class Store:
    """The rows of a batch by study number; a context manager that closes the journal at the end."""

    def __init__(self, output: str, settings: dict[str, Any], resume: bool, overwrite: bool) -> None:
        self.to_stdout = output == "-"
        self.done: set[int] = set()
        """Studies that have a row, including those of an earlier run."""
        self.failed = 0
        """How many studies have an error, including those of an earlier run."""
        self.stopped = 0
        """How many studies are of grade stop, including those of an earlier run."""
        self._journal: Any = None
        if self.to_stdout:
            return
        self.output = Path(output)
        self.journal = self.output.with_name(self.output.name + ".partial.jsonl")
        if self.output.suffix not in KINDS:
            raise InputError(f"the output must end in {', '.join(KINDS)}, but is '{output}'.")
        if not self.output.parent.is_dir():
            raise InputError(
                f"there is no folder '{self.output.parent}' for the output; make it first, or name another."
            )
        if resume and self.journal.exists():
            self._read(settings)
        elif resume and self.output.exists():
            raise InputError(f"'{output}' is complete: there is nothing to resume; --overwrite computes it again.")
        elif not overwrite and self.output.exists():
            raise InputError(f"'{output}' exists already; give --overwrite to replace it.")
        elif not overwrite and self.journal.exists():
            raise InputError(f"a batch was interrupted ('{self.journal}'); give --resume to go on, or --overwrite.")
        if not self.done:
            try:
                self.journal.write_text(json.dumps({"settings": settings}) + "\n", encoding="utf-8")
            except OSError as error:
                raise cannot_be_written(self.output, error) from error

    def _read(self, settings: dict[str, Any]) -> None:
        """Read what an earlier run did. If it was killed while writing, it left half a line: that study is not done."""
        whole = 0
        before = settings
        try:
            for number, line in enumerate(self._lines()):
                if number == 0:
                    before = json.loads(line)["settings"]
                else:
                    row = json.loads(line)
                    self.done.add(row["study"])
                    self._count([row["row"]])
                whole += len(line)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"'{self.journal}' is damaged; give --overwrite to start again.") from error
        changed = [name for name in sorted({*before, *settings}) if before.get(name) != settings.get(name)]
        if changed:
            raise InputError(
                f"the batch in '{self.journal}' was started with another {changed[0].removeprefix('argument ')}; "
                "give --overwrite to start again."
            )
        os.truncate(self.journal, whole)

    def _lines(self) -> Iterator[bytes]:
        """The journal's whole lines."""
        with self.journal.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    yield line

    def __enter__(self) -> Store:
        if not self.to_stdout:
            self._journal = self.journal.open("a", encoding="utf-8")
        return self

    def __exit__(self, *error: Any) -> None:
        if self._journal is not None:
            self._journal.close()

    def add(self, studies: list[int], rows: list[dict[str, Any]]) -> None:
        """Write the rows now, so that a crash a second later loses nothing."""
        self._count(rows)
        if self.to_stdout:
            for row in rows:
                sys.stdout.write(json.dumps(json_safe(row), allow_nan=False) + "\n")
            sys.stdout.flush()
            return
        for study, row in zip(studies, rows, strict=True):
            self.done.add(study)
            self._journal.write(json.dumps({"study": study, "row": json_safe(row)}, allow_nan=False) + "\n")
        self._journal.flush()
        os.fsync(self._journal.fileno())

    def _count(self, rows: Iterable[dict[str, Any]]) -> None:
        for row in rows:
            self.failed += row["error"] is not None
            self.stopped += row["grade"] == "stop"

    def finish(self, studies: Studies | OutcomeStudies) -> None:
        """Turn the journal into the output, a few rows at a time; if killed meanwhile, the journal remains."""
        if self.to_stdout:
            return
        fresh, lines = (self.output.with_name(self.output.name + ending) for ending in (".new", ".new.jsonl"))
        with lines.open("wb") as file:
            for number, line in enumerate(self._lines()):
                if number:
                    file.write(json.dumps(json.loads(line)["row"]).encode() + b"\n")
        if self.output.suffix == ".jsonl":
            lines.replace(self.output)
        else:
            _convert(lines, fresh, self.output.suffix, _schema(studies))
            fresh.replace(self.output)
            lines.unlink()
        self.journal.unlink()

    def written(self, studies: Studies | OutcomeStudies) -> pl.DataFrame:
        """The rows of the output, when it is finished."""
        import polars as pl

        if self.output.suffix == ".parquet":
            return pl.read_parquet(self.output)
        read = pl.read_csv if self.output.suffix == ".csv" else pl.read_ndjson
        return read(self.output, schema=_schema(studies))


def _schema(studies: Studies | OutcomeStudies) -> dict[str, Any]:
    import polars as pl

    keys = studies.keys
    names = {name: [key[i] for key in keys] for i, name in enumerate(studies.by)}
    return dict(pl.DataFrame(names, strict=False).schema) | dict(frame_of([blank_row()]).schema)


def _convert(lines: Path, fresh: Path, suffix: str, schema: dict[str, Any]) -> None:
    """Convert JSON lines to Parquet or CSV, as a stream."""
    import polars as pl

    rows = pl.scan_ndjson(lines, schema=schema).select(list(schema))
    if suffix == ".parquet":
        rows.sink_parquet(fresh)
    else:
        rows.sink_csv(fresh)
