"""`Subgroups`: the same fit for the people of each group; what `BoundsResult.by` returns."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ivicl._shared.frames import as_kind
from ivicl._shared.records import Record, json_safe
from ivicl.data import IVData
from ivicl.data.groups import Group, groups_by
from ivicl.errors import InputError, IVICLError
from ivicl.methods.estimands import AVERAGE
from ivicl.methods.group_ends import GroupEnds, group_ends
from ivicl.results import rows, saved
from ivicl.results.result import BoundsResult
from ivicl.results.source import NO_DATA, Source
from ivicl.results.tables import WIDTH, aligned, bullets, framed, latex_table, markdown_table
from ivicl.results.wording import interval, number
from ivicl.version import __version__

if TYPE_CHECKING:
    from ivicl.results.pictures import Picture
    from ivicl.results.sections import Section

KIND, SCHEMA = "ivicl-subgroups", 1
"""The kind and schema that its JSON is stamped with."""
GIVEN_ALL = ("given_all_lower", "given_all_upper", "given_all_se_lower", "given_all_se_upper")
OWN_COLUMNS = ("by", "group", *GIVEN_ALL)
"""Columns that come before those of `rows.COLUMNS`: the covariate, the group, and the ends of its average effect given
all the data, with standard errors."""
HEADINGS = ["Group", "People", "Interval", "Kind", "Given all the data (s.e.)"]


@dataclass(frozen=True)
class SubgroupEntry(Record):
    """One group: its own fit, or the reason why it has none."""

    group: str
    n: int
    """How many people it has."""
    result: BoundsResult | None = None
    error: str | None = None
    given_all: GroupEnds | None = None
    """Ends of the average effect by the law learnt from all people; None if a group has only one arm, or for another
    estimand."""

    def row(self, column: str, method: str, alpha: float) -> dict[str, Any]:
        ends = self.given_all
        borrowed = (ends.lower, ends.upper, ends.se_lower, ends.se_upper) if ends else (None,) * 4
        own = {"by": column, "group": self.group} | dict(zip(GIVEN_ALL, borrowed, strict=True))
        if self.result is not None:
            return own | self.result.row()
        failed = {"method": method, "alpha": alpha, "n": self.n, "error": self.error, "version": __version__}
        return own | rows.blank_row() | failed

    def cells(self) -> list[str]:
        if self.result is None:
            return [self.group, f"{self.n:,}", "no answer", "", ""]
        ends = interval(self.result.lower, self.result.upper)
        return [self.group, f"{self.n:,}", ends, self.result.level, self._borrowed()]

    def _borrowed(self) -> str:
        ends = self.given_all
        if ends is None:
            return ""
        return f"{interval(ends.lower, ends.upper)} ({number(ends.se_lower)}, {number(ends.se_upper)})"


@dataclass(frozen=True, repr=False)
class Subgroups(Record):
    """Bounds of each group from its own people: one table, one forest plot.

    Examples:
        >>> from ivicl import IVBounds
        >>> people = {"z": [0, 0, 1, 1] * 20, "t": [0, 0, 0, 1] * 20, "y": [0, 1, 0, 1] * 20, "sex": ["f", "m"] * 40}
        >>> res = IVBounds("manski").fit(people, outcome="y", treatment="t", instrument="z", covariates=["sex"])
        >>> groups = res.by("sex")
        >>> groups, groups.to_frame()["group"].to_list(), [row["n"] for row in groups.rows()]
        (Subgroups(sex, 2 groups, n = 80), ['f', 'm'], [40, 40])
        >>> groups.note[:9] in groups.summary(), groups.to_dict()["by"], groups.to_json()[:7]
        (True, 'sex', '{"kind"')
        >>> groups.to_markdown().splitlines()[0].split(" | ")[0], groups.to_latex().count("{tabular}")
        ('| Group', 2)
        >>> groups.plot(), groups.section().title
        (Picture(forest, 3 rows of data), 'Bounds by sex')
    """

    column: str
    entries: tuple[SubgroupEntry, ...]
    everybody: BoundsResult
    """The fit of all people together."""
    simultaneous: bool
    """The intervals are wide enough that all of them hold at once, at the level asked for."""
    alpha: float
    """1 - alpha is the level of all intervals together if `simultaneous`, otherwise of each."""

    @property
    def results(self) -> tuple[BoundsResult, ...]:
        """The results of the groups that could be fitted."""
        return tuple(entry.result for entry in self.entries if entry.result is not None)

    @property
    def headline(self) -> str:
        """What the data say against the design (grade stop), before any bound; empty if there is nothing."""
        return self.everybody.diagnostics.headline

    @property
    def _said_of_groups(self) -> tuple[str, ...]:
        """Why a group has no answer, or that its own people contradict the design."""
        stopped = {entry.group: entry.result.diagnostics.headline for entry in self.entries if entry.result is not None}
        said = {entry.group: entry.error or stopped.get(entry.group) for entry in self.entries}
        return tuple(f"{group}: {sentence}" for group, sentence in said.items() if sentence)

    @property
    def note(self) -> str:
        """What may be concluded from several intervals."""
        k, percent = len(self.results), f"{100 * (1 - self.alpha):g} %"
        if self.everybody.interval_kind == "estimate":
            return "Estimated bounds make no allowance for sampling error, nor for the number of groups."
        if self.simultaneous:
            return (
                f"The intervals are simultaneous: all {k} hold together at {percent}, each at "
                f"{100 * (1 - self.results[0].alpha):.4g} % (Sidak)."
            )
        together = max(100 * (1 - k * self.alpha), 0.0)
        return (
            f"Each of the {k} intervals is at {percent}. For all of them together no more than {together:.4g} % is "
            "promised; simultaneous=True makes them wide enough. The more groups one looks at, the more will differ by "
            "chance."
        )

    def __repr__(self) -> str:
        kind = ", simultaneous" if self.simultaneous else ""
        return f"Subgroups({self.column}, {len(self.entries)} groups, n = {self.everybody.n:,}{kind})"

    def __str__(self) -> str:
        return self.summary()

    def rows(self) -> list[dict[str, Any]]:
        """One row per group."""
        level = self.results[0].alpha if self.results else self.alpha
        return [entry.row(self.column, self.everybody.method, level) for entry in self.entries]

    def to_frame(self) -> Any:
        """One row per group, in a frame of the caller's kind: OWN_COLUMNS, then the columns of every row of results."""
        import polars as pl

        frame = rows.frame_of(self.rows(), OWN_COLUMNS).with_columns(pl.col(GIVEN_ALL).cast(pl.Float64))
        return as_kind(frame, self.everybody.frame_kind)

    def to_dict(self) -> dict[str, Any]:
        """The rows of the groups, what may be concluded from them, and the whole result of everybody."""
        content: dict[str, Any] = json_safe({"by": self.column, "simultaneous": self.simultaneous, "alpha": self.alpha})
        return content | {"note": self.note, "groups": json_safe(self.rows()), "everybody": json_safe(self.everybody)}

    def to_json(self, indent: int | None = None) -> str:
        """The same as JSON, stamped with its kind and schema."""
        return json.dumps(saved.stamped(self.to_dict(), KIND, SCHEMA), indent=indent, allow_nan=False)

    def _lines(self) -> list[list[str]]:
        return [entry.cells() for entry in (*self.entries, self._all())]

    def _all(self) -> SubgroupEntry:
        return SubgroupEntry("everybody", self.everybody.n, self.everybody)

    def to_markdown(self) -> str:
        """The table of groups."""
        return "\n\n".join((markdown_table(HEADINGS, self._lines(), self.headline), self.note, *self._said_of_groups))

    def to_latex(self) -> str:
        """The table of groups for a paper."""
        return latex_table(HEADINGS, self._lines(), self.headline)

    def summary(self) -> str:
        """The table, what may be concluded, and why a group has no answer."""
        text = [*aligned([HEADINGS, *self._lines()]), "-" * WIDTH, *bullets((self.note, *self._said_of_groups))]
        return framed(f"Bounds by {self.column}", text, self.headline, __version__)

    def section(self) -> Section:
        """The groups as a section of a report."""
        from ivicl.results.sections import Section

        said = (*((self.headline,) if self.headline else ()), self.note, *self._said_of_groups)
        return Section(f"Bounds by {self.column}", said, HEADINGS, self._lines(), self.plot())

    def _repr_html_(self) -> str:
        return self.section().notebook()

    def plot(self) -> Picture:
        """A forest plot: one bar per group, with everybody at the bottom."""
        from ivicl.results.pictures.forest import Bar, forest

        bars = [Bar.of(entry.group, entry.result) for entry in self.entries]
        return forest(bars, Bar.of("everybody", self.everybody)).below(self.headline)


