"""Our numbers beside the paper's, cell by cell: Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from ivicl.benchmarks.base import Benchmark
from ivicl.benchmarks.method_spec import has_level, label_of, name_of
from ivicl.benchmarks.paper_tables import METRICS, PAPER_ORDER, Cell, PaperTable
from ivicl.errors import InputError

HEADINGS = {"validity": "Validity", "width": "Width", "seconds_per_1k": "Time/1k (s)"}
DIGITS = {"validity": 2, "width": 3, "seconds_per_1k": 2}


@dataclass(frozen=True)
class ComparedRow:
    """One method on one benchmark: our numbers, and the paper's if it has the method."""

    method: str
    ours: dict[str, Cell | None]
    paper: dict[str, Cell | None]
    covers_effect: float | None
    """Share of intervals that contain the true effect (the same as validity if the identified set is unknown)."""
    covers_bounds_x: float | None
    runs: int
    failed: int

    @property
    def label(self) -> str:
        return label_of(self.method)


@dataclass(frozen=True)
class ComparedTable:
    """One table of the paper beside our runs."""

    title: str
    label: str
    rows: tuple[ComparedRow, ...]
    n: float | None
    """Mean number of people in our data sets."""
    rho: float | None
    paper_rho: float | None
    sharp_width: float | None
    """Mean width of the identified set in our data sets; a shorter interval cannot contain it."""
    levels: str
    """The alpha of each method, in words."""
    threads: tuple[int, ...]
    """How many threads the timed runs had."""
    failures: tuple[str, ...]
    """The distinct errors of runs that failed."""

    @property
    def has_coverage(self) -> bool:
        return any(row.covers_bounds_x is not None for row in self.rows)


def mean_se(values: Sequence[float] | pl.Series) -> Cell | None:
    """Mean and standard error; None without values, and nan as the error of a single value."""
    v = np.array([x for x in values if x is not None], dtype=float)
    if len(v) == 0:
        return None
    return float(v.mean()), float(v.std(ddof=1) / np.sqrt(len(v))) if len(v) > 1 else np.nan


def compare(runs: pl.DataFrame, benchmark: Benchmark, table: PaperTable) -> ComparedTable | None:
    """Our runs beside one table of the paper; None if there are no runs of this table's settings."""
    mine = runs.filter((pl.col("benchmark") == benchmark.name) & pl.col("setting").is_in(list(table.settings)))
    if mine.is_empty():
        return None
    rows = [_row(mine.filter(pl.col("method") == m), m, table) for m in _order(mine["method"].unique().to_list())]
    cases = mine.filter(pl.col("n").is_not_null()).unique(["setting", "seed"], maintain_order=True)
    failed = mine.filter(pl.col("status") == "failed").sort("method")
    return ComparedTable(
        title=table.title,
        label=table.label,
        rows=tuple(rows),
        n=_mean(cases["n"]),
        rho=_mean(cases["rho"]),
        paper_rho=table.rho,
        sharp_width=_mean(cases["sharp_width"]),
        levels=levels_text(mine),
        threads=tuple(sorted(mine.filter(pl.col("timed"))["threads"].unique().to_list())),
        failures=tuple(dict.fromkeys(f"{r['method']}: {r['error']}" for r in failed.iter_rows(named=True))),
    )


def compare_all(runs: pl.DataFrame, benchmark: Benchmark) -> list[ComparedTable]:
    """Those of the paper's tables of a benchmark for which there are runs."""
    return [found for table in benchmark.paper if (found := compare(runs, benchmark, table)) is not None]


def levels_text(runs: pl.DataFrame) -> str:
    """Which alpha each method was asked for: the paper's, or the one in its `@alpha=`."""
    groups: dict[str, dict[str, None]] = {}
    for method, alpha in runs.select("method", "alpha").unique().sort("alpha", "method").iter_rows():
        level = f"alpha is {alpha:g} for" if has_level(method) else "no allowance for sampling error in"
        groups.setdefault(level, {})[name_of(method)] = None
    return "; ".join(f"{level} {', '.join(names)}" for level, names in sorted(groups.items()))


def _row(runs: pl.DataFrame, method: str, table: PaperTable) -> ComparedRow:
    ok = runs.filter(pl.col("status") == "ok")
    timed = ok.filter(pl.col("timed"))
    ours = {
        "validity": mean_se(ok["valid"].cast(pl.Float64)),
        "width": mean_se(ok["width"]),
        "seconds_per_1k": mean_se(1000 * timed["seconds"] / timed["n"]),
    }
    cells = table.cells.get(method.split("@")[0])
    paper = dict(zip(METRICS, cells or (None, None, None), strict=True))
    return ComparedRow(
        method,
        ours,
        paper,
        _mean(ok["covers_effect"].cast(pl.Float64)),
        _mean(ok["covers_bounds_x"].cast(pl.Float64)),
        len(runs),
        len(runs) - len(ok),
    )


def _order(methods: list[str]) -> list[str]:
    """The paper's order first, then by name."""
    place = {name: k for k, name in enumerate(PAPER_ORDER)}
    return sorted(methods, key=lambda m: (place.get(m.split("@")[0], len(place)), m))


def _mean(values: pl.Series) -> float | None:
    kept = values.drop_nulls()
    return None if kept.is_empty() else float(kept.cast(pl.Float64).mean())  # type: ignore[arg-type]


