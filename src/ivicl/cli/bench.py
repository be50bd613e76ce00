"""`ivicl bench`, `ivicl reproduce`, `ivicl convert-rct`: thin functions over ivicl.benchmarks."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from ivicl.errors import InputError

DEFAULT_METHODS = "ivicl,plugin,balke-pearl"

Methods = Annotated[
    str,
    typer.Option(help="Methods separated by commas; options follow @: levis@form=smooth, exact@alpha=0.1."),
]
Model = Annotated[str, typer.Option(help="A network file to use instead of the shipped one.")]
Workers = Annotated[int, typer.Option(help="Processes; more than one leaves times out, because runs share the cores.")]
NswPath = Annotated[str | None, typer.Option(help="A file with the National Supported Work data, for jobs.")]
StarPath = Annotated[str | None, typer.Option(help="A file with the STAR data, for star.")]


def bench(
    name: Annotated[
        str,
        typer.Argument(
            help="synthetic, jobs, star, airplane, links, strength, calibration, sensitivity or mass-covering.",
            show_default=False,
        ),
    ],
    methods: Methods = DEFAULT_METHODS,
    seeds: Annotated[int | None, typer.Option(help="Data sets a setting; by default as many as in the paper.")] = None,
    setting: Annotated[list[str] | None, typer.Option(help="Only this setting; may be given again.")] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the runs; runs found there are not repeated.")
    ] = Path("bench"),
    model: Model = "",
    workers: Workers = 1,
    nsw: NswPath = None,
    star: StarPath = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
) -> None:
    """Run methods on one benchmark or study; the paper's table beside ours on stdout, files in the folder."""
    from ivicl.benchmarks import compare
    from ivicl.benchmarks.catalog import BENCHMARKS, settings
    from ivicl.benchmarks.reproduce import write_study
    from ivicl.benchmarks.runner import only, plan, run_jobs
    from ivicl.benchmarks.store import RunStore
    from ivicl.benchmarks.studies import DEFAULT_SEEDS, STUDIES, study_jobs

    if seeds is not None and seeds < 1:
        raise InputError(f"--seeds must be at least 1, but is {seeds}.")
    if workers < 1:
        raise InputError(f"--workers must be at least 1, but is {workers}.")
    wanted = [m.strip() for m in methods.split(",") if m.strip()]
    if name == "mass-covering":
        _mass_covering(out, model, seeds or 50)
        return
    if name not in BENCHMARKS + STUDIES:
        raise InputError(f"'{name}' is not a benchmark; they are {', '.join(BENCHMARKS + STUDIES)}, mass-covering.")
    path = {"jobs": nsw, "strength": nsw, "star": star}.get(name)
    if name in STUDIES:
        jobs = study_jobs(name, wanted, seeds or DEFAULT_SEEDS[name], path=path, model=model)
    else:
        jobs = plan(name, setting or settings(name), range(seeds or 10), wanted, path=path, model=model)
    jobs[0].dataset()  # missing data or a wrong setting is one sentence, not a thousand failed rows
    store = RunStore(out)
    frame = only(run_jobs(jobs, store, workers=workers, progress=not quiet), jobs)
    if name in STUDIES:
        figure = write_study(name, frame, out)
        written = [out / f"{name}.csv", figure] if figure else []
    else:
        tables = compare.compare_all(frame, name) or [compare.plain_table(frame, name)]
        typer.echo(compare.to_markdown(tables))
        written = compare.write_tables(tables, out, name)
    failed = frame.filter(frame["status"] == "failed")
    for line in failed.select("method", "error").unique(maintain_order=True).iter_rows():
        print(f"failed: {line[0]}: {line[1]}", file=sys.stderr)
    print("written: " + ", ".join(str(p) for p in [out / "runs.parquet", *written]), file=sys.stderr)


def _mass_covering(out: Path, model: str, tables: int) -> None:
    from ivicl.benchmarks import mass_covering
    from ivicl.benchmarks.reproduce import write_mass_covering

    out.mkdir(parents=True, exist_ok=True)
    known = mass_covering.known_comparisons(model)
    random = mass_covering.random_comparisons(tables, model=model)
    write_mass_covering(known, random, out)
    for method, reason in known[0].problems.items():
        print(f"left out: {method}: {reason}", file=sys.stderr)
    typer.echo(str(mass_covering.summary(mass_covering.scores(random))))
    print(f"written: {out / 'mass_covering.csv'}, {out / 'mass_covering.png'}", file=sys.stderr)


