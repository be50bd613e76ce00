"""Runs the exported graph with onnxruntime: without torch, without internet, with the same answer every time.

A model is one ONNX file. Its metadata hold the config, the prior, the training record, the evaluation and a checksum of
the file itself (computed with the checksum's own digits zeroed), which is verified on loading.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from ivicl._shared.cores import in_order, threads, threads_asked
from ivicl.errors import ModelFileError
from ivicl.methods.pretrained.schema_2 import SCHEMA, Graph, Posteriors
from ivicl.methods.pretrained.stacks import Stack
from ivicl.methods.pretrained.streaming.network import StagedNetwork
from ivicl.methods.pretrained.streaming.weights import PLACES, Weights

SHIPPED = "ivicl.onnx"
CARD = "ivicl.card.json"
"""What `ivicl evaluate --card` wrote when the shipped network was judged again."""
_LOADING = Lock()
_DIGEST = re.compile(rb"ivicl-sha256:([0-9a-f]{64})")


def file_digest(content: bytes, name: str) -> tuple[str, str]:
    """The checksum written in a model file and the one computed from it."""
    found = _DIGEST.search(content)
    if found is None:
        raise ModelFileError(
            f"{name!r} is not an ivicl model, for it holds no checksum; name a file that ivicl export wrote."
        )
    start, end = found.span(1)
    blank = content[:start] + b"0" * 64 + content[end:]
    return found.group(1).decode(), hashlib.sha256(blank).hexdigest()


def graph_of(schema: object, name: str) -> Graph:
    """The graph for the schema that a file says it has."""
    if schema == SCHEMA:
        return Graph()
    raise ModelFileError(
        f"The model file {name!r} has graph schema {schema}; this version of ivicl reads schema {SCHEMA}: use "
        "the version that made the file, train and export yours again, or leave model out to use the shipped network."
    )


def _run(session: Any, graph: Graph, *arrays: np.ndarray | None) -> Posteriors:
    return graph.read(session.run(graph.outputs, graph.feed(Stack(*arrays))))  # type: ignore[arg-type]


class Model:
    """A loaded model. `Model.shipped()` is the one in the package; `Model.load(path)` loads any other.

    Examples:
        >>> from ivicl import datasets
        >>> model = Model.shipped()
        >>> answers = model.predict_counts(np.array([datasets.COUNTS["cholestyramine"]]))
        >>> type(answers).__name__, model.metadata["schema"]
        ('Posteriors', 2)
        >>> stack = np.zeros((1, 4, 0)), np.array([[0, 0, 1, 1]]), np.array([[0, 0, 0, 1]]), np.array([[0, 1, 0, 1]])
        >>> len(model.predict(*stack, np.full((1, 4), 100.0)).effect)
        1
        >>> Model.load(resources.files("ivicl") / "weights" / SHIPPED).sha256 == model.sha256
        True
    """

    def __init__(self, content: bytes, name: str) -> None:
        written, computed = file_digest(content, name)
        if written != computed:
            raise ModelFileError(
                f"The model file {name!r} is damaged: its checksum is {computed[:12]}, not {written[:12]}; "
                "copy it again."
            )
        self.name = name
        self.sha256 = written
        self._content = content
        self.graph = graph_of(self.metadata.get("schema"), name)

    @staticmethod
    def load(path: str | Path) -> Model:
        """The model in a file, which is read only once per process as long as it does not change."""
        try:
            about = Path(path).stat()
            with _LOADING:
                return _load_file(Path(path).resolve(), about.st_mtime_ns, about.st_size)
        except OSError as error:
            raise ModelFileError(f"The model file {str(path)!r} cannot be read: {error.strerror}.") from error

    @staticmethod
    def shipped() -> Model:
        """The model in the package, which is loaded once per process, whichever thread asks first."""
        with _LOADING:
            return _load_shipped()

    @cached_property
    def _session(self) -> Any:
        return self._open(threads_asked())  # 0 leaves it to the runtime

    @cached_property
    def _one_thread_session(self) -> Any:
        return self._open(1)

    def _open(self, threads: int) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        # The optimiser would spend seconds on this graph, at the cost of every cold command, and passes get no faster.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        # Planning memory reuse is quadratic in the number of nodes: 0.6 s of loading. Buffers are freed either way.
        options.enable_mem_reuse = False
        options.intra_op_num_threads = threads
        return onnxruntime.InferenceSession(self._content, options, providers=["CPUExecutionProvider"])

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """Config, prior, training record, evaluation."""
        found: dict[str, Any] = json.loads(self._session.get_modelmeta().custom_metadata_map["ivicl"])
        return found

    @property
    def card(self) -> list[dict[str, Any]]:
        """How it was judged, line by line: as its file says, or as `CARD` in the package does, where the network that
        ships was judged again. What is computed around a network can change while its file stays as it is.
        """
        lines = {line["line"]: line for line in self.metadata.get("evaluation", [])}
        later = json.loads((resources.files("ivicl") / "weights" / CARD).read_text())
        if later["model"]["sha256"] == self.sha256:
            lines |= {line["line"]: line for line in later["card"]}
        return list(lines.values())

    @cached_property
    def staged(self) -> StagedNetwork | None:
        """The network in stages over chunks of rows, for tables too large for one pass; None if the file lacks it."""
        if PLACES not in self.metadata:
            return None
        return StagedNetwork(Weights(self._content, self.metadata[PLACES]), self.metadata["network"])

    def on_one_thread(self) -> Model:
        """The same model, but each pass uses one core, for callers that run several passes at once.

        Examples:
            >>> Model.shipped().on_one_thread().sha256 == Model.shipped().sha256
            True
        """
        other = copy.copy(self)
        other.__dict__["_session"] = self._one_thread_session
        return other

    def predict_side_by_side(self, passes: Iterable[tuple[np.ndarray | None, ...]]) -> Iterator[Posteriors]:
        """`predict` for each of many passes, in order: one on each core, because threads inside a pass help little.

        Few passes are taken ahead of the answers, so that memory does not grow with their number.
        """
        session = self._one_thread_session  # opened before the threads start, which would race for a cached property
        return in_order(lambda arrays: _run(session, self.graph, *arrays), passes, threads())

    def predict(
        self,
        x: np.ndarray,
        z: np.ndarray,
        t: np.ndarray,
        y: np.ndarray,
        w: np.ndarray,
        v: np.ndarray | None = None,
        no_defiers: np.ndarray | None = None,
        design: np.ndarray | None = None,
    ) -> Posteriors:
        """The posteriors for the tables of a `Stack`, given as the stack's parts."""
        return _run(self._session, self.graph, x, z, t, y, w, v, no_defiers, design)

    def predict_counts(self, tables: np.ndarray) -> Posteriors:
        """The posteriors for tables (B,2,2,2) of people by `[z][t][y]`."""
        counts = np.asarray(tables, np.float64).reshape(-1, 8)
        cell = np.broadcast_to(np.arange(8), counts.shape)
        return self.predict(np.zeros((*counts.shape, 0)), cell // 4, cell // 2 % 2, cell % 2, counts)


@lru_cache(maxsize=2)
def _load_file(path: Path, changed: int, size: int) -> Model:
    return Model(path.read_bytes(), path.name)


@lru_cache(maxsize=1)
def _load_shipped() -> Model:
    file = resources.files("ivicl") / "weights" / SHIPPED
    if not file.is_file():
        raise ModelFileError("This installation holds no model: ivicl.onnx is missing from its weights folder.")
    return Model(file.read_bytes(), SHIPPED)