def subgroups(result: BoundsResult, column: str, quantiles: int | None, simultaneous: bool) -> Subgroups:
    """See `BoundsResult.by`."""
    if result.source is None:
        raise InputError(NO_DATA.format(what="its subgroups"))
    source = result.source
    everybody = source.data.filled()
    groups = groups_by(everybody, column, quantiles)
    alpha = result.alpha
    each = 1 - (1 - alpha) ** (1 / len(groups)) if simultaneous else alpha
    borrowed = _given_all(source, groups) if result.estimand == AVERAGE else [None] * len(groups)
    entries = tuple(_entry(source, everybody, group, each, ends) for group, ends in zip(groups, borrowed, strict=True))
    if all(entry.result is None for entry in entries):
        raise InputError(f"no group of '{column}' can be fitted: {entries[0].group}: {entries[0].error}")
    return Subgroups(column, entries, result, simultaneous, alpha)


def _given_all(source: Source, groups: list[Group]) -> list[GroupEnds | None]:
    """The ends for the groups with people in both arms, without people whose outcome is missing."""
    data = source.data
    rows = [group.rows[: len(data.w)] for group in groups]
    both = [k for k, here in enumerate(rows) if len(np.unique(data.z[here])) == 2]
    try:
        found = dict(zip(both, group_ends(data, [rows[k] for k in both], source.laws), strict=True))
    except InputError:  # an arm of a group may have only one cluster
        return [None] * len(groups)
    return [found.get(k) for k in range(len(groups))]


