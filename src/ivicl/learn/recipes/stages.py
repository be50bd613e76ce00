"""Running a recipe: finished stages are skipped, an unfinished one continues, the rest start from what they name."""

from __future__ import annotations

import logging
import tomllib
from pathlib import Path
from typing import Any

from ivicl.errors import InputError
from ivicl.learn.files import whole
from ivicl.learn.recipes.recipe import Recipe, Stage
from ivicl.learn.training import devices
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.loop import train
from ivicl.learn.training.processes import Processes, joined, local_rank
from ivicl.learn.training.run import Run
from ivicl.learn.training.stop import StopSignals

logger = logging.getLogger(__name__)

COPY = "recipe.toml"
"""The copy of the recipe that a folder was begun with."""


def run_recipe(recipe: Recipe, folder: Path, settings: dict[str, Any], progress: bool = True) -> Path | None:
    """Train whatever is not yet done; returns the folder of the last stage, or None if it was stopped before the end.

    `settings` override those of every stage.
    """
    device = devices.pick(recipe.stages[0].config.with_values(settings).device, local_rank())
    with joined(device) as processes, StopSignals() as stop:
        _claim(recipe, folder, processes)
        for stage in recipe.stages:
            # No process may look at a folder before the first process has written all of the previous stage.
            processes.wait()
            run = _run_of(stage, folder, settings)
            if not (_done(run, stage) and Run.exists(run.folder)):
                logger.info("stage %s of recipe %s", stage.folder, recipe.name)
                train(run, progress, stage.until, stop)
            if not _done(run, stage) or processes.any(stop.asked):
                logger.info("stopped in stage %s; the same command goes on from here", stage.folder)
                return None
    return folder / recipe.stages[-1].folder


def _done(run: Run, stage: Stage) -> bool:
    return run.finished or (stage.until is not None and run.step >= stage.until)


def _run_of(stage: Stage, folder: Path, settings: dict[str, Any]) -> Run:
    place = folder / stage.folder
    if Run.exists(place):
        return Run.resume(place, settings)
    start = folder / stage.start if isinstance(stage.start, str) else stage.start
    return Run.begin(TrainConfig.preset(stage.preset), {**stage.settings, **settings}, place, start)


def _claim(recipe: Recipe, folder: Path, processes: Processes) -> None:
    """Keep a copy of the recipe in the folder; a folder that was begun with another recipe is refused."""
    copy = folder / COPY
    if copy.exists():
        if tomllib.loads(copy.read_text(encoding="utf-8")) != tomllib.loads(recipe.text):
            raise InputError(
                f"The folder {str(folder)!r} was begun with another recipe: its {COPY} is not {recipe.name} "
                "as it is now; name another folder with -o."
            )
    elif processes.first:
        folder.mkdir(parents=True, exist_ok=True)
        with whole(copy) as fresh:
            fresh.write_text(recipe.text, encoding="utf-8")
