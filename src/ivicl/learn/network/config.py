"""The shape of the network, as one frozen dataclass that travels with the weights."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ivicl.errors import InputError
from ivicl.identification.strata import GAMMA, cell_pseudo_count


@dataclass(frozen=True)
class NetworkConfig:
    """Everything that decides the graph. Two configs that are equal give networks with the same parameters."""

    width: int = 96
    """E: width of a row token."""
    depth: int = 2
    """Number of attention blocks."""
    heads: int = 4
    """Attention heads; must divide `width`."""
    latents: int = 32
    """M: number of latents that stand between the rows."""
    row_hidden: int = 192
    """Hidden width of the MLP that each row passes."""
    max_features: int = 64
    """P: covariates kept, by strength of association with the (z,t,y) cells."""
    regression_features: int = 96
    """ReLU features of the second ridge stage."""
    trees: int = 64
    """Random trees of the regression layer."""
    tree_depth: int = 5
    summary_width: int = 192
    """S: width of the summary path."""
    summary_depth: int = 4
    """Residual blocks of the summary path."""
    covariate_width: int = 256
    """Width of the pooled representation of the covariates that the heads read."""
    tie_ramp: float = 0.02
    """Half-width of the band around a tie in which the answers of both codings are averaged."""
    max_count: float = 1e8
    """People beyond which a table is scaled down (with a warning)."""
    gamma: float = GAMMA
    """Concentration of the prior's Dirichlet on the strata of a binary outcome."""

    def __post_init__(self) -> None:
        for name in ("width", "heads", "latents", "row_hidden", "max_features", "regression_features", "trees"):
            if getattr(self, name) < 1:
                raise InputError(f"network.{name} must be 1 or more, not {getattr(self, name)}.")
        if self.width % self.heads:
            raise InputError(f"network.width is {self.width}, which is not a multiple of network.heads, {self.heads}.")
        if not self.gamma > 0:
            raise InputError(f"The concentration of the strata, gamma, must be above 0, not {self.gamma}.")

    @property
    def pseudo_count(self) -> float:
        """Each (t, y) cell of an arm holds 4 of the 16 strata."""
        return cell_pseudo_count(self.gamma)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> NetworkConfig:
        """The inverse of `to_dict`. Runs of when there were two networks name theirs."""
        values = {name: value for name, value in values.items() if name != "architecture"}
        unknown = sorted(set(values) - {f.name for f in dataclasses.fields(NetworkConfig)})
        if unknown:
            raise InputError(f"The network has no setting {unknown[0]!r}.")
        return NetworkConfig(**values)
