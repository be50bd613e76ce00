"""What the prior over data sets is made of: one frozen config, two presets.

`default` is what the shipped model learns from. `paper` follows the paper and the scheme it builds on; the three
repairs of docs/prior.md and every oversampled design are off in it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from ivicl.errors import InputError
from ivicl.identification.strata import GAMMA

Shares = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class PriorConfig:
    """All choices of the prior; every length-two tuple is a range."""

    name: str = "default"
    """Which preset this is, for records."""

    # --- the sixteen strata
    gamma: float = GAMMA
    """Concentration of the Dirichlet target on the 16 strata; small is sparse."""
    target_floor: float = 1e-12
    """Targets are clamped to at least this before their logarithm is taken; count tables need no logarithm or clamp."""
    standardise_logits: bool = True
    """Repair 1: each logit column has mean 0 and sd 1 over the rows, times an explicit scale."""
    logit_scale: tuple[float, float] = (0.2, 30.0)
    """Log-uniform range of that scale; 30 makes strata nearly a function of the covariates."""
    uneven_scale_share: float = 0.3
    """Share of tables whose 16 columns have unequal scales (independent log-normal factors)."""
    shift_tolerance: float = 0.02
    """Repair 2: the shift is repeated until the mean is this close to its target in total variation."""
    shift_steps: int = 400
    """Largest number of steps of the shift; 1 is the paper's single step, 0 is no shift."""
    logits_from_covariates: bool = True
    """Repair 3: logits are functions of the covariates the table keeps, so that D = 0 means one law for all rows."""
    free_intercept_share: float = 0.0
    """Share of row tables whose mean strata have no target: their intercepts are independent normals."""
    free_intercept_scale: tuple[float, float] = (1.0, 30.0)
    """Log-uniform range of the logit scale in those tables; the synthetic benchmark has 4.6 to 24."""
    free_intercept_ratio: tuple[float, float] = (0.3, 6.0)
    """Log-uniform range of sd(intercepts) / logit scale in those tables; the synthetic benchmark has 0.6 to 4.1."""
    null_share: float = 0.05
    """Share of row tables in which no covariate matters for the strata."""

    # --- covariates and functions of them
    covariate_families: Shares = (("independent", 0.3), ("gaussian", 0.25), ("scm", 0.3), ("clusters", 0.15))
    """How the base columns are drawn, with their shares."""
    function_families: Shares = (
        ("linear", 0.25),
        ("sparse", 0.1),
        ("index", 0.1),
        ("polynomial", 0.1),
        ("fourier", 0.15),
        ("mlp", 0.15),
        ("trees", 0.1),
        ("centres", 0.05),
    )
    """How logits depend on covariates, with their shares."""
    network_layers: int = 4
    """Most layers of the random networks whose hidden units are covariates (family `scm`)."""
    network_units: int = 32
    """Most units per layer of these networks (more if the columns need it)."""
    discrete_share: float = 0.5
    """Share of tables that have discrete columns."""
    max_levels: int = 10
    """Most levels of a discrete column."""
    one_hot_share: float = 0.35
    """Share of those tables in which one factor is a group of 0/1 columns, like an encoded text column."""
    all_relevant_share: float = 0.4
    """Share of tables in which every covariate may matter; in the others a random subset does and the rest is noise."""

    # --- instrument
    randomised_share: float = 0.4
    """Share of tables whose instrument does not depend on the covariates."""
    even_arms_share: float = 0.5
    """Share of randomised tables with P(Z=1) = 1/2; in the others one arm is log-uniform down to `smallest_arm`."""
    smallest_arm: float = 0.02
    """Smallest P(Z=z) of a randomised instrument."""
    instrument_families: Shares = (("linear", 0.4), ("mlp", 0.3), ("fourier", 0.3))
    """How a confounded instrument's logit depends on the covariates, with shares."""
    standardised_instrument_share: float = 0.8
    """Share of confounded instruments whose logits are z-scored; in the others the sd is log-uniform from 0.3 to 3."""
    positivity: float = 0.02
    """P(Z=1|x) is clipped to [positivity, 1 - positivity]."""

    # --- designs that are made frequent by rules that depend on the data alone
    one_sided_share: float = 0.27
    """Share of tables proposed as one-sided (all four sides alike)."""
    perfect_share: float = 0.04
    """Share of tables proposed in which everybody does as the instrument says (or everybody does the opposite)."""

    # --- amounts
    amounts_share: float = 0.5
    """Share of the tables whose outcome is an amount; the others are yes or no."""
    most_classes: int = 6
    """An amount has from 2 to this many outcome classes."""
    scale_share: float = 0.35
    """Share of the amounts that are scales of 3 to 10 points."""
    sample_range_share: float = 0.4
    """Share of the amounts whose range is the sample's: labels are then of the outcome clipped to that range."""
    no_defiers_share: float = 0.3
    """Share of the tables in which nobody moves against one direction, and the network is told so."""
    unsaid_share: float = 0.25
    """Share of the other tables with covariates in which nobody does so either, but the network is not told: trials."""

    # --- sizes of compressed tables
    population: tuple[float, float] = (20.0, 5e7)
    """Log-uniform range of the number of people in tables of counts."""

    @classmethod
    def default(cls) -> PriorConfig:
        """The prior of the shipped model."""
        return cls()

    @classmethod
    def paper(cls) -> PriorConfig:
        """The paper's prior: one shift step, raw logits taken from units of the base table, random networks only."""
        return cls(
            name="paper",
            target_floor=1e-8,
            standardise_logits=False,
            uneven_scale_share=0.0,
            shift_steps=1,
            logits_from_covariates=False,
            free_intercept_share=0.0,
            null_share=0.0,
            covariate_families=(("scm", 1.0),),
            function_families=(("mlp", 1.0),),
            network_layers=12,
            network_units=64,
            one_hot_share=0.0,
            all_relevant_share=1.0,
            randomised_share=0.11,
            even_arms_share=0.0,
            instrument_families=(("linear", 0.1), ("mlp", 0.9)),
            one_sided_share=0.0,
            perfect_share=0.0,
            amounts_share=0.0,
            no_defiers_share=0.0,
            unsaid_share=0.0,
        )

    @classmethod
    def preset(cls, name: str) -> PriorConfig:
        """A preset by its name."""
        presets = {"default": cls.default, "paper": cls.paper}
        if name not in presets:
            raise InputError(f"There is no prior preset {name!r}; the presets are {', '.join(sorted(presets))}.")
        return presets[name]()

    def concentration(self, groups: int) -> float:
        """That of the Dirichlet on the 4 G^2 strata: the four treatment types are Dirichlet(4 gamma) for every G."""
        return 4 * self.gamma / groups**2

    def with_options(self, **changes: Any) -> PriorConfig:
        """The same config with some fields changed."""
        return self.from_dict({**self.to_dict(), **changes})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {name: _plain(value) for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> PriorConfig:
        """Inverse of `to_dict`; refuses fields it does not know."""
        known = {f.name for f in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise InputError(f"The prior has no field {unknown[0]!r}.")
        return replace(cls(), **{key: _frozen(value) for key, value in values.items()})


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, tuple | list) else value