def cell_text(cell: Cell | None, digits: int, pm: str = "±") -> str:
    """Mean ± standard error, or the mean alone if there was only one run."""
    if cell is None:
        return "–"
    error = "" if np.isnan(cell[1]) else f" {pm} {cell[1]:.{digits}f}"
    return f"{cell[0]:.{digits}f}{error}"


def _digits(cell: Cell | None, metric: str) -> int:
    return 4 if metric == "seconds_per_1k" and cell is not None and cell[0] < 0.1 else DIGITS[metric]


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def header(table: ComparedTable) -> list[str]:
    pairs = [text for metric in METRICS for text in (HEADINGS[metric], "paper")]
    extra = ["Covers effect", "Covers set given X"] if table.has_coverage else []
    return ["Method", *pairs, "Sharp width", *extra, "Runs (failed)"]


def body(table: ComparedTable, pm: str = "±") -> list[list[str]]:
    lines = []
    for row in table.rows:
        cells = [(side[metric], metric) for metric in METRICS for side in (row.ours, row.paper)]
        pairs = [cell_text(cell, _digits(cell, metric), pm) for cell, metric in cells]
        extra = [_share(row.covers_effect), _share(row.covers_bounds_x)] if table.has_coverage else []
        sharp = "–" if table.sharp_width is None else f"{table.sharp_width:.3f}"
        lines.append([row.label, *pairs, sharp, *extra, f"{row.runs} ({row.failed})"])
    return lines


def caption(table: ComparedTable) -> str:
    parts = [f"Mean n {table.n:,.0f}" if table.n else "", f"rho(Z, T) {table.rho:.3f}" if table.rho is not None else ""]
    if table.paper_rho is not None:
        parts[1] += f" (paper {table.paper_rho:.2f})"
    if table.threads:
        parts.append(f"times with {', '.join(map(str, table.threads))} threads, warm-up excluded")
    text = "; ".join(p for p in parts if p) + ". Mean ± standard error over the data sets."
    text += f" Levels: {table.levels}." if table.levels else ""
    return text + "".join(f" Failed: {failure}." for failure in table.failures[:3])


def markdown_table(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])


def to_markdown(tables: Sequence[ComparedTable]) -> str:
    parts = [f"### {t.title}\n\n{caption(t)}\n\n{markdown_table(header(t), body(t))}\n" for t in tables]
    return "\n".join(parts)


def to_latex(tables: Sequence[ComparedTable]) -> str:
    """LaTeX tables; they need \\usepackage{booktabs}."""
    parts = []
    for table in tables:
        columns = header(table)
        lines = [" & ".join(_tex(c) for c in cells) + r" \\" for cells in body(table, r"$\pm$")]
        parts.append(
            "\n".join(
                [
                    r"\begin{table}[t]",
                    r"\centering\small",
                    rf"\caption{{{_tex(table.title)}. {_tex(caption(table))}}}",
                    rf"\begin{{tabular}}{{l{'c' * (len(columns) - 1)}}}",
                    r"\toprule",
                    " & ".join(_tex(c) for c in columns) + r" \\",
                    r"\midrule",
                    *lines,
                    r"\bottomrule",
                    r"\end{tabular}",
                    r"\end{table}",
                ]
            )
        )
    return "\n\n".join(parts) + "\n"


def _tex(text: str) -> str:
    for plain, tex in (("±", r"$\pm$"), ("–", "--"), ("%", r"\%"), ("_", r"\_"), ("&", r"\&"), ("#", r"\#")):
        text = text.replace(plain, tex)
    return text


def to_frame(tables: Sequence[ComparedTable]) -> pl.DataFrame:
    """One row per cell: table, method, metric, our number and the paper's, each with its standard error."""
    rows = []
    for table in tables:
        for row in table.rows:
            for metric in METRICS:
                ours, paper = row.ours[metric] or (None, None), row.paper[metric] or (None, None)
                cells = dict(ours=ours[0], ours_se=ours[1], paper=paper[0], paper_se=paper[1])
                rest = dict(sharp_width=table.sharp_width, n=table.n, rho=table.rho, runs=row.runs, failed=row.failed)
                rows.append({"table": table.title, "method": row.method, "metric": metric, **cells, **rest})
    return pl.DataFrame(rows, infer_schema_length=None).fill_nan(None)


def write_tables(tables: Sequence[ComparedTable], folder: Path, stem: str) -> list[Path]:
    """Write stem.md, stem.tex and stem.csv into the folder."""
    paths = [folder / f"{stem}{suffix}" for suffix in (".md", ".tex", ".csv")]
    paths[0].write_text(to_markdown(tables), encoding="utf-8")
    paths[1].write_text(to_latex(tables), encoding="utf-8")
    to_frame(tables).write_csv(paths[2])
    return paths


def plain_table(runs: pl.DataFrame, benchmark: Benchmark) -> ComparedTable:
    """A table of our runs alone, for settings that no table of the paper covers."""
    settings = tuple(runs["setting"].unique(maintain_order=True).to_list())
    found = compare(runs, benchmark, PaperTable("", f"{benchmark.name}: {', '.join(settings)}", settings, None, {}))
    if found is None:
        raise InputError(f"there are no runs of '{benchmark.name}'.")
    return found


def tables_of(runs: pl.DataFrame, benchmark: Benchmark) -> list[ComparedTable]:
    """The paper's tables beside our runs, and one more table for settings that none of the paper's covers."""
    in_paper = {setting for table in benchmark.paper for setting in table.settings}
    rest = runs.filter(~pl.col("setting").is_in(list(in_paper)))
    return compare_all(runs, benchmark) + ([] if rest.is_empty() else [plain_table(rest, benchmark)])
