"""All settings of a training run, as one frozen dataclass; every field can be set as `--set name=value`."""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ivicl.errors import InputError
from ivicl.learn.network.config import NetworkConfig
from ivicl.learn.prior import PriorConfig
from ivicl.learn.scoring import LossWeights
from ivicl.learn.training.devices import DEVICES

PRECISIONS = ("auto", "bf16", "fp32")


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
    count_batches: int = 1
    """Micro-batches that a step's count tables come in. Each draws a form (outcome classes, amounts, nobody defies) of
    its own, but for the first of several, which holds yes/no outcomes without a flag: what the model is first judged by
    is then in every step."""
    mixed_count_batch: int = 0
    """Count tables a step in stage two, in as many micro-batches; of no use while the summary path is frozen."""
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
    kept_batches: int = 0
    """With any, another kind of stage (`kept`): so many micro-batches of tables, of `rows` and of `long_rows`, are read
    once and kept, and the steps teach the pool alone."""
    kept_mix: tuple[int, int, int] = (1, 2, 7)
    """Of these, how many in turn hold compressed tables, tables of `rows` and tables of `long_rows`."""
    kept_tables: int = 512
    """Kept tables a step."""
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
    device: str = "auto"
    """`cpu`, `cuda`, `mps` (an Apple GPU), or `auto`: a CUDA device where there is one, else the CPU."""
    precision: str = "auto"
    """`bf16` for the rows' blocks, `fp32`, or `auto`: bf16 where the device multiplies it natively."""
    loss: LossWeights = field(default_factory=LossWeights)
    """Weights of the teachers."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    """Shape of the network; its `gamma` is always that of `prior`."""
    prior: PriorConfig = field(default_factory=PriorConfig.default)
    """The prior over data sets."""
    validate_every: int = 500
    """Steps between validations; the last step has one too. 0: none at all."""
    save_seconds: float = 180.0
    """Seconds between saves: what a kill can cost."""

    def __post_init__(self) -> None:
        if self.network.gamma != self.prior.gamma:
            object.__setattr__(self, "network", dataclasses.replace(self.network, gamma=self.prior.gamma))
        for name, problem in _problems(self):
            raise InputError(f"Setting {name} is {getattr(self, name)!r}, but must be {problem}.")

    @staticmethod
    def preset(name: str) -> TrainConfig:
        """A preset by its name: `cpu`, what learns most an hour on two cores."""
        if name != "cpu":
            raise InputError(f"There is no preset {name!r}; the preset is cpu. Any field of it can be set.")
        return TrainConfig()

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return plain

    @staticmethod
    def from_dict(values: dict[str, Any]) -> TrainConfig:
        # Runs of when there were two networks say which labels the other one was scored on.
        values = {name: value for name, value in values.items() if name != "orbit"}
        for name, make in (("network", NetworkConfig.from_dict), ("prior", PriorConfig.from_dict)):
            if name in values:
                values[name] = make(values[name])
        if "loss" in values:
            values["loss"] = LossWeights(**values["loss"])
        unknown = sorted(set(values) - {known.name for known in dataclasses.fields(TrainConfig)})
        if unknown:
            raise InputError(f"A training run has no field {unknown[0]!r}.")
        for key in ("rows", "long_rows", "covariates", "kept_mix"):
            if key in values:
                values[key] = tuple(values[key])
        return TrainConfig(**values)

    def with_settings(self, settings: list[str]) -> TrainConfig:
        """Apply texts such as `steps=100` or `network.width=64`."""
        return self.with_values(parse_settings(settings))

    def with_values(self, values: dict[str, Any]) -> TrainConfig:
        """The same config with some fields changed, by names such as `steps` or `network.width`."""
        changed = self.to_dict()
        for name, new in values.items():
            *path, last = name.split(".")
            place: Any = changed
            for part in path:
                place = place.get(part) if isinstance(place, dict) else None
            if not isinstance(place, dict) or last not in place or isinstance(place[last], dict):
                near = difflib.get_close_matches(name, list(_leaves(self.to_dict())), n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else "names are such as steps or network.width."
                raise InputError(f"There is no setting {name!r}; {hint}")
            if name == "network.gamma":
                raise InputError("Setting network.gamma follows from the prior; set prior.gamma instead.")
            old = place[last]
            number = isinstance(old, float) and isinstance(new, int) and not isinstance(new, bool)
            if type(new) is not type(old) and not number:
                raise InputError(f"Setting {name} takes {type(old).__name__}, such as {old!r}, not {new!r}.")
            place[last] = new
        return TrainConfig.from_dict(changed)


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """Texts such as `steps=100`, values in JSON or plain words."""
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"There is no setting {setting!r}; write name=value, as in steps=100.")
        try:
            values[name] = json.loads(text)
        except json.JSONDecodeError:
            values[name] = text
    return values


def _leaves(values: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{path}{name}.")
        else:
            yield path + name


def _problems(config: TrainConfig) -> Iterator[tuple[str, str]]:
    """Fields that no run could work with, and what they must be."""
    for name in ("rows", "long_rows", "covariates"):
        value = getattr(config, name)
        if len(value) != 2 or not all(isinstance(end, int) for end in value) or not 1 <= value[0] <= value[1]:
            yield name, "a range of two whole numbers from 1 on, such as [1, 48]"
    if len(config.kept_mix) != 3 or min(config.kept_mix) < 0 or not sum(config.kept_mix):
        yield "kept_mix", "three whole numbers from 0 on, not all of them 0, such as [1, 2, 7]"
    for name in ("count_batch", "count_batches", "count_draws", "row_batches", "row_tokens", "kept_tables"):
        if getattr(config, name) < 1:
            yield name, "1 or more"
    for name in (
        "count_steps", "steps", "mixed_count_batch", "compressed_batch", "kept_batches", "warmup", "validate_every",
    ):  # fmt: skip
        if getattr(config, name) < 0:
            yield name, "0 or more"
    for name in ("lr", "rows_lr", "summary_lr", "weight_decay", "save_seconds"):
        if not getattr(config, name) >= 0:
            yield name, "0 or more"
    for name in ("small_share", "long_from", "decay_from", "average"):
        if not 0 <= getattr(config, name) <= 1:
            yield name, "a share from 0 to 1"
    if not config.clip > 0:
        yield "clip", "above 0"
    for name, choices in (("device", DEVICES), ("precision", PRECISIONS)):
        if getattr(config, name) not in choices:
            yield name, f"one of {', '.join(choices)}"
