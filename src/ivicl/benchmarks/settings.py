"""How the settings of a benchmark are written: words and name=<number> between slashes, as in linear/n=1024/d=5."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

from ivicl.errors import InputError


@dataclass(frozen=True)
class Number:
    """A part such as beta=2.5."""

    name: str
    whole: bool = False
    """A whole number, not a decimal one."""
    least: float = -math.inf

    def __str__(self) -> str:
        limit = "" if self.least == -math.inf else f" of at least {self.least:g}"
        return f"{self.name}=<{'whole ' if self.whole else ''}number{limit}>"

    def read(self, text: str) -> int | float | None:
        """The number in name=number; None for anything else."""
        name, _, value = text.partition("=")
        try:
            found = int(value) if self.whole else float(value)
        except ValueError:
            return None
        return found if name == self.name and math.isfinite(found) and found >= self.least else None


@dataclass(frozen=True)
class SettingForm:
    """The parts of a setting in their order, each with the words and numbers that are allowed there."""

    parts: tuple[tuple[str | Number, ...], ...]

    def __str__(self) -> str:
        texts = ["|".join(map(str, part)) for part in self.parts]
        return texts[0] if len(texts) == 1 else "/".join(f"({t})" if "|" in t else t for t in texts)

    def parse(self, setting: str) -> tuple[str | int | float, ...]:
        """One word or number per part; an InputError for a setting that is not of this form."""
        texts = setting.split("/")
        found = [_read(text, part) for text, part in zip(texts, self.parts, strict=False)]
        if len(texts) != len(self.parts) or None in found:
            raise InputError(f"the setting '{setting}' is not of the form {self}.")
        return tuple(value for value in found if value is not None)

    def examples(self) -> list[str]:
        """Every setting of this form, with a placeholder in place of each number."""
        return ["/".join(map(str, choice)) for choice in product(*self.parts)]


def _read(text: str, part: tuple[str | Number, ...]) -> str | int | float | None:
    for choice in part:
        value = choice.read(text) if isinstance(choice, Number) else text if text == choice else None
        if value is not None:
            return value
    return None
