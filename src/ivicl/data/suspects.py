"""Texts and numbers that often mean something else than they say: missing answers, numbers written as text, dates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ivicl.errors import InputError

CODES = (-999, -99, -98, -97, -9, -8, -7, -1, 7, 8, 9, 77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 9999)
"""Numbers by which surveys write that there is no answer."""
NO_ANSWER = re.compile(r"#?n/?a!?|#null!|<na>|missing|unknown|refused|no answer|don'?t know|dk|\?+|-+", re.IGNORECASE)
"""Words by which people do."""
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
DECIMAL_COMMA = re.compile(r"[+-]?\d{1,3}(\.?\d{3})*,\d+")
DATE = re.compile(r"\d{4}-\d\d?-\d\d?([ T].*)?|\d\d?[./]\d\d?[./]\d{2,4}")


def all_like(values: Iterable[Any], *patterns: re.Pattern[str]) -> bool:
    """Every text is like one of the patterns, and there is one."""
    texts = [str(value).strip() for value in values]
    return bool(texts) and all(any(p.fullmatch(text) for p in patterns) for text in texts)


def with_hint(refused: InputError, levels: list[Any]) -> InputError:
    """The same refusal, with what may be wrong where the values tell."""
    texts = [level for level in levels if isinstance(level, str)]
    unanswered = [text for text in texts if NO_ANSWER.fullmatch(text.strip())]
    if unanswered:
        return InputError(f"{refused} {unanswered[0]!r} looks like a missing answer: leave those cells empty.")
    if texts and all_like(texts, NUMBER, DECIMAL_COMMA):
        return InputError(f"{refused} They look like numbers with a decimal comma: write a decimal point.")
    codes = [level for level in levels if level in CODES and not isinstance(level, (str, bool))]
    if len(levels) == 3 and codes:
        code = min(codes, key=lambda value: (value >= 0, -abs(value)))
        return InputError(f"{refused} {code} looks like a code for a missing answer: leave those cells empty.")
    return refused
