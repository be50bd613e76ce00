"""All settings of a training run, as one frozen dataclass; every field can be set as `--set name=value`."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from ivicl.errors import InputError
from ivicl.learn.network.config import NetworkConfig
from ivicl.learn.prior import PriorConfig
from ivicl.learn.training.losses import LossWeights


@dataclass(frozen=True)
class TrainConfig:
    """A run is a function of this. Tables are seeded by (seed, step, micro-batch): a resumed run sees the same ones."""

    seed: int = 1
    """Seed of the weights and of all tables."""
    count_steps: int = 3000
    """Stage one: steps on count tables alone, which teach the shape of the posterior given the law, almost for free."""
    steps: int = 4900
    """All steps. After stage one each step takes compressed and row tables (and count tables, if asked for)."""
    count_batch: int = 2048
    """Count tables a step in stage one."""
    mixed_count_batch: int = 0
    """Count tables a step in stage two; of no use while the summary path is frozen."""
    small_share: float = 0.0
    """Share of the count tables that have at most 2,000 people, beside those of the prior: the number of people is part
    of the design, so that the posterior stays what it is, and small tables are the hard ones."""
    count_draws: int = 64
    """Exact posterior draws of the effect a count table is scored on."""
    compressed_batch: int = 32
    """Compressed tables (a few discrete covariates, weighted rows, any population) a step in stage two."""
    row_batches: int = 3
    """Micro-batches of row tables a step in stage two, each of one (N, D)."""
    row_tokens: int = 8192
    """Rows in such a micro-batch: tables times rows is constant."""
    rows: tuple[int, int] = (32, 1024)
    """Range of N, log-uniform, until `long_from`."""
    long_rows: tuple[int, int] = (128, 4096)
    """Range of N, log-uniform, from then on."""
    long_from: float = 0.7
    """Share of stage two after which tables are long."""
    covariates: tuple[int, int] = (1, 48)
    """Range of D; log-uniform."""
    lr: float = 2e-3
    """Peak learning rate of stage one."""
    rows_lr: float = 0.4
    """Peak learning rate of stage two, as a share of the first: its batches are small and noisy."""
    summary_lr: float = 0.0
    """Learning rate of the summary path in stage two, as a share of the first: 0 freezes it."""
    warmup: int = 100
    """Steps of linear warm-up, in each stage."""
    decay_from: float = 0.4
    """Share of a stage after which the learning rate falls linearly (to zero at the end of the run)."""
    muon: bool = True
    """Muon for matrices inside blocks; otherwise AdamW for all."""
    weight_decay: float = 0.01
    """Decoupled weight decay of matrices."""
    clip: float = 1.0
    """Largest norm of the gradient."""
    average: float = 0.998
    """Decay of the weights' running average, which is what is evaluated and shipped."""
    orbit: bool = True
    """Score row tables on all 16 orbit labels, not on the one true effect."""
    precision: str = "auto"
    """`bf16` for rows, `fp32`, or `auto`: bf16 where the processor multiplies it natively."""
    loss: LossWeights = field(default_factory=LossWeights)
    """Weights of the teachers."""
    network: NetworkConfig = field(default_factory=NetworkConfig.cpu)
    """Shape of the network."""
    prior: PriorConfig = field(default_factory=PriorConfig.default)
    """The prior over data sets."""
    validate_every: int = 500
    """Steps between validations."""

    @staticmethod
    def preset(name: str) -> TrainConfig:
        presets = {"cpu": TrainConfig, "paper": _paper}
        if name not in presets:
            raise InputError(f"There is no preset {name!r}; the presets are {', '.join(presets)}.")
        return presets[name]()

    def to_dict(self) -> dict[str, Any]:
        return json.loads(json.dumps(dataclasses.asdict(self)))

    @staticmethod
    def from_dict(values: dict[str, Any]) -> TrainConfig:
        values = dict(values)
        values["network"] = NetworkConfig.from_dict(values["network"])
        values["prior"] = PriorConfig.from_dict(values["prior"])
        values["loss"] = LossWeights(**values["loss"])
        for key in ("rows", "long_rows", "covariates"):
            values[key] = tuple(values[key])
        return TrainConfig(**values)

    def with_settings(self, settings: list[str]) -> TrainConfig:
        """Apply `name=value` or `network.width=64`, values in JSON or plain words."""
        values = self.to_dict()
        for setting in settings:
            name, equals, text = setting.partition("=")
            *path, last = name.split(".")
            place: Any = values
            for part in path:
                place = place.get(part) if isinstance(place, dict) else None
            if not equals or not isinstance(place, dict) or last not in place:
                raise InputError(
                    f"There is no setting {setting!r}; write name=value, with a name such as steps or network.width."
                )
            try:
                new = json.loads(text)
            except json.JSONDecodeError:
                new = text
            if type(new) is not type(place[last]) and not (isinstance(place[last], float) and isinstance(new, int)):
                raise InputError(
                    f"Setting {name} takes {type(place[last]).__name__}, such as {place[last]!r}, not {text!r}."
                )
            place[last] = new
        try:
            return TrainConfig.from_dict(values)
        except ValueError as error:
            raise InputError(f"{error}.") from error


def _paper() -> TrainConfig:
    """The paper's run: one kind of table, AdamW, one label a table; 69.5 hours of an H100."""
    return TrainConfig(
        count_steps=0,
        steps=262_144,
        mixed_count_batch=0,
        compressed_batch=0,
        row_batches=256,
        row_tokens=2048,
        rows=(2048, 2048),
        long_rows=(2048, 2048),
        covariates=(1, 64),
        lr=1e-4,
        rows_lr=1.0,
        average=0.999,
        decay_from=0.5,
        warmup=200,
        muon=False,
        weight_decay=0.05,
        orbit=False,
        loss=LossWeights(ends=0.0, law=0.0),
        network=NetworkConfig.paper(),
        prior=PriorConfig.paper(),
    )