def reproduce(
    quick: Annotated[bool, typer.Option("--quick", help="Few seeds, short sweeps, quick methods.")] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the report; runs found there are kept.")] = Path(
        "reproduce"
    ),
    methods: Annotated[str, typer.Option(help="Methods of the tables; by default the paper's.")] = "",
    study_methods: Annotated[str, typer.Option(help="Methods of the three studies.")] = "",
    seeds: Annotated[int | None, typer.Option(help="Data sets a setting in the tables: 10, or 3 when quick.")] = None,
    slow_seeds: Annotated[int | None, typer.Option(help="The same for bayes-bp and bayes, which take minutes.")] = None,
    model: Model = "",
    shift_off_model: Annotated[str, typer.Option(help="A network trained with the prior's shift switched off.")] = "",
    shift_on_model: Annotated[str, typer.Option(help="Its twin with the shift on; else the tables' network.")] = "",
    workers: Workers = 1,
    nsw: NswPath = None,
    star: StarPath = None,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Report what is done so far; run nothing.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
) -> None:
    """Every table and figure of the paper's evaluation, in one Markdown and one HTML report."""
    from ivicl.benchmarks.agenda import ReproduceConfig
    from ivicl.benchmarks.reproduce import reproduce as run

    plain, page = run(
        ReproduceConfig(
            folder=out,
            quick=quick,
            methods=_names(methods),
            study_methods=_names(study_methods),
            seeds=seeds,
            slow_seeds=slow_seeds,
            model=model,
            shift_off_model=shift_off_model,
            shift_on_model=shift_on_model,
            workers=workers,
            paths={name: path for name, path in (("jobs", nsw), ("star", star)) if path},
            report_only=report_only,
            progress=not quiet,
        )
    )
    typer.echo(f"{plain}\n{page}")


def _names(text: str) -> tuple[str, ...] | None:
    return tuple(m.strip() for m in text.split(",") if m.strip()) or None


def convert_rct(
    source: Annotated[str, typer.Argument(help="The trial: a CSV or Parquet file, or - for standard input.")],
    outcome: Annotated[str, typer.Option("-y", "--outcome", help="Column of the outcome.", show_default=False)],
    treatment: Annotated[str, typer.Option("-t", "--treatment", help="Column of 0 and 1.", show_default=False)],
    observed: Annotated[str, typer.Option("-x", "--observed", help="Covariates that methods may see, by commas.")] = "",
    hidden: Annotated[str, typer.Option("-u", "--hidden", help="Covariates that confound, by commas.")] = "",
    out: Annotated[Path, typer.Option("-o", "--out", help="Where the IV data go: .csv or .parquet.")] = Path("iv.csv"),
    beta: Annotated[float, typer.Option(help="Strength of the instrument.")] = 2.0,
    confounding: Annotated[float, typer.Option(help="Pull of the hidden covariates on the treatment.")] = 1.0,
    clip: Annotated[float, typer.Option(help="Propensities stay in [clip, 1 - clip].")] = 0.05,
    balance: Annotated[bool, typer.Option(help="Subsample the larger arm to the size of the smaller.")] = True,
    balance_within: Annotated[str, typer.Option(help="Columns whose combinations were randomised separately.")] = "",
    instrument: Annotated[str, typer.Option("-z", "--instrument", help="Name of the new column.")] = "z",
    keep_hidden: Annotated[bool, typer.Option("--keep-hidden", help="Write the hidden columns too.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
) -> None:
    """Turn a randomised trial into an instrumental-variable data set with the trial's effect as its known answer.

    The data go to the file, the record (label, standard error, n, correlation) to stdout as JSON.
    """
    from ivicl.benchmarks.rct_to_iv import rct_to_iv
    from ivicl.data.files import read_table

    if out.suffix not in (".csv", ".parquet"):
        raise InputError(f"--out must end in .csv or .parquet, but is '{out}'.")
    seen, unseen = _names(observed) or (), _names(hidden) or ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they are in the record, and printed below
        made = rct_to_iv(
            read_table(source),
            treatment=treatment,
            outcome=outcome,
            observed=seen,
            hidden=unseen,
            beta=beta,
            confounding=confounding,
            clip=clip,
            balance=balance,
            balance_within=_names(balance_within) or (),
            instrument=instrument,
            random_state=seed,
        )
    frame = made.frame if keep_hidden else made.frame.select(*seen, instrument, treatment, outcome)
    if out.suffix == ".csv":
        frame.write_csv(out)
    else:
        frame.write_parquet(out)
    print(made.summary(), file=sys.stderr)
    print(f"written: {out}", file=sys.stderr)
    typer.echo(json.dumps(made.to_dict(), indent=2))


def register(app: typer.Typer) -> None:
    app.command("bench")(bench)
    app.command("reproduce")(reproduce)
    app.command("convert-rct")(convert_rct)
