"""Flags that belong together, written once: a dataclass whose fields are flags stands for all of them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any


def with_flag_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let parameters of a command be dataclasses of flags: where one stands, the command line has its fields."""
    groups: dict[str, Any] = {}
    flags: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if dataclasses.is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            flags += inspect.signature(groups[parameter.name], eval_str=True).parameters.values()
        else:
            flags.append(parameter)

    @wraps(command)
    def called(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
        command(**given)

    by_name = [flag.replace(kind=inspect.Parameter.KEYWORD_ONLY) for flag in flags]
    called.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]  # typer reads the flags from it
    return called
