"""What looks wrong in a column although it can be read: each oddity becomes a finding, so that no guess stays silent.

A rule here must not fire on ordinary data, of which `tests/test_oddities.py` has a collection.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ivicl.data.columns import Column, numbers_from_text, show_values
from ivicl.data.encoding import Coding
from ivicl.data.suspects import CODES, DATE, DECIMAL_COMMA, NO_ANSWER, NUMBER, all_like

LEAST_ROWS = 30
"""With fewer rows, nothing is said about values that are all different."""
LEAST_NUMBERS, MOST_WORDS = 10, 3
"""A text column of at least so many numbers and at most so many words was meant to be numbers; fewer may be grades."""
SAME = 1 - 1e-9
"""Columns with a correlation of this size say the same."""
ID_NAME = re.compile(r"(^|_|\W)(id|uuid|guid|pid|key|index|row|rownames|caseid)$|ID$|^unnamed", re.IGNORECASE)
CLEAR_ONES = {
    *("yes", "y", "true", "t", "treated", "treatment", "treat", "exposed", "intervention", "encouraged", "offered"),
    *("vaccine", "vaccinated", "won", "winner", "success", "positive", "dead", "died", "case", "on", "active", "1"),
}
"""Texts that nobody doubts mean 1."""
CLEAR_ZEROS = {"no", "n", "false", "f", "control", "controls", "placebo", "none", "untreated", "0", "off", "negative"}


@dataclass(frozen=True)
class Oddity:
    """Something to look at."""

    name: str
    """What it is about; the finding gets this name."""
    sentence: str
    remedy: str


def oddities(outcome: Column, covariates: Iterable[Column], codings: dict[str, Coding], binary: bool) -> list[Oddity]:
    """The oddities of one table, from the columns as they were read (only rows that are used).

    A guess about the coding of the instrument is no worry: the answer would be the same the other way round.
    """
    found = [_guessed(role, codings[role]) for role in ("treatment", "outcome")]
    found.append(_missing_code(numbers_from_text(outcome), codings["outcome"], binary))
    found.append(_dates(outcome, "outcome"))
    for column in covariates:
        found += [rule(column) for rule in COVARIATE_RULES]
    return [each for each in found if each is not None]


def is_clear(zero: object, one: object) -> bool:
    """Whether nobody would have coded these two values the other way round."""
    if one is None:
        return True
    if isinstance(one, str) or isinstance(zero, str):
        return str(one).strip().lower() in CLEAR_ONES or str(zero).strip().lower() in CLEAR_ZEROS
    return isinstance(one, bool) or one == 1 or zero == 0


def _guessed(role: str, coding: Coding) -> Oddity | None:
    if not coding.guessed:
        return None
    how = "later in the alphabet" if isinstance(coding.one, str) else "the larger"
    what = f"The {role} '{coding.column}': {coding.one!r} counts as 1 because it is {how}, {coding.zero!r} as 0"
    means = f", so that effects are on P({coding.column} = {coding.one!r})" if role == "outcome" else ""
    remedy = (
        f"If it should be the other way round, ones={{{coding.column!r}: {coding.zero!r}}} (--one {coding.column}="
        f"{coding.zero}) turns it; naming {coding.one!r} there settles it."
    )
    return Oddity("coding", f"{what}{means}.", remedy)


def _missing_code(column: Column, coding: Coding, binary: bool) -> Oddity | None:
    """A value of the outcome that looks like "no answer"."""
    remedy = "If it means that there is no answer, leave those cells empty."
    if binary and isinstance(coding.one, str):
        suspect = [v for v in (coding.zero, coding.one) if isinstance(v, str) and NO_ANSWER.fullmatch(v.strip())]
        if suspect:
            sentence = f"The outcome '{column.name}' has the value {suspect[0]!r}, which counts like any other."
            return Oddity("missing codes", sentence, remedy)
        return None
    if binary or column.kind != "number":
        return None
    values, counts = np.unique(column.values[~column.missing], return_counts=True)
    for place in (0, len(values) - 1):
        code, rest = values[place], np.delete(values, place)
        if code in CODES and len(rest) > 1 and _stands_apart(code, rest, int(counts[place])):
            low, high = rest[0], rest[-1]
            sentence = (
                f"The outcome '{column.name}' is {code:g} for {counts[place]:,} rows, and between {low:g} and {high:g} "
                f"for all others: {code:g} looks like a code for a missing answer, and it widens the range and with it "
                "the bounds."
            )
            return Oddity("missing codes", sentence, remedy)
    return None


def _stands_apart(code: float, rest: np.ndarray, count: int) -> bool:
    low, high = rest[0], rest[-1]
    if set(rest.tolist()) == {0.0, 1.0} or (len(rest) == 2 and code < 0 <= low):
        return True
    if count < 2:
        return False
    if code < 0:
        return bool(low >= 0 and (code < -1 or np.array_equal(rest, np.round(rest))))
    return bool(code - high >= 0.8 * (high - low))


def _dates(column: Column, role: str = "covariate") -> Oddity | None:
    if column.dates:
        sentence = f"The {role} '{column.name}' is a date, and was read as days since 1970."
        remedy = "If you mean the time between two dates, or the month, make a column of that."
        return Oddity("dates", sentence, remedy)
    if role == "covariate" and _all_texts(column, DATE):
        sentence = f"The covariate '{column.name}' is text that looks like dates ({show_values(column.levels(), 1)})."
        remedy = "Make a column of days, months or years: as text, each date is a category of its own."
        return Oddity("dates", sentence, remedy)
    return None


def _numbers_as_text(column: Column) -> Oddity | None:
    if not _all_texts(column, NUMBER, DECIMAL_COMMA) or len(column.levels()) < 3:
        return None
    commas = any("," in str(level) for level in column.levels())
    how = "numbers with a decimal comma" if commas else "numbers"
    sentence = (
        f"The covariate '{column.name}' is text that looks like {how} ({show_values(column.levels(), 2)}); each value "
        "became a category."
    )
    return Oddity("numbers as text", sentence, "Write a decimal point, or turn the column into numbers.")


def _numbers_but_for_words(column: Column) -> Oddity | None:
    """A column of numbers that a few words turned into text."""
    levels = column.levels() if column.kind == "text" else []
    words = [level for level in levels if not all_like([level], NUMBER, DECIMAL_COMMA)]
    if not 0 < len(words) <= MOST_WORDS or len(levels) - len(words) < LEAST_NUMBERS:
        return None
    shown = " and ".join(map(repr, words))
    sentence = (
        f"The covariate '{column.name}' is text because of {shown}, though its other values are numbers; each value "
        "became a category."
    )
    remedy = "If that is a missing answer, leave those cells empty, and the column is read as numbers; else write one."
    return Oddity("numbers as text", sentence, remedy)


def _ids(column: Column) -> Oddity | None:
    n = len(column)
    if n < LEAST_ROWS:
        return None
    values = column.values[~column.missing]
    if column.kind == "text":
        likely = len(column.levels()) > 0.9 * n and not _all_texts(column, NUMBER, DECIMAL_COMMA, DATE)
    else:
        likely = column.kind == "number" and len(values) == n and np.array_equal(values, np.round(values))
        likely = likely and (values.max() - values.min() == n - 1 or ID_NAME.search(column.name) is not None)
        likely = likely and len(np.unique(values)) == n
    if not likely:
        return None
    sentence = f"The covariate '{column.name}' is different in nearly every row, like a name or a number of the person."
    return Oddity("identifiers", sentence, "Leave it out: it says nothing about anybody else.")


def _all_texts(column: Column, *patterns: re.Pattern[str]) -> bool:
    return column.kind == "text" and all_like(column.levels(), *patterns)


COVARIATE_RULES: tuple[Callable[[Column], Oddity | None], ...] = (
    _dates,
    _numbers_as_text,
    _numbers_but_for_words,
    _ids,
)


def repeats(encoded: Iterable[tuple[str, np.ndarray]], roles: Mapping[str, tuple[str, np.ndarray]]) -> list[Oddity]:
    """Encoded covariates that say what the treatment or the outcome says; `roles` has the name and values of each."""
    found = []
    for name, values in encoded:
        for role, (column, told) in roles.items():
            if _correlation(values[:1000], told[:1000]) < SAME:
                continue  # nearly always: the first rows tell, without a pass over millions
            if _correlation(values, told) >= SAME:
                sentence = f"The covariate '{name}' says in every row what the {role} '{column}' says."
                remedy = "Leave it out: covariates are what was known before the assignment."
                found.append(Oddity("repeats", sentence, remedy))
    return found


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    """The size of the correlation: 0 if only one of the two varies; nan, which is below nothing, if neither does."""
    sides = []
    for values in (a, b):
        scaled = values / (np.abs(values).max() or 1.0)  # squares of what is left cannot overflow
        sides.append(scaled - scaled.mean())
    first, second = (math.sqrt(float(side @ side)) for side in sides)
    if not first or not second:
        return 0.0 if first or second else math.nan
    return abs(float(sides[0] @ sides[1])) / (first * second)


def copies(x: Sequence[Column], others: Sequence[Column]) -> list[Oddity]:
    """Rows that occur more than once although a covariate is continuous; `others` are the columns beside x."""
    import polars as pl

    n = len(others[0])
    continuous = [c for c in x if c.kind == "number" and not np.array_equal(c.values, np.round(c.values))]
    if n < LEAST_ROWS or not continuous:
        return []
    if any(len(np.unique(column.values)) == n for column in continuous):
        return []
    frame = pl.DataFrame({str(i): _marked(column) for i, column in enumerate((*others, *x))})
    whole = frame.group_by(frame.columns).len()["len"].to_numpy().astype(np.float64)
    repeated = int((whole - 1).sum())
    if repeated < max(5, 0.02 * n):
        return []
    for column in continuous:
        _, counts = np.unique(column.values, return_counts=True)
        # People who share a rounded measurement rarely share everything else too; copies of a row do.
        if (whole * (whole - 1)).sum() >= 0.9 * (counts * (counts - 1.0)).sum():
            sentence = (
                f"{repeated:,} of {n:,} rows repeat another row exactly, although '{column.name}' is continuous: copies"
                " of the same people make any method too sure."
            )
            return [Oddity("copies", sentence, "Keep one row per person, or give the number of people as weights.")]
    return []


def _marked(column: Column) -> list[str] | np.ndarray:
    """The values, with a special one for what is missing."""
    if column.kind == "text":
        return ["" if gone else str(v) for v, gone in zip(column.values, column.missing, strict=True)]
    return np.where(column.missing, np.inf, column.values)
