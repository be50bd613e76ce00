"""The state of a run, in memory and as one file: network, average, optimizer, position."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim.swa_utils import AveragedModel

from ivicl.errors import InputError
from ivicl.learn.checkpoint import load_weights
from ivicl.learn.files import load_tensors, save_tensors
from ivicl.learn.growth import grown
from ivicl.learn.network.model import IVNetwork
from ivicl.learn.training import devices
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.optim import MuonAdamW
from ivicl.learn.training.processes import local_rank

STATE = "state.safetensors"

logger = logging.getLogger(__name__)


class Run:
    """What `train` works on. A folder that holds a `state.safetensors` holds a run."""

    def __init__(self, config: TrainConfig, folder: Path) -> None:
        self.config = config
        self.folder = folder
        self.device = devices.pick(config.device, local_rank())
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(config.seed)
            network = IVNetwork(config.network)
        self.network = network.to(self.device)
        self.network.covariates.bf16 = devices.rows_in_bf16(config.precision, self.device)
        if config.kept_batches:
            self.network.teach_pool_alone()
        self.average = self._fresh_average()
        self.optimizer = MuonAdamW(network.parameter_groups(), config.lr, config.muon, config.weight_decay)
        self.step = 0
        self.seconds = 0.0
        self.tables = {"counts": 0, "compressed": 0, "rows": 0}
        self.before: list[dict[str, Any]] = []

    def _fresh_average(self) -> AveragedModel:
        def blend(averages: list[Tensor], weights: list[Tensor], count: Tensor | int) -> None:
            # Young averages forget faster, or they would remember the random start.
            decay = min(self.config.average, (1 + int(count)) / (10 + int(count)))
            for average, weight in zip(averages, weights, strict=True):
                average.lerp_(weight, 1 - decay)

        return AveragedModel(self.network, multi_avg_fn=blend).eval()  # type: ignore[arg-type]

    @property
    def finished(self) -> bool:
        return self.step >= self.config.steps

    def averaged(self) -> IVNetwork:
        """The network with the averaged weights: what is evaluated and shipped."""
        network = self.average.module
        assert isinstance(network, IVNetwork)
        network.covariates.bf16 = False
        return network

    def save(self) -> None:
        tensors: dict[str, Tensor] = {f"weights.{k}": v for k, v in self.network.state_dict().items()}
        tensors |= {f"average.{k}": v for k, v in self.average.state_dict().items()}
        tensors |= {f"optimizer.{k}": v for k, v in self.optimizer.state().items()}
        position = {"step": self.step, "seconds": self.seconds, "tables": self.tables, "before": self.before}
        self.folder.mkdir(parents=True, exist_ok=True)
        save_tensors(self.folder / STATE, tensors, {"config": self.config.to_dict(), **position})

    @staticmethod
    def exists(folder: Path) -> bool:
        return (folder / STATE).exists()

    @staticmethod
    def resume(folder: Path, settings: dict[str, Any] | None = None) -> Run:
        """The run of a folder, as far as it came; `settings` change its config from here on."""
        tensors, meta = _load(folder)
        run = Run(TrainConfig.from_dict(meta["config"]).with_values(settings or {}), folder)
        run.network.load_state_dict(_part(tensors, "weights."))
        run.average.load_state_dict(_part(tensors, "average."))
        run.optimizer.load(_part(tensors, "optimizer."))
        run.step, run.seconds, run.tables = meta["step"], meta["seconds"], meta["tables"]
        run.before = meta["before"]
        return run

    @staticmethod
    def begin(config: TrainConfig, settings: dict[str, Any], folder: Path, start: Path | None = None) -> Run:
        """A new run; with `start`, from the weights of a file or of another run's folder, whose shape it takes.

        Only the summary path may be wider than theirs: it then begins with the same answers (`growth`).
        """
        if start is None:
            return Run(config.with_values(settings), folder)
        if start.is_dir():
            network, about = result_of(start)
        else:
            network, about = load_weights(start)
        # The shape comes with the weights, not with the preset.
        run = Run(replace(config, network=network.config).with_values(settings), folder)
        if network.config.gamma != run.config.network.gamma:
            logger.warning(
                "The weights are of a prior with gamma %g; this run's has %g.",
                network.config.gamma,
                run.config.prior.gamma,
            )
        same_prior = replace(run.config.network, gamma=network.config.gamma)
        generator = torch.Generator().manual_seed(run.config.seed)
        weights = grown(network.state_dict(), network.config, same_prior, generator)
        run.start_from(weights, about.get("training", {}))
        return run

    def start_from(self, weights: dict[str, Tensor], record: dict[str, Any]) -> None:
        """Begin from the weights of another run, with a fresh optimizer; `record` is what that run left."""
        shapes = [{name: tuple(v.shape) for name, v in part.items()} for part in (weights, self.network.state_dict())]
        for name in sorted({*shapes[0], *shapes[1]}):
            there, here = (part.get(name) for part in shapes)
            if there != here:
                raise InputError(
                    f"The weights to start from are of another network: {name} has shape {there} there and {here} here."
                )
        self.network.load_state_dict(weights)
        self.average = self._fresh_average()
        self.before = [*record.get("before", []), {name: v for name, v in record.items() if name != "before"}]


def result_of(folder: Path) -> tuple[IVNetwork, dict[str, Any]]:
    """What a run has come to, on the CPU: the averaged network, and what is kept of it in the files that it leaves.

    That is its prior, its settings, how far it came, and the runs it started from.
    """
    tensors, meta = _load(folder)
    config = TrainConfig.from_dict(meta["config"])
    network = IVNetwork(config.network)
    network.load_state_dict(_part(tensors, "average.module."))
    settings = {name: value for name, value in config.to_dict().items() if name not in ("network", "prior")}
    place = {"step": meta["step"], "hours": round(meta["seconds"] / 3600, 2), "tables": meta["tables"]}
    training = {**settings, **place, "before": meta["before"]}
    return network.eval(), {"prior": config.prior.to_dict(), "training": training}


def _load(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    if not Run.exists(folder):
        raise InputError(f"There is no run in {str(folder)!r}: {STATE} is missing.")
    return load_tensors(folder / STATE)


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: t for name, t in tensors.items() if name.startswith(prefix)}
