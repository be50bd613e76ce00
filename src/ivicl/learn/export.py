"""From a trained network to one ONNX file with everything that is known about it in its metadata.

Large weights are stored in half precision and cast when the graph is loaded, which halves the file; they are rounded
before the export, so that nothing is lost. Training can continue from the same file (`checkpoint.load_weights`).
"""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ivicl.learn.files import whole
from ivicl.learn.network.ends import QUANTITIES
from ivicl.learn.network.model import IVNetwork
from ivicl.methods.pretrained import schema_2
from ivicl.methods.pretrained.streaming.weights import PLACES

HALF_FROM = 1024
"""Tensors with at least this many numbers are stored in half precision."""


@torch.no_grad()
def rounded(network: IVNetwork) -> IVNetwork:
    """A copy whose large weights are exactly representable in half precision."""
    copy = IVNetwork(network.config)
    state = {k: v.half().float() if v.numel() >= HALF_FROM else v.clone() for k, v in network.state_dict().items()}
    copy.load_state_dict(state)
    return copy.eval()


def export(network: IVNetwork, path: Path, record: dict[str, Any]) -> str:
    """Write the graph to `path` and return its sha256. `record` is what goes into the metadata beside the config."""
    import onnx

    model = _graph(rounded(network))
    _share_constants(model)
    _store_half(model)
    _shorten_names(model)
    about: dict[str, Any] = schema_2.ABOUT | {PLACES: _places(model, network)}
    record = {"schema": schema_2.SCHEMA, **about, "network": network.config.to_dict(), **record}
    for key, value in (("ivicl", json.dumps(record, sort_keys=True)), ("checksum", "ivicl-sha256:" + "0" * 64)):
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
    onnx.checker.check_model(model)
    content = model.SerializeToString(deterministic=True)
    digest = hashlib.sha256(content).hexdigest()
    with whole(path) as fresh:
        fresh.write_bytes(content.replace(b"ivicl-sha256:" + b"0" * 64, b"ivicl-sha256:" + digest.encode()))
    return digest


class Signature(NamedTuple):
    """The inputs and outputs of a graph, with a table to trace it with."""

    arguments: dict[str, Tensor]
    per_row: tuple[str, ...]
    """Inputs with one entry per row; the others have one per table."""
    outputs: tuple[str, ...]
    outputs_per_row: tuple[str, ...]


def signature() -> Signature:
    """The inputs and outputs of the network's graph."""
    rows = torch.tensor([0.0, 1.0] * 8)
    table = torch.stack([rows, rows.roll(3)])
    x = torch.randn(2, 16, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    t, y = (table + (x[:, :, 0] > 1)).clamp(max=1).float(), (x[:, :, 1] > 0.7).float()
    arguments = {"x": x, "z": table, "t": t, "y": y, "v": table * 0, "w": table * 0 + 1}
    arguments |= {"no_defiers": torch.zeros(2, 1), "design": torch.ones(2, QUANTITIES)}
    per_row = ("law", "refined", "propensity")
    return Signature(arguments, ("z", "t", "y", "v", "w"), ("effect", "anchor", "unit", "mass", *per_row), per_row)


def _graph(network: IVNetwork) -> Any:
    """Trace the network with free numbers of tables, rows and covariates."""
    import io

    import onnx

    told = signature()
    axes = {name: {0: "B"} for name in (*told.arguments, *told.outputs)}
    axes |= {name: {0: "B", 1: "N"} for name in (*told.per_row, *told.outputs_per_row)} | {
        "x": {0: "B", 1: "N", 2: "D"}
    }
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # Use the tracing exporter: the newer one hard-codes sizes that depend on the data (the number of tied codings).
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network, tuple(told.arguments.values()), buffer,  # type: ignore[arg-type]
            input_names=list(told.arguments), output_names=list(told.outputs), dynamic_axes=axes,
            opset_version=18, dynamo=False,
        )  # fmt: skip
    return onnx.load_from_string(buffer.getvalue())


def _share_constants(model: Any) -> None:
    """One initializer for all equal constants: a quarter of the nodes are constants, and each costs time to load."""
    shared: dict[bytes, str] = {}
    renamed: dict[str, str] = {}
    kept = []
    for node in model.graph.node:
        if node.op_type != "Constant" or not node.attribute[0].HasField("t"):
            kept.append(node)
            continue
        tensor = node.attribute[0].t
        tensor.name = ""
        key = tensor.SerializeToString(deterministic=True)
        if key not in shared:
            shared[key] = node.output[0]
            model.graph.initializer.add().CopyFrom(tensor)
            model.graph.initializer[-1].name = node.output[0]
        renamed[node.output[0]] = shared[key]
    del model.graph.node[:]
    model.graph.node.extend(kept)
    for node in model.graph.node:
        for place, name in enumerate(node.input):
            node.input[place] = renamed.get(name, name)


def _shorten_names(model: Any) -> None:
    """Replace the names that tracing has given by numbers: nobody reads them, and apart from the weights they are half
    of the graph.

    Inputs and outputs keep their names. A branch has a graph of its own, which may use names from outside.
    """
    kept = {value.name for value in (*model.graph.input, *model.graph.output)} | {""}
    short: dict[str, str] = {}

    def shortened(name: str) -> str:
        return name if name in kept else short.setdefault(name, f"{len(short):x}")

    def shorten(graph: Any) -> None:
        for named in (*graph.initializer, *graph.input, *graph.output):
            named.name = shortened(named.name)
        for node in graph.node:
            node.name = ""
            for names in (node.input, node.output):
                names[:] = [shortened(name) for name in names]
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    shorten(attribute.g)
        del graph.value_info[:]

    shorten(model.graph)


def _places(model: Any, network: IVNetwork) -> dict[str, list[Any]]:
    """Which initializer holds each parameter or constant of a network, whether transposed, and the parameter's shape.

    Tracing folds transposes and casts into the weights, renames them and shares equal ones, so they are found by their
    values.
    """
    from onnx import TensorProto, numpy_helper

    kinds = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
    held: dict[bytes, str] = {}
    for tensor in model.graph.initializer:
        if tensor.data_type in kinds:
            held.setdefault(numpy_helper.to_array(tensor).astype("float64").tobytes(), tensor.name)
    found: dict[str, list[Any]] = {}
    for name, values in (*rounded(network).named_parameters(), *network.named_buffers()):
        array = values.detach().double().numpy()
        place, turned = held.get(array.tobytes()), held.get(array.T.tobytes())
        if place is None and turned is None:
            raise ValueError(f"The exported graph holds no weight like {name}.")
        found[name] = [place or turned, place is None, list(array.shape)]
    return found


def _store_half(model: Any) -> None:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    casts = []
    for tensor in model.graph.initializer:
        if tensor.data_type != TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(tensor)
        if values.size < HALF_FROM:
            continue
        half = values.astype(np.float16)
        if not np.array_equal(half.astype(np.float32), values):
            continue
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(half, name + "_half"))
        casts.append(helper.make_node("Cast", [name + "_half"], [name], to=TensorProto.FLOAT))
    for node in reversed(casts):
        model.graph.node.insert(0, node)
