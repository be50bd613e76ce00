"""The network's layers on arrays: what torch's modules of the same names do."""

from __future__ import annotations

from functools import reduce

import numpy as np

from ivicl.methods.pretrained.streaming.weights import Weights

_GELU = np.float32(np.sqrt(2 / np.pi))


class Layers:
    """The modules of a network, each called by its name."""

    def __init__(self, weights: Weights, heads: int) -> None:
        self.weights, self.heads = weights, heads

    def linear(self, name: str, x: np.ndarray, bias: bool = True) -> np.ndarray:
        found: np.ndarray = x @ self.weights[f"{name}.weight"].T
        if bias:
            found += self.weights[f"{name}.bias"]
        return found

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        variance = np.einsum("...i,...i->...", centred, centred) / x.shape[-1]
        centred *= (1 / np.sqrt(variance + 1e-5))[..., None].astype(x.dtype)
        centred *= self.weights[f"{name}.weight"]
        centred += self.weights[f"{name}.bias"]
        answer: np.ndarray = centred
        return answer

    def residual(self, name: str, x: np.ndarray) -> np.ndarray:
        answer: np.ndarray = x + self.linear(
            f"{name}.down", gelu(self.linear(f"{name}.up", self.norm(f"{name}.norm", x)))
        )
        return answer

    def queries(self, name: str, x: np.ndarray) -> np.ndarray:
        """(H,n,d) what reads."""
        return self._split(self.linear(f"{name}.query", self.norm(f"{name}.query_norm", x), bias=False))

    def keys_and_values(self, name: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(H,n,d) each: what is read."""
        normed = self.norm(f"{name}.key_norm", x)
        return tuple(self._split(self.linear(f"{name}.{part}", normed, bias=False)) for part in ("key", "value"))  # type: ignore[return-value]

    def attend(self, name: str, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Attention of one set to another that is in memory as a whole."""
        q, (k, v) = self.queries(name, queries), self.keys_and_values(name, keys)
        return self.read(name, queries, softmax(scores(q, k)) @ v)

    def read(self, name: str, x: np.ndarray, mixed: np.ndarray) -> np.ndarray:
        """x and what it has read, (H,n,d)."""
        joined = mixed.transpose(1, 0, 2).reshape(len(x), -1).astype(x.dtype, copy=False)
        answer: np.ndarray = x + self.linear(f"{name}.out", joined, bias=False)
        return answer

    def _split(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(len(x), self.heads, -1).transpose(1, 0, 2)


class RunningSoftmax:
    """Attention to rows that come in chunks: the largest score so far, and sums in its unit. In float64."""

    def __init__(self, queries: np.ndarray) -> None:
        heads, n, width = queries.shape
        self.queries = queries
        self.top = np.full((heads, n, 1), -np.inf)
        self.total = np.zeros((heads, n, 1))
        self.mixed = np.zeros((heads, n, width))

    def part(self, keys: np.ndarray, values: np.ndarray, log_weights: np.ndarray) -> tuple[np.ndarray, ...]:
        """The same three of one chunk."""
        found = scores(self.queries, keys) + log_weights
        top = found.max(-1, keepdims=True)
        found -= top
        np.exp(found, out=found)
        return top, found.sum(-1, keepdims=True, dtype=np.float64), found @ values

    def add(self, part: tuple[np.ndarray, ...]) -> None:
        top, total, mixed = part
        highest = np.maximum(self.top, top)
        before, here = np.exp(self.top - highest), np.exp(top - highest)
        self.total = self.total * before + total * here
        self.mixed = self.mixed * before + mixed * here
        self.top = highest

    @property
    def answer(self) -> np.ndarray:
        """(H,n,d)."""
        return self.mixed / self.total


def scores(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    found: np.ndarray = queries @ keys.transpose(0, 2, 1)
    found *= np.float32(keys.shape[-1] ** -0.5)
    return found


def softmax(x: np.ndarray) -> np.ndarray:
    top = x.max(-1) if x.shape[-1] > 8 else reduce(np.maximum, np.moveaxis(x, -1, 0))  # quicker where it is short
    found = x - top[..., None]
    np.exp(found, out=found)
    found /= np.einsum("...k->...", found)[..., None]
    answer: np.ndarray = found
    return answer


def gelu(x: np.ndarray) -> np.ndarray:
    """By tanh; in place of x."""
    inner = x * x
    inner *= np.float32(0.044715)
    inner += 1
    inner *= x
    inner *= _GELU
    np.tanh(inner, out=inner)
    inner += 1
    inner *= x
    inner *= np.float32(0.5)
    answer: np.ndarray = inner
    return answer
