"""The inverse of a regularised Gram matrix, differentiable, and by matmuls alone where the graph must run anywhere."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

STEPS, REFINEMENTS = 15, 4
"""Newton-Schulz steps in the exported graph. The least eigenvalue grows fourfold a step until it is near 1, and then
the error squares: enough for condition numbers up to 1e7. These steps run in float32, twice as fast; the error they
leave is squared by each refinement in float64."""


class _Inverse(torch.autograd.Function):
    """Cholesky; the backward pass needs the inverse alone."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor) -> Tensor:
        factor = torch.linalg.cholesky(matrix)
        result = torch.cholesky_inverse(factor)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        result: Tensor = ctx.saved_tensors[0]
        return -result @ grad @ result


BLOCK = 32
"""Newton-Schulz inverts blocks of this size; elimination puts them together at a tenth of the cost of doing all."""


def block_inverse(matrix: Tensor, smallest: Tensor) -> Tensor:
    """Inverse of symmetric matrices (B,F,F) with eigenvalues of at least `smallest` (B,1,1) > 0, both float64.

    ONNX has no solver, so by matmuls alone: Gauss-Jordan elimination block by block. What it leaves of a positive
    matrix has no smaller and no larger eigenvalues, so that it needs no pivoting and one schedule of steps serves every
    block.
    """
    size = int(matrix.shape[-1])
    bound = matrix.abs().sum(-1).amax(-1).unsqueeze(-1).unsqueeze(-1)
    eye = torch.eye(size, dtype=matrix.dtype, device=matrix.device)
    schedule = _schedule((smallest / bound).float(), eye[:BLOCK, :BLOCK].float())
    work = matrix / bound
    for start in range(0, size, BLOCK):
        end = min(start + BLOCK, size)
        pivot = _newton_schulz(work[:, start:end, start:end], schedule, eye[start:end, start:end])
        column, unit = work[:, :, start:end], eye[:, start:end]
        # The eliminated columns would be columns of the identity: the inverse grows in their place.
        parts = [work[:, :, :start], unit.expand_as(column), work[:, :, end:]]
        work = torch.cat([part for part in parts if part.shape[2]], 2)
        work = work - (column - unit) @ (pivot @ work[:, start:end])
    return work / bound


def _schedule(least: Tensor, eye: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Terms of the steps below for matrices with eigenvalues in [least, 1]: c (1 + l) I and c.

    The plain step X <- X (2 - A X) doubles the small eigenvalues s of A X; knowing that all lie in [l, 1], the step
    X <- c X (1 + l - A X) with c = 4 / (1 + l)^2 quadruples them and keeps them below 1.
    """
    steps = []
    for _ in range(STEPS):
        factor = 4 / (1 + least).square()
        steps.append((factor * (1 + least) * eye, factor))
        least = (factor * least).clamp(max=1)
    return steps


def _newton_schulz(matrix: Tensor, schedule: list[tuple[Tensor, Tensor]], eye: Tensor) -> Tensor:
    rough, size = matrix.float(), int(matrix.shape[-1])
    estimate = eye.float()
    for step, (keep, take) in enumerate(schedule):
        product = rough @ estimate if step else rough
        # The last block may be smaller; where it is not, there is nothing to slice and no node in the graph.
        estimate = estimate @ ((keep if size == BLOCK else keep[:, :size, :size]) - take * product)
    estimate, twice = estimate.double(), 2 * eye
    for _ in range(REFINEMENTS):
        estimate = estimate @ (twice - matrix @ estimate)
    return estimate


def inverse(gram: Tensor, ridge: Tensor) -> Tensor:
    """(gram + ridge I)^-1 for gram (...,F,F) and ridge (...), which may have more leading axes than gram."""
    ridge = ridge.unsqueeze(-1).unsqueeze(-1)
    matrix = gram + ridge * torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    if not torch.onnx.is_in_onnx_export():
        inverted: Tensor = _Inverse.apply(matrix)  # type: ignore[no-untyped-call]
        return inverted
    return block_inverse(matrix.flatten(0, -3), ridge.flatten(0, -3)).view(matrix.shape)
