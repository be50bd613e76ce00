"""`ivicl bench` and `ivicl reproduce`: thin functions over ivicl.benchmarks."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ivicl.cli import flags
from ivicl.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from ivicl.benchmarks.base import Benchmark, Shown, Study
    from ivicl.benchmarks.plan import Job

DEFAULT_METHODS = ["ivicl", "plugin", "balke-pearl"]

Methods = Annotated[
    list[str] | None,
    typer.Option(
        help="Methods separated by commas; options follow @: levis@form=smooth, exact@alpha=0.1. May be given again.",
        show_default=",".join(DEFAULT_METHODS),
    ),
]
Model = Annotated[str, typer.Option(help="A network file to use instead of the shipped one.")]
Workers = Annotated[int, typer.Option(help="Processes; more than one leaves times out, because runs share the cores.")]
Files = Annotated[
    list[str] | None,
    typer.Option("--file", help="NAME=PATH: a file with the data of a trial. May be given again."),
]
NswPath = Annotated[str | None, typer.Option(help="A file with the National Supported Work data, as --file nsw=PATH.")]
StarPath = Annotated[str | None, typer.Option(help="A file with the STAR data, as --file star=PATH.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar.")]


def bench(
    name: Annotated[
        str | None,
        typer.Argument(help="A benchmark or a study; without a name they are listed.", show_default=False),
    ] = None,
    methods: Methods = None,
    seeds: Annotated[int | None, typer.Option(help="Data sets a setting; by default as many as in the paper.")] = None,
    setting: Annotated[list[str] | None, typer.Option(help="Only this setting; may be given again.")] = None,
    out: Annotated[
        Path, typer.Option("-o", "--output", help="Folder of the runs; runs found there are not repeated.")
    ] = Path("bench"),
    model: Model = "",
    workers: Workers = 1,
    file: Files = None,
    nsw: NswPath = None,
    star: StarPath = None,
    quiet: Quiet = False,
) -> None:
    """Run methods on one benchmark or study; the paper's table beside ours on stdout, files in the folder."""
    from ivicl.benchmarks import catalog
    from ivicl.benchmarks.base import Study
    from ivicl.benchmarks.plan import plan, study_jobs

    if name is None:
        _list()
        return
    _at_least_one("--seeds", seeds)
    _at_least_one("--workers", workers)
    found, files = catalog.find(name), _files(file, nsw, star)
    wanted = flags.names(methods)
    if isinstance(found, Study):
        _refuse(found, "--setting", setting)
        if found.compute is not None:
            _refuse(found, "--methods", wanted)
            out.mkdir(parents=True, exist_ok=True)
            _show(found, found.compute(seeds or found.seeds, model), out)
            return
        jobs = study_jobs(found, wanted or DEFAULT_METHODS, seeds, files=files, model=model)
        frame = _run(jobs, out, workers, quiet)
        _show(found, found.of_runs(frame), out, frame)
    else:
        settings = setting or found.settings
        runs = range(seeds or found.seeds)
        jobs = plan(found, settings, runs, wanted or DEFAULT_METHODS, files=files, model=model)
        _compare(found, _run(jobs, out, workers, quiet), out)


def _list() -> None:
    from ivicl.benchmarks import catalog

    for benchmark in catalog.benchmarks().values():
        settings = str(benchmark.form or "|".join(benchmark.settings))
        typer.echo(f"{benchmark.name:<15} {benchmark.title}; settings {settings}")
        if benchmark.source:
            typer.echo(f"{'':<15} {benchmark.source.title}: packaged, or --file {benchmark.source.name}=PATH")
    for study in catalog.studies().values():
        typer.echo(f"{study.name:<15} study: {study.caption}")


def _at_least_one(flag: str, value: int | None) -> None:
    if value is not None and value < 1:
        raise InputError(f"{flag} must be at least 1, but is {value}.")


def _refuse(study: Study, flag: str, given: list[str] | None) -> None:
    if given:
        raise InputError(f"the study '{study.name}' takes no {flag}, but {', '.join(given)} was given.")


def _files(pairs: list[str] | None, nsw: str | None, star: str | None) -> dict[str, str]:
    from ivicl.benchmarks.plan import check_files

    files = dict(flags.name_and_value(pair, "--file") for pair in pairs or [])
    files |= {name: path for name, path in (("nsw", nsw), ("star", star)) if path}
    check_files(files)
    return files


