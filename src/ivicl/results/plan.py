"""`plan`: what a study could say, before it is run; for one design or a grid of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ivicl._shared.checks import check_alpha
from ivicl._shared.numbers import rounded, rounded_interval
from ivicl._shared.records import Record
from ivicl.errors import InputError
from ivicl.methods.planning import Design, Expectation, expect
from ivicl.results import saved
from ivicl.results.given_numbers import numbers, pair, pairs, whole
from ivicl.results.tables import WIDTH, aligned, bullets, framed, latex_table, markdown_table
from ivicl.version import __version__

if TYPE_CHECKING:
    from ivicl.results.pictures import Picture
    from ivicl.results.sections import Section

Number = float | int
Numbers = Number | Sequence[Number]
Pair = tuple[Number, Number]

KIND, SCHEMA = "ivicl-plan", 1
"""The kind and schema that its JSON is stamped with."""
MOST_DESIGNS = 10_000
MOST_SENTENCES = 6


@dataclass(frozen=True)
class Planned(Record):
    """One design and what it can be expected to say."""

    design: Design
    expected: Expectation

    def row(self) -> dict[str, Any]:
        """Its row of the table, as a flat dictionary."""
        design = self.design
        shown = design.to_dict()
        del shown["outcome_range"]
        shown |= {"design_effect": design.design_effect, "effective_n": design.effective_n}
        return shown | self.expected.to_dict()


@dataclass(frozen=True, repr=False)
class Plan(Record):
    """Expected bounds over designs: a table, a picture and sentences.

    Examples:
        >>> from ivicl import plan
        >>> study = plan(n=[400, 4000], takeup=0.8, rates=(0.3, 0.6))
        >>> [round(row["not_identified"], 3) for row in study.rows()], study.to_frame()["n"].to_list()
        ([0.2, 0.2], [400, 4000])
        >>> study.summary().count("What a study could say"), study.to_json()[:7], study.to_latex().count("{tabular}")
        (1, '{"kind"', 2)
        >>> study.to_markdown().splitlines()[0].split(" | ")[0], study.plot(), study.section().title
        ('| n', Picture(plan, 2 rows of data), 'What a study could say')
    """

    studies: tuple[Planned, ...]
    alpha: float
    binary: bool
    """The outcome is yes or no."""
    version: str = __version__

    def __len__(self) -> int:
        return len(self.studies)

    def __repr__(self) -> str:
        return f"Plan({len(self)} design{'s' if len(self) > 1 else ''}, alpha = {self.alpha:g})"

    def __str__(self) -> str:
        return self.summary()

    def rows(self) -> list[dict[str, Any]]:
        """One row per design."""
        return [study.row() | {"alpha": self.alpha} for study in self.studies]

    def to_frame(self) -> Any:
        """One row per design, as a polars frame; docs/plan.md explains the columns."""
        import polars as pl

        optional = {"sd_untreated": pl.Float64, "sd_treated": pl.Float64, "clusters": pl.Int64, "enough_n": pl.Int64}
        return pl.DataFrame(self.rows(), schema_overrides=optional, infer_schema_length=None)

    def to_json(self, indent: int | None = None) -> str:
        """The rows and the sentences, stamped with kind and schema."""
        content = {"alpha": self.alpha, "designs": self.rows(), "sentences": self.sentences, "version": self.version}
        return json.dumps(saved.stamped(content, KIND, SCHEMA), indent=indent, allow_nan=False)

    def to_markdown(self) -> str:
        """The table and the sentences."""
        return "\n\n".join([markdown_table(*self._table()), *self.sentences])

    def to_latex(self) -> str:
        """The table for a paper."""
        return latex_table(*self._table())

    def summary(self) -> str:
        """The table, then what it means."""
        headings, cells = self._table()
        text = [*aligned([headings, *cells], ">"), "-" * WIDTH, *bullets(self.sentences)]
        return framed("What a study could say", text, "", self.version)

    def section(self) -> Section:
        """The plan as a section of a report."""
        from ivicl.results.sections import Section

        return Section("What a study could say", tuple(self.sentences), *self._table(), self.plot())

    def _repr_html_(self) -> str:
        return self.section().notebook()

    def plot(self) -> Picture:
        """Width and chance to exclude zero, against people or the first parameter that varies."""
        from ivicl.results.pictures.plan import plan as picture

        return picture(self)

    @property
    def varying(self) -> list[str]:
        """Names of what differs between the designs."""
        names = [name for name in self.studies[0].design.to_dict() if name != "outcome_range"]
        return [name for name in names if len({getattr(study.design, name) for study in self.studies}) > 1]

    @property
    def sentences(self) -> list[str]:
        """For readers: one sentence per family of designs that differ only in people, about its largest study."""
        families: dict[tuple[Any, ...], Planned] = {}
        for study in self.studies:
            kept = families.get(key := study_but_for_people(study))
            if kept is None or study.design.n > kept.design.n:
                families[key] = study
        said = [self._sentence(study) for study in list(families.values())[:MOST_SENTENCES]]
        if len(families) > MOST_SENTENCES:
            said.append(f"The same can be read from the table for {len(families) - MOST_SENTENCES} further designs.")
        return said

    def _sentence(self, study: Planned) -> str:
        design, found = study.design, study.expected
        percent = f"{100 * (1 - self.alpha):g} %"
        said = (
            f"{described(design, self.binary)}: the {percent} interval can be expected to be "
            f"{rounded_interval(found.lower, found.upper)}. Of its width {rounded(found.width, found.width)}, "
            f"{rounded(found.not_identified, found.width)} is not identified, however many people take part; "
            f"{rounded(found.not_enough_data, found.width)} is due to not enough data. "
        )
        if found.set_lower <= 0 <= found.set_upper:
            held = rounded_interval(found.set_lower, found.set_upper)
            said += (
                f"No number of people would tell the sign: with endless data the bounds are {held}, which hold zero. "
            )
        else:
            said += f"It excludes zero in {100 * found.excludes_zero:.0f} % of such studies. "
        if found.enough_n is None:
            return said + "Nothing but the number of people limits the width."
        same = "" if design.clusters is None else ", in clusters of this size"
        return said + (
            f"More people will not help beyond n = {found.enough_n:,}{same}: from there on they would take less than a "
            "tenth off the width."
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        names = self.varying or ["n"]
        headings = [*names, "endless data", "expected interval", "width", "not identified"]
        headings += ["not enough data", "excludes 0", "enough n"]
        return headings, [self._cells(study, names) for study in self.studies]

    def _cells(self, study: Planned, names: list[str]) -> list[str]:
        found, width = study.expected, study.expected.width
        values = [getattr(study.design, name) for name in names]
        cells = ["" if v is None else f"{v:,}" if isinstance(v, int) else f"{v:g}" for v in values]
        cells += [rounded_interval(found.set_lower, found.set_upper), rounded_interval(found.lower, found.upper)]
        cells += [rounded(v, width) for v in (width, found.not_identified, found.not_enough_data)]
        return [
            *cells,
            f"{100 * found.excludes_zero:.0f} %",
            "none" if found.enough_n is None else f"{found.enough_n:,}",
        ]


def study_but_for_people(study: Planned) -> tuple[Any, ...]:
    """The key of a study's family: all of its design except the number of people."""
    return tuple(value for name, value in vars(study.design).items() if name != "n")


