"""Texts and numbers that often do not mean what they say: missing answers, numbers written as text, dates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ivicl.errors import InputError

CODES = (-999, -99, -98, -97, -9, -8, -7, -1, 7, 8, 9, 77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 9999)
"""Numbers that surveys use as codes for a missing answer."""
NO_ANSWER = re.compile(r"#?n/?a!?|#null!|<na>|missing|unknown|refused|no answer|don'?t know|dk|\?+|-+", re.IGNORECASE)
"""Words that people write for a missing answer."""
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
DECIMAL_COMMA = re.compile(r"[+-]?\d{1,3}(\.?\d{3})*,\d+")
AMOUNT = re.compile(r"[$€£¥]?\s*[+-]?\d{1,3}([,' ]?\d{3})*(\.\d+)?\s*[%$€£¥]?")
"""Numbers as spreadsheets dress them up: $1,200 or 35 %."""
DATE = re.compile(r"\d{4}-\d\d?-\d\d?([ T].*)?|\d\d?[./]\d\d?[./]\d{2,4}")


def all_like(values: Iterable[Any], *patterns: re.Pattern[str]) -> bool:
    """Whether there are values, and the text of each matches one of the patterns."""
    texts = [str(value).strip() for value in values]
    return bool(texts) and all(any(p.fullmatch(text) for p in patterns) for text in texts)


def with_hint(refused: InputError, levels: list[Any]) -> InputError:
    """The same refusal, followed by what may be wrong and what to do, if the values give a hint."""
    texts = [level for level in levels if isinstance(level, str)]
    unanswered = [text for text in texts if NO_ANSWER.fullmatch(text.strip())]
    if unanswered:
        words = " and ".join(map(repr, unanswered[:3])) + (" look" if len(unanswered) > 1 else " looks")
        return InputError(f"{refused} {words} like a missing answer: leave those cells empty.")
    if texts and all_like(texts, NUMBER, DECIMAL_COMMA):
        return InputError(f"{refused} They look like numbers with a decimal comma: write a decimal point.")
    codes = [level for level in levels if level in CODES and not isinstance(level, (str, bool))]
    if len(levels) == 3 and codes:
        code = min(codes, key=lambda value: (value >= 0, -abs(value)))
        return InputError(f"{refused} {code} looks like a code for a missing answer: leave those cells empty.")
    hint = _hint_of_texts(texts)
    return InputError(f"{refused} {hint}") if hint else refused


def _hint_of_texts(texts: list[str]) -> str:
    if all_like(texts, DATE):
        return "They look like dates: make a column of days, for example since the start of the study."
    if all_like(texts, AMOUNT):
        return "They look like numbers with a sign or with commas between thousands: write the digits alone."
    as_written: dict[str, str] = {}
    for text in texts:
        other = as_written.setdefault(text.casefold(), text)
        if other != text:
            return f"{other!r} and {text!r} differ in capitals alone: write them alike."
    words = [text for text in texts if not NUMBER.fullmatch(text)]
    if words and len(words) <= len(texts) / 2:
        return (
            f"All but {' and '.join(map(repr, words[:2]))} are numbers: write a number there too, or leave them empty."
        )
    return ""