def _run(jobs: list[Job], out: Path, workers: int, quiet: bool) -> pl.DataFrame:
    from ivicl.benchmarks.plan import only
    from ivicl.benchmarks.runner import run_jobs
    from ivicl.benchmarks.store import RunStore

    if not jobs:
        raise InputError("nothing is left to run: combinations of thresholds are for outcomes that are not binary.")
    jobs[0].dataset()  # so that missing data give one error now, not a thousand failed rows
    frame = only(run_jobs(jobs, RunStore(out), workers=workers, progress=not quiet), jobs)
    failed = frame.filter(frame["status"] == "failed")
    for method, error in failed.select("method", "error").unique(maintain_order=True).iter_rows():
        print(f"failed: {method}: {error}", file=sys.stderr)
    print(f"runs: {out / 'runs.parquet'}", file=sys.stderr)
    return frame


def _compare(benchmark: Benchmark, frame: pl.DataFrame, out: Path) -> None:
    from ivicl.benchmarks import compare

    tables = compare.tables_of(frame, benchmark)
    typer.echo(compare.to_markdown(tables))
    _written(compare.write_tables(tables, out, benchmark.name))


def _show(study: Study, shown: Shown | None, out: Path, frame: pl.DataFrame | None = None) -> None:
    from ivicl.benchmarks.compare import levels_text, markdown_table

    typer.echo(study.caption)
    if frame is not None and study.runs and not study.runs.levels:
        typer.echo(f"Levels: {levels_text(frame)}.")
    if shown is None:
        print("no run of this study succeeded", file=sys.stderr)
        return
    if shown.head:
        typer.echo(markdown_table(list(shown.head), [list(line) for line in shown.lines]))
    for method, reason in shown.left_out.items():
        print(f"left out: {method}: {reason}", file=sys.stderr)
    _written(shown.write(out, study.stem))


def _written(paths: Iterable[Path]) -> None:
    print("written: " + ", ".join(map(str, paths)), file=sys.stderr)


def reproduce(
    quick: Annotated[bool, typer.Option("--quick", help="Few seeds, short sweeps, quick methods.")] = False,
    out: Annotated[
        Path, typer.Option("-o", "--output", help="Folder of the report; runs found there are kept.")
    ] = Path("reproduce"),
    methods: Annotated[list[str] | None, typer.Option(help="Methods of the tables; by default the paper's.")] = None,
    study_methods: Annotated[list[str] | None, typer.Option(help="Methods of the studies.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Data sets a setting in the tables: 10, or 3 when quick.")] = None,
    slow_seeds: Annotated[
        int | None, typer.Option(help="The same for methods that take minutes a data set, such as bayes.")
    ] = None,
    model: Model = "",
    shift_off_model: Annotated[str, typer.Option(help="A network trained with the prior's shift switched off.")] = "",
    shift_on_model: Annotated[str, typer.Option(help="Its twin with the shift on; else the tables' network.")] = "",
    workers: Workers = 1,
    file: Files = None,
    nsw: NswPath = None,
    star: StarPath = None,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Report what is done so far; run nothing.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Every table and figure of the paper's evaluation, in one Markdown and one HTML report.

    Intervals are at the paper's alpha, 0.01, unless a table names another.
    """
    from ivicl.benchmarks.agenda import ReproduceConfig
    from ivicl.benchmarks.reproduce import reproduce as run

    for flag, value in (("--seeds", seeds), ("--slow-seeds", slow_seeds), ("--workers", workers)):
        _at_least_one(flag, value)
    plain, page = run(
        ReproduceConfig(
            folder=out,
            quick=quick,
            methods=tuple(flags.names(methods)) or None,
            study_methods=tuple(flags.names(study_methods)) or None,
            seeds=seeds,
            slow_seeds=slow_seeds,
            model=model,
            shift_off_model=shift_off_model,
            shift_on_model=shift_on_model,
            workers=workers,
            files=_files(file, nsw, star),
            report_only=report_only,
            progress=not quiet,
        )
    )
    typer.echo(f"{plain}\n{page}")


def register(app: typer.Typer) -> None:
    app.command("bench", epilog="Example: ivicl bench synthetic --methods ivicl,plugin --seeds 2 -o runs")(bench)
    app.command("reproduce", epilog="Example: ivicl reproduce --quick -o report")(reproduce)
