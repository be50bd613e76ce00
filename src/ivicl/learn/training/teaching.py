"""Which losses teach the network."""

from __future__ import annotations

from torch import Tensor

from ivicl.learn.network.model import IVNetwork
from ivicl.learn.prior import CountBatch
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.losses import count_loss, table_loss
from ivicl.learn.training.plan import MicroBatch


def micro_loss(network: IVNetwork, micro: MicroBatch, config: TrainConfig) -> dict[str, Tensor]:
    """The loss of one micro-batch and its parts, in nats."""
    if isinstance(micro.batch, CountBatch):
        return count_loss(network, micro.batch, config.loss, micro.generator)
    return table_loss(network, micro.batch, config.loss, micro.generator)