def described(design: Design, binary: bool) -> str:
    """The design in words."""
    what = "rates" if binary else "means"
    rates = [f"{100 * v:g} %" if binary else f"{v:g}" for v in (design.untreated, design.treated)]
    groups = ""
    if design.clusters is not None:
        groups = f" in {design.clusters:,} clusters (intraclass correlation {design.icc:g})"
    return (
        f"{design.n:,} people{groups}, of whom {100 * design.takeup:g} % take the treatment if encouraged and "
        f"{100 * design.takeup_control:g} % if not, with {what} {rates[0]} without and {rates[1]} with it"
    )


def plan(
    *,
    n: Numbers,
    takeup: Numbers,
    takeup_control: Numbers = 0.0,
    rates: Pair | Sequence[Pair] | None = None,
    means: Pair | Sequence[Pair] | None = None,
    sd: Number | Pair | None = None,
    outcome_range: Pair | None = None,
    clusters: Numbers | None = None,
    icc: Numbers | None = None,
    share: Numbers = 0.5,
    alpha: float = 0.05,
    random_state: int = 0,
) -> Plan:
    """What a study could say about the average effect, before it is run. Lists make a grid of designs.

    Args:
        n: people in both arms together.
        takeup: share of people who take the treatment if encouraged (Z=1).
        takeup_control: share who take it if not (Z=0).
        rates: rates of a yes/no outcome, without and with the treatment; several pairs make a grid.
        means: means of an outcome that is an amount, instead of `rates`; needs `sd` and `outcome_range`.
        sd: standard deviation of the amount, or a pair, without and with the treatment.
        outcome_range: smallest and largest possible amount.
        clusters: how many groups there are, whose people are encouraged together; needs `icc`.
        icc: intraclass correlation within these groups.
        share: share of people who are encouraged.
        alpha: the interval has credibility 1 - alpha.
        random_state: seed of the simulated studies.

    The rates, or means, hold for everybody, whether they comply or not.

    Examples:
        >>> study = plan(n=2000, takeup=0.7, rates=(0.3, 0.6))
        >>> study
        Plan(1 design, alpha = 0.05)
        >>> round(study.rows()[0]["not_identified"], 3)
        0.3
    """
    alpha = check_alpha(alpha)
    if (rates is None) == (means is None):
        raise InputError(
            "give rates=(without, with) of a yes/no outcome (--rates) or means=(without, with) of an amount (--means), "
            "but not both."
        )
    binary = rates is not None
    if binary and (sd is not None or outcome_range is not None):
        raise InputError(
            "sd and outcome_range are for means of an amount; the rate of a yes/no outcome says its spread."
        )
    if not binary and (sd is None or outcome_range is None):
        raise InputError("means of an amount need sd, its spread, and outcome_range, the least and largest possible.")
    if (clusters is None) != (icc is None):
        raise InputError("clusters and icc, the intraclass correlation within them, are given together.")
    limits = (0.0, 1.0) if binary else pair(outcome_range, "outcome_range")
    spreads = (None, None) if binary else pair(sd if isinstance(sd, Iterable) else (sd, sd), "sd")
    both = pairs(rates if binary else means, "rates" if binary else "means")
    grid = product(
        numbers(n, "n"),
        [None] if clusters is None else numbers(clusters, "clusters"),
        [0.0] if icc is None else numbers(icc, "icc"),
        numbers(takeup, "takeup"),
        numbers(takeup_control, "takeup_control"),
        numbers(share, "share"),
        both,
    )
    designs = [
        Design(
            n=whole(people),
            takeup=took,
            takeup_control=took_anyway,
            untreated=untreated,
            treated=treated,
            sd_untreated=spreads[0],
            sd_treated=spreads[1],
            share=part,
            clusters=None if groups is None else whole(groups),
            icc=together,
            outcome_range=limits,
        )
        for people, groups, together, took, took_anyway, part, (untreated, treated) in grid
    ]
    if len(designs) > MOST_DESIGNS:
        raise InputError(f"the lists make {len(designs):,} designs; at most {MOST_DESIGNS:,} are computed at once.")
    found = expect(designs, float(alpha), np.random.default_rng(random_state))
    return Plan(tuple(Planned(d, e) for d, e in zip(designs, found, strict=True)), float(alpha), binary)
