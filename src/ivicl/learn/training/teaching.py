"""Which losses teach which network."""

from __future__ import annotations

from torch import Tensor

from ivicl.learn.architectures import Network
from ivicl.learn.prior import CountBatch
from ivicl.learn.second import losses as second
from ivicl.learn.second import validation as second_validation
from ivicl.learn.second.model import SecondNetwork
from ivicl.learn.training import losses as first
from ivicl.learn.training import validation as first_validation
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.plan import MicroBatch


def micro_loss(network: Network, micro: MicroBatch, config: TrainConfig) -> dict[str, Tensor]:
    """The loss of one micro-batch and its parts, in nats."""
    batch, generator = micro.batch, micro.generator
    if isinstance(network, SecondNetwork):
        if isinstance(batch, CountBatch):
            return second.count_loss(network, batch, config.loss, generator)
        return second.table_loss(network, batch, config.loss, generator)
    if isinstance(batch, CountBatch):
        return first.count_loss(network, batch, config.loss, generator)
    return first.table_loss(network, batch, config.loss, generator, one_label=not config.orbit)


def validate(network: Network, config: TrainConfig) -> dict[str, float]:
    """Losses on fixed tables."""
    if isinstance(network, SecondNetwork):
        return second_validation.validate(network, config.prior)
    return first_validation.validate(network, config)
