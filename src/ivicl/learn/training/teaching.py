"""What a step's micro-batches are, and which losses teach the network by them."""

from __future__ import annotations

from torch import Tensor

from ivicl.learn.network.model import IVNetwork
from ivicl.learn.prior import CountBatch, generator_for
from ivicl.learn.training import plan
from ivicl.learn.training.config import TrainConfig
from ivicl.learn.training.kept import KeptTables, kept_loss
from ivicl.learn.training.losses import count_loss, table_loss


def micro_loss(
    network: IVNetwork, config: TrainConfig, step: int, index: int, kind: str, kept: KeptTables | None
) -> tuple[dict[str, Tensor], int]:
    """The loss of one micro-batch of a step and its parts, in nats, and how many tables it has."""
    if kept is not None:
        some = kept.drawn(max(1, config.kept_tables // 2), generator_for(config.seed, step, index))
        return kept_loss(network, some, config), len(some.coding)
    batch, generator = plan.make(config, step, index, kind)
    if isinstance(batch, CountBatch):
        return count_loss(network, batch, config.loss, generator), len(batch.effect)
    return table_loss(network, batch, config.loss, generator), len(batch.effect)
