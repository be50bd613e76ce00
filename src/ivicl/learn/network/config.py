"""The shape of the network, as one frozen dataclass that travels with the weights.

Legend used in all of `ivicl.learn.network`: B tables, N rows, D covariates, P kept covariates, E width of a row,
M latents, F regression features, S width of the summary path, K bins.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ivicl.errors import InputError
from ivicl.identification.strata import GAMMA, cell_pseudo_count

BINS = 1024
"""K: uniform bins on [-1, 1]. Part of the public contract, so not a field."""


@dataclass(frozen=True)
class NetworkConfig:
    """Everything that decides the graph. Two configs that are equal give networks with the same parameters."""

    attention: str = "induced"
    """`induced`: latents read rows (cost linear in N). `full`: rows read rows, as in the paper."""
    width: int = 96
    """E: width of a row token."""
    depth: int = 2
    """Number of attention blocks."""
    heads: int = 4
    """Attention heads; must divide `width`."""
    latents: int = 32
    """M: number of latents (induced attention only)."""
    row_hidden: int = 192
    """Hidden width of the MLP that each row passes."""
    max_features: int = 64
    """P: covariates kept, by strength of association with the (z,t,y) cells."""
    regression: str = "fixed"
    """The ridge layer: `none`, `fixed` (random features that are not trained) or `learned`."""
    regression_features: int = 128
    """F: ReLU features of the second ridge stage."""
    penalties: int = 2
    """Number of ridge penalties of the second stage."""
    summary_width: int = 192
    """S: width of the summary path; 0 switches the path off (as in the paper)."""
    summary_depth: int = 4
    """Residual blocks of the summary path."""
    anchored_head: bool = True
    """Bins are also written on grids laid out from the plug-in ends; `False`: a linear head, as in the paper."""
    spikes: bool = True
    """Mass is also put where a posterior must have its spikes, and the summary path reads their shares (off only in
    ablations)."""
    covariate_width: int = 256
    """Width of the pooled representation of the covariates that the head reads."""
    tie_ramp: float = 0.02
    """Half-width of the band around a tie in which the answers of both codings are averaged."""
    canonical_coding: bool = True
    """Flip z, t, y into one canonical coding before anything is learnt (off only in ablations)."""
    max_count: float = 1e8
    """People beyond which a table is scaled down (with a warning): the end of the training range."""
    gamma: float = GAMMA
    """Concentration of the prior's Dirichlet on the sixteen strata: their density goes as q^(gamma - 1). The spikes'
    masses and spreads and the pseudo-counts follow from it; a training run sets it to that of its prior."""

    def __post_init__(self) -> None:
        if self.attention not in ("induced", "full"):
            raise InputError(f"network.attention must be 'induced' or 'full', not {self.attention!r}.")
        if self.regression not in ("none", "fixed", "learned"):
            raise InputError(f"network.regression must be 'none', 'fixed' or 'learned', not {self.regression!r}.")
        for name in ("width", "heads", "latents", "row_hidden", "max_features", "regression_features", "penalties"):
            if getattr(self, name) < 1:
                raise InputError(f"network.{name} must be 1 or more, not {getattr(self, name)}.")
        if self.width % self.heads:
            raise InputError(f"network.width is {self.width}, which is not a multiple of network.heads, {self.heads}.")
        if self.anchored_head and not self.summary_width:
            raise InputError(
                "An anchored head needs the summary path: set network.summary_width or anchored_head=false."
            )
        if not self.gamma > 0:
            raise InputError(f"The concentration of the strata, gamma, must be above 0, not {self.gamma}.")

    @property
    def pseudo_count(self) -> float:
        """Concentration of each (t, y) cell of an arm: the cell holds 4 of the 16 strata."""
        return cell_pseudo_count(self.gamma)

    @staticmethod
    def cpu() -> NetworkConfig:
        """What learns most an hour on two cores (`records/2026-11-16-ablations`)."""
        return NetworkConfig()

    @staticmethod
    def paper() -> NetworkConfig:
        """The paper's encoder: full attention, mean of the row tokens, linear head."""
        return NetworkConfig(
            attention="full",
            width=384,
            depth=20,
            heads=6,
            row_hidden=4 * 384,
            regression="none",
            summary_width=0,
            anchored_head=False,
            covariate_width=384,
        )

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> NetworkConfig:
        known = {field.name for field in dataclasses.fields(NetworkConfig)}
        unknown = set(values) - known
        if unknown:
            raise InputError(f"The network has no field {min(unknown)!r}.")
        return NetworkConfig(**values)
