"""Products of tall, thin matrices, in pieces so small that the linear-algebra library uses one core for each.

The library's threads wait for each other in every call. A thin product hardly gains from a second core, and when other
processes keep the cores busy, it can wait a hundred times as long as it computes. A stack of pieces is still one call.
Shapes: N rows; p and q columns.
"""

from __future__ import annotations

import numpy as np

THIN = 4_096
"""Multiplications per row; a wider product gains from several cores."""
BY_MATRIX, BY_VECTOR = 2**18, 9_000
"""Multiplications per piece, few enough that OpenBLAS, the library in numpy's wheels, uses one core."""
STACKED = 2**17
"""How many numbers of the pieces' sums are in memory at once: 1 MB."""


def times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b, for rows a (N,p) and b (p,) or (p,q)."""
    size = _rows(a.shape[1], 1 if b.ndim == 1 else b.shape[1], len(a))
    stacked = len(a) // size * size
    found = np.empty((len(a), *b.shape[1:]))
    np.matmul(_stack(a[:stacked], size), b, out=_stack(found[:stacked], size))
    found[stacked:] = a[stacked:] @ b
    return found


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a.T @ b, sums over rows a (N,) or (N,p) and b (N,) or (N,q)."""
    left, right = (each[:, None] if each.ndim == 1 else each for each in (a, b))
    p, q = left.shape[1], right.shape[1]
    size = _rows(p, q, len(left))
    stacked = len(left) // size * size
    found = left[stacked:].T @ right[stacked:]
    step = size * max(STACKED // max(p * q, 1), 1)
    for start in range(0, stacked, step):
        here = slice(start, min(start + step, stacked))
        found += (_stack(left[here], size).transpose(0, 2, 1) @ _stack(right[here], size)).sum(axis=0)
    answer: np.ndarray = found.reshape(a.shape[1:] + b.shape[1:])
    return answer


def _rows(p: int, q: int, n: int) -> int:
    """How many rows go into one piece."""
    if p * q > THIN:
        return max(n, 1)
    most = BY_VECTOR if 1 in (p, q) else BY_MATRIX
    return max(most // max(p * q, 1), 1)


def _stack(rows: np.ndarray, size: int) -> np.ndarray:
    return rows.reshape(len(rows) // size, size, *rows.shape[1:])
