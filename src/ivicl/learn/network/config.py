"""The shape of the network, as one frozen dataclass that travels with the weights.

Legend used in all of `ivicl.learn.network`: B tables, N rows, D covariates, P kept covariates, E width of a row,
M latents, F regression features, S width of the summary path, K bins.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

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

    def __post_init__(self) -> None:
        if self.attention not in ("induced", "full"):
            raise ValueError(f"attention must be 'induced' or 'full', not {self.attention!r}")
        if self.regression not in ("none", "fixed", "learned"):
            raise ValueError(f"regression must be 'none', 'fixed' or 'learned', not {self.regression!r}")
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        if self.anchored_head and not self.summary_width:
            raise ValueError("an anchored head needs the summary path: set summary_width or anchored_head=False")

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
            raise ValueError(f"unknown network settings: {sorted(unknown)}")
        return NetworkConfig(**values)
