"""How the network names its own parameters to a trainer: in groups, each with the tables that teach it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from torch import nn

Teacher = Literal["counts", "tables"]
"""`counts`: tables without covariates teach it; `tables`: those with covariates do."""


class HiddenLayers(nn.Module):
    """A module whose matrices map one hidden representation to another: what Muon is for.

    Embeddings, heads, norms, biases and latents are not: the size of their gradients means something.
    """


class ParameterGroup(NamedTuple):
    """Parameters that learn at one rate."""

    teacher: Teacher
    parameters: dict[str, nn.Parameter]
    """By their names in the network; those that are not trained are left out."""
    hidden: frozenset[str]
    """Names of those that are matrices of hidden layers."""


def parameter_group(network: nn.Module, teacher: Teacher, *parts: nn.Module) -> ParameterGroup:
    """All parameters of some parts of the network, as one group."""
    own = {id(parameter) for part in parts for parameter in part.parameters() if parameter.requires_grad}
    layers = (module for part in parts for module in part.modules() if isinstance(module, HiddenLayers))
    matrices = {id(parameter) for layer in layers for parameter in layer.parameters() if parameter.ndim == 2}
    parameters = {name: parameter for name, parameter in network.named_parameters() if id(parameter) in own}
    hidden = frozenset(name for name, parameter in parameters.items() if id(parameter) in matrices)
    return ParameterGroup(teacher, parameters, hidden)