def _entry(source: Source, everybody: IVData, group: Group, alpha: float, ends: GroupEnds | None) -> SubgroupEntry:
    n = round(float(everybody.w[group.rows].sum()))
    try:
        return SubgroupEntry(group.label, n, source.fit(_people(source.data, everybody, group), alpha), given_all=ends)
    except IVICLError as error:
        return SubgroupEntry(group.label, n, error=str(error))


def _people(data: IVData, everybody: IVData, group: Group) -> IVData:
    """The people of a group, without the covariates that are the same for all of them."""
    seen, lost = np.split(group.rows, [len(data.w)])
    kept = [j for j in range(everybody.x.shape[1]) if np.ptp(everybody.x[group.rows, j]) > 0]
    part = _with_columns(data.take(seen), kept)
    report = replace(data.report, n=part.n, n_rows=len(part.w), n_dropped=0, notes=[])
    free = None if data.lost is None or not lost.any() else _with_columns(data.lost.take(lost), kept)
    for arm in (0, 1):
        if not (part.z == arm).any():
            raise InputError(f"nobody has z = {arm}, so there is nothing to compare.")
    return replace(part, report=report, lost=free)


def _with_columns(data: IVData, kept: list[int]) -> IVData:
    return replace(data, x=data.x[:, kept], covariates=tuple(data.covariates[j] for j in kept))
