"""The network's weights, read from the model file itself: one file for the graph and for its stages.

An ONNX file is a protobuf message. The few fields that hold the initializers are read here, because the core has
onnxruntime, which runs graphs but does not show their weights. The exporter writes where each parameter is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ivicl.errors import ModelFileError

PLACES = "parameters"
"""Key of the metadata: by its name, the initializer that holds a parameter, and whether it is stored transposed."""
_GRAPH, _INITIALIZER = 7, 5
_TYPE, _FLOATS, _NAME, _RAW, _DOUBLES = 2, 4, 8, 9, 10
_TYPES = {1: np.float32, 10: np.float16, 11: np.float64}


class Weights:
    """Parameters by their names in the torch network."""

    def __init__(self, content: bytes, places: Mapping[str, Sequence[Any]]) -> None:
        wanted = {place[0] for place in places.values()}
        held = {name: values for name, values in _initializers(content, wanted)}
        missing = sorted(wanted - set(held))
        if missing:
            raise ModelFileError(f"The model file names a weight {missing[0]!r} that is not in it.")
        self._parameters = {
            name: _restored(held[place], turned, shape) for name, (place, turned, shape) in places.items()
        }

    def __getitem__(self, name: str) -> np.ndarray:
        return self._parameters[name]

    def wide(self, name: str) -> np.ndarray:
        """In float64."""
        return self._parameters[name].astype(np.float64)


def _restored(values: np.ndarray, turned: bool, shape: Sequence[int]) -> np.ndarray:
    found = values.reshape(shape[::-1]).T if turned else values.reshape(shape)
    return np.ascontiguousarray(found)


def _initializers(content: bytes, wanted: set[str]) -> Iterator[tuple[str, np.ndarray]]:
    for graph in _all(memoryview(content), _GRAPH):
        for tensor in _all(graph, _INITIALIZER):
            name = bytes(next(_all(tensor, _NAME), b"")).decode()
            if name in wanted:
                yield name, _array(tensor)


def _array(tensor: memoryview) -> np.ndarray:
    """A tensor's numbers, flat: half and single precision as single, double as double."""
    kind = next(_all(tensor, _TYPE), 0)
    if kind not in _TYPES:
        raise ModelFileError(f"The model file holds a weight of ONNX type {kind}, which is no type of weights.")
    packed = b"".join(bytes(part) for field in (_RAW, _FLOATS, _DOUBLES) for part in _all(tensor, field))
    found = np.frombuffer(packed, np.dtype(_TYPES[kind]).newbyteorder("<"))
    return found.astype(np.float64 if kind == 11 else np.float32)


def _all(message: Any, wanted: int) -> Iterator[Any]:
    """The contents of the fields of this number."""
    return (content for field, content in _fields(message) if field == wanted)


def _fields(message: Any) -> Iterator[tuple[int, Any]]:
    """Number and content of each field of a protobuf message: integers, or slices of bytes."""
    place, end = 0, len(message)
    while place < end:
        key, place = _varint(message, place)
        field, kind = key >> 3, key & 7
        if kind == 0:
            value, place = _varint(message, place)
            yield field, value
            continue
        if kind == 2:
            size, place = _varint(message, place)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ModelFileError("The model file is not a readable ONNX file.")
        yield field, message[place : place + size]
        place += size


def _varint(message: Any, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
