"""Weights of candidates under which their mixture makes the rows most likely. Nothing is learnt."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ivicl.methods.pretrained.streaming.constants import EM_POWER, EM_STEPS


def mixture(stack: Tensor, outcome: Tensor, arm: Tensor, costs: Sequence[float] = ()) -> Tensor:
    """(B,A,C) weights under which the candidates' mixture makes the rows most likely, by EM steps from equal weights.

    stack (B,N,A,C,L) leave-one-out laws of A arms; outcome (B,N,L), whose two halves are the treatments if L = 4. A
    soft row is its people with y=1 and its people with y=0. A candidate must be more likely by its cost, in nats a
    table, spread over all people. Likelihoods are in float32, which is enough; their sums
    over all rows are as exact as the stack, so that the order of rows does not show.
    """
    arms, half = arm.shape[2], outcome.shape[2] // 2
    own = (arm > 0).float().unsqueeze(-1).unsqueeze(-1)
    likely = (stack.float() * own).sum(2)  # (B,N,C,L) at the row's own arm
    shown = outcome.float()
    if half == 2:
        # Only one treatment was taken: its two outcomes are all that is needed.
        took = (shown[:, :, 2:].sum(-1, keepdim=True) > 0).float().unsqueeze(-1)
        likely = likely[..., :2] * (1 - took) + likely[..., 2:] * took
        shown = shown[:, :, :2] + shown[:, :, 2:]
    likely = likely.transpose(2, 3).flatten(1, 2).to(stack.dtype)  # (B,2N,C)
    people = (arm.to(stack.dtype).unsqueeze(2) * shown.unsqueeze(-1)).flatten(1, 2)  # (B,2N,A)
    if costs:
        everybody = people.sum((1, 2)).clamp(min=1e-6).view(-1, 1, 1)
        likely = likely * (-likely.new_tensor(costs) / everybody).exp()
    inside = (people > 0).to(stack.dtype)
    total = people.sum(1).unsqueeze(-1) + 1  # (B,A,1); one more, who is shared equally: an arm may be empty
    equal = 1 / stack.shape[3]
    shares = (0 * likely[:, :1] + equal).expand(-1, arms, -1)
    for _ in range(EM_STEPS):
        mixed = (likely @ shares.transpose(1, 2)).clamp(min=1e-12)  # (B,2N,A)
        pulled = (people * inside / mixed).transpose(1, 2) @ likely  # (B,A,C)
        # An EM step multiplies the weights; a power of it goes the same way, faster.
        shares = shares * ((pulled + equal / shares) / total).pow(EM_POWER)
        shares = shares / shares.sum(-1, keepdim=True)
    return shares
