"""The inverse of a regularised Gram matrix, differentiable, and by matmuls alone where the graph must run anywhere."""

from __future__ import annotations

import torch
from torch import Tensor

STEPS, REFINEMENTS = 15, 3
"""Newton-Schulz steps in the exported graph. The least eigenvalue grows fourfold a step until it is near 1, and then
the error squares: enough for condition numbers up to 1e7. These steps run in float32, twice as fast; the error they
leave is squared by each refinement in float64."""


class _Inverse(torch.autograd.Function):
    """Cholesky; the backward pass needs the inverse alone."""

    @staticmethod
    def forward(ctx, matrix: Tensor) -> Tensor:  # type: ignore[override]
        factor = torch.linalg.cholesky(matrix)
        result = torch.cholesky_inverse(factor)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tensor:  # type: ignore[override]
        (result,) = ctx.saved_tensors
        return -result @ grad @ result


def newton_schulz_inverse(matrix: Tensor, smallest: Tensor) -> Tensor:
    """Inverse of symmetric matrices (B,F,F) with positive eigenvalues, at least `smallest` (B,1,1), in float64.

    ONNX has no solver. The plain step X <- X (2 - A X) doubles the small eigenvalues s of A X; knowing that all lie in
    [l, 1], the step X <- c X (1 + l - A X) with c = 4 / (1 + l)^2 quadruples them and keeps them below 1.
    """
    matrix = matrix.double()
    bound = matrix.abs().sum(-1).amax(-1).unsqueeze(-1).unsqueeze(-1)
    eye = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    scaled = matrix / bound
    rough, least = scaled.float(), (smallest.double() / bound).float()
    estimate = eye.float().expand_as(rough)
    for _ in range(STEPS):
        factor = 4 / (1 + least).square()
        estimate = factor * (estimate @ ((1 + least) * eye.float() - rough @ estimate))
        least = (factor * least).clamp(max=1)
    estimate = estimate.double()
    for _ in range(REFINEMENTS):
        estimate = estimate @ (2 * eye - scaled @ estimate)
    return estimate / bound


def inverse(gram: Tensor, ridge: Tensor) -> Tensor:
    """(gram + ridge I)^-1 for gram (B,F,F) and ridge (B,)."""
    ridge = ridge.unsqueeze(-1).unsqueeze(-1)
    matrix = gram + ridge * torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    if torch.onnx.is_in_onnx_export():
        return newton_schulz_inverse(matrix, ridge).to(gram.dtype)
    return _Inverse.apply(matrix)
