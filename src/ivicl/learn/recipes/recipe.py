"""A recipe is a TOML file: stages in order, each with its start, preset and settings, then the export.

preset = "cpu"                # of every stage that names none
[settings]                    # of every stage, before its own
row_tokens = 4096

[[stage]]
name = "counts"               # its folder is 1-counts
from = "nothing"              # or an earlier stage, or a file of weights beside the recipe
until = 80                    # where the next stage takes over; without it, at the end of `steps`
settings = { steps = 100, count_steps = 100, network.width = 64 }

[export]
file = "model.onnx"
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ivicl.errors import InputError
from ivicl.learn.training.config import TrainConfig

NOTHING = "nothing"
SHIPPED = Path(__file__).parent


@dataclass(frozen=True)
class Stage:
    """One run of a recipe."""

    name: str
    folder: str
    """Its number and name, so that folders sort in the order of the stages."""
    start: str | Path | None
    """The folder of an earlier stage, a model file, or nothing."""
    preset: str
    settings: dict[str, Any]
    """Settings by names such as `network.width`."""
    config: TrainConfig
    """The config from preset and settings; if a file of weights sets the network's shape, that is not in it."""
    until: int | None = None
    """The step at which the next stage takes over, if that is before the end."""


@dataclass(frozen=True)
class Recipe:
    """Stages in order and the name of the file that comes out."""

    name: str
    stages: tuple[Stage, ...]
    graph: str
    text: str
    """The text of the recipe's file."""


def load_recipe(name: str) -> Recipe:
    """The recipe in a file, or a shipped recipe by its name."""
    path = Path(name)
    if path.suffix != ".toml" and path.name == name:
        path = SHIPPED / f"{name}.toml"
        if not path.exists():
            shipped = sorted(file.stem for file in SHIPPED.glob("*.toml"))
            raise InputError(f"There is no recipe {name!r}; there are {', '.join(shipped)}, or name a .toml file.")
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"The recipe {name} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"The recipe {name} is not TOML: {error}.") from error
    return _Reader(path).recipe(content, text)


class _Reader:
    """Reads and checks the whole recipe, before hours are spent on its first half."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stages: list[Stage] = []

    def recipe(self, content: dict[str, Any], text: str) -> Recipe:
        self._check_keys("", content, ("preset", "settings", "stage", "export"))
        stages = content.get("stage")
        if not isinstance(stages, list) or not stages or not all(isinstance(stage, dict) for stage in stages):
            raise self._error("", "stage", "there must be at least one [[stage]].")
        shared = self._table("", content, "settings")
        for stage in stages:
            self._add(stage, content.get("preset", "cpu"), shared)
        export = self._table("", content, "export")
        self._check_keys("export", export, ("file",))
        return Recipe(self.path.stem, tuple(self.stages), self._text("export", export, "file", "model.onnx"), text)

    def _add(self, stage: dict[str, Any], preset: Any, shared: dict[str, Any]) -> None:
        number = f"number {len(self.stages) + 1}"
        name = self._text(number, stage, "name")
        if not name.replace("-", "").replace("_", "").isalnum() or name in (NOTHING, *(s.name for s in self.stages)):
            raise self._error(number, "name", f"{name!r} is taken, or is not made of letters, digits, - and _.")
        self._check_keys(name, stage, ("name", "from", "until", "preset", "settings"))
        preset = self._text(name, {"preset": preset, **stage}, "preset")
        settings = {**_dotted(shared), **_dotted(self._table(name, stage, "settings"))}
        start, earlier = self._start(name, self._text(name, stage, "from"))
        shapes = [key for key in settings if key.startswith("network.") and key != "network.summary_width"]
        if start is not None and shapes:
            raise self._error(
                name, f"settings.{shapes[0]}", "the shape comes with the weights to start from; only "
                "network.summary_width may grow, to a multiple."
            )  # fmt: skip
        try:
            config = TrainConfig.preset(preset)
            if earlier is not None:
                config = replace(config, network=earlier.config.network)
            config = config.with_values(settings)
        except InputError as error:
            raise self._error(name, "settings", str(error)) from error
        folder = f"{len(self.stages) + 1}-{name}"
        until = stage.get("until")
        if until is not None and (type(until) is not int or not 1 <= until <= config.steps):
            raise self._error(name, "until", f"it must be a step from 1 to {config.steps}, not {until!r}.")
        self.stages.append(Stage(name, folder, start, preset, settings, config, until))

    def _start(self, name: str, text: str) -> tuple[str | Path | None, Stage | None]:
        if text == NOTHING:
            return None, None
        for stage in self.stages:
            if stage.name == text:
                return stage.folder, stage
        file = self.path.parent / text
        if not file.is_file():
            known = ", ".join([NOTHING, *(stage.name for stage in self.stages)])
            raise self._error(name, "from", f"{text!r} is neither {known} nor a model file beside the recipe.")
        return file, None

    def _table(self, stage: str, place: dict[str, Any], key: str) -> dict[str, Any]:
        value = place.get(key, {})
        if not isinstance(value, dict):
            raise self._error(stage, key, f"it must be a table of names and values, not {value!r}.")
        return value

    def _text(self, stage: str, place: dict[str, Any], key: str, default: str | None = None) -> str:
        value = place.get(key, default)
        if not isinstance(value, str) or not value:
            raise self._error(stage, key, "it is missing." if value is None else f"it must be a text, not {value!r}.")
        return value

    def _check_keys(self, stage: str, found: Iterable[str], known: tuple[str, ...]) -> None:
        for key in found:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(known)}."
                raise self._error(stage, key, f"there is no such key; {hint}")

    def _error(self, stage: str, key: str, problem: str) -> InputError:
        where = f", stage {stage}" if stage else ""
        return InputError(f"Recipe {self.path.name}{where}, key {key!r}: {problem}")


def _dotted(table: dict[str, Any], path: str = "") -> dict[str, Any]:
    """{"network": {"width": 64}} -> {"network.width": 64}."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        flat |= _dotted(value, f"{path}{name}.") if isinstance(value, dict) else {path + name: value}
    return flat
