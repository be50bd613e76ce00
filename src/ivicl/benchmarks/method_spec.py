"""A method with options as the benchmarks write it, name[@option...], and how its rows are named and coloured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from ivicl.errors import InputError
from ivicl.estimator import IVBounds
from ivicl.methods.base import COVERS, Method, Request
from ivicl.methods.outcomes import COMBINATIONS
from ivicl.methods.registry import all_methods, resolve

OTHER_COLOURS = ("#364fc7", "#c2255c", "#087f5b", "#e67700", "#495057")
"""For methods that name no colour of their own, by their place in the figure."""


@dataclass(frozen=True)
class MethodSpec:
    """A method with its options, such as ivicl@effect, levis@form=smooth or exact@alpha=0.1."""

    text: str
    method: Method
    alpha: float
    combine: str
    options: dict[str, Any]

    @classmethod
    def parse(cls, text: str) -> MethodSpec:
        name, *parts = text.split("@")
        method = resolve(name)
        alpha, combine = method.paper_alpha, Request.combine
        options: dict[str, Any] = {}
        for part in parts:
            key, _, value = part.partition("=")
            if not value and key in COMBINATIONS:
                combine = key
            elif not value and key in COVERS:
                options["covers"] = key
            elif key == "alpha" and _number(value) is not None:
                alpha = float(value)
            elif value:
                options[key] = value if _number(value) is None else _number(value)
            else:
                raise InputError(f"'{part}' in '{text}' is neither a combination, nor what to cover, nor option=value.")
        return cls(text, method, alpha, combine, options)

    @property
    def takes_model(self) -> bool:
        """The method can use another network file instead of the shipped one."""
        return any(option.name == "model" for option in fields(self.method.options))

    @property
    def usual_combination(self) -> bool:
        return self.combine == Request.combine

    def estimator(self, model: str = "") -> IVBounds:
        options = {**self.options, **({"model": model} if model and self.takes_model else {})}
        return IVBounds(method=self.method, alpha=self.alpha, combine=self.combine, **options)


def _number(text: str) -> float | int | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None


def expand_methods(methods: Iterable[str]) -> tuple[str, ...]:
    """A bare name stands for all rows that the method shows, such as the network's interval and its variants."""
    wanted: list[str] = []
    for text in methods:
        spec = MethodSpec.parse(text)
        variants = spec.method.variants if text == spec.method.name else ()
        wanted += [text, *(f"{text}@{variant}" for variant, _ in variants)]
    return tuple(dict.fromkeys(wanted))


def at_level(text: str, alpha: float | None) -> str:
    """The method at this level, unless it already names one."""
    return text if alpha is None or "@alpha=" in text else f"{text}@alpha={alpha:g}"


def _known(text: str) -> tuple[str, Method | None, list[str]]:
    """Name, method and options; saved runs may be of a method that is no longer installed, which is then None."""
    name, *options = text.split("@")
    return name, all_methods().get(name), options


def name_of(text: str) -> str:
    """The paper's name of the method, or else the one that users type."""
    name, method, _ = _known(text)
    return (method.paper_name if method else None) or name


def label_of(text: str) -> str:
    """Like `name_of`, with the options; if a method has several rows, the row without options is called "default"."""
    _, method, options = _known(text)
    shown = ", ".join(options) or ("default" if method and method.variants else "")
    return name_of(text) + (f" ({shown})" if shown else "")


def curve_name(text: str) -> str:
    """Like `name_of`, with the options that tell curves apart: all but the level, which a figure has in common."""
    options = _without_level(_known(text)[2])
    return name_of(text) + (f" ({', '.join(options)})" if options else "")


def colour_of(text: str, position: int = 0) -> str:
    _, method, options = _known(text)
    own = method.colour if method and method.colour != Method.colour else OTHER_COLOURS[position % len(OTHER_COLOURS)]
    return dict(method.variants if method else ()).get("@".join(_without_level(options)), own)


def _without_level(options: list[str]) -> list[str]:
    return [option for option in options if not option.startswith("alpha=")]


def has_level(text: str) -> bool:
    """Whether the method's interval allows for sampling error at some level."""
    method = _known(text)[1]
    return method is None or method.interval != "estimate"
