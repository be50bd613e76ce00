"""Where the ends of the identified sets lie and how well that is known, from the law at the rows: no learning.

Each end is a mean over rows of a maximum of terms that are linear in the law (`theory.MEAN_TERMS`). With the active
term's coefficients c_z(t, y) at each x, its standard error given X follows from the residuals of c over P(Z=z | x), and
so does the one-step correction. Near a tie of terms the coefficients are averaged, so that nothing jumps.
B tables, N rows, Q = 11 quantities: lower and upper end of ATE, EY1, EY0, ATT and ATU, and the movers' effect.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ivicl.learn.theory import MEAN_TERMS, mean_terms
from ivicl.methods.pretrained import schema_2
from ivicl.methods.pretrained.streaming.constants import BLUR

QUANTITIES = len(schema_2.QUANTITIES)
LOWEST = schema_2.LOWEST
"""The least that each can be; the most is 1."""
DOUBTS = 16 + 4 * len(BLUR) + 2 + 4
"""What `doubts` says of a table."""


class Rows(NamedTuple):
    """The data as the formulas need them."""

    cell: Tensor
    """(B,N,8) soft cells [z][t][y]: 1-y and y at the row's own z and t."""
    v: Tensor
    """(B,N) variance of the outcome among the row's people."""
    w: Tensor
    """(B,N) people."""


class Estimates(NamedTuple):
    """(B,Q) each."""

    plug_in: Tensor
    one_step: Tensor
    se: Tensor


def estimate(law: Tensor, chance: Tensor, rows: Rows, temperature: Tensor) -> Estimates:
    """law (B,N,2,4) probabilities, chance (B,N) P(Z=1|x), temperature (B,1): differences of terms that are noise."""
    share = rows.w / rows.w.sum(1, keepdim=True).clamp(min=1e-30)
    arms = torch.stack([1 - chance, chance], -1)  # (B,N,2)
    ends, coefficients = quantities(law, arms, share, temperature)
    own = arms_of(rows.cell)  # (B,N,2) which arm the row is in
    inverse = (own / arms).sum(-1)  # 1 / P(its own z)
    fitted = (law.flatten(2) * _stretched(own, 4)).unsqueeze(2)  # (B,N,1,8)
    residual = ((rows.cell.unsqueeze(2) - fitted) * coefficients).sum(-1) * inverse.unsqueeze(-1)  # (B,N,Q)
    # Among the people of one row the outcome varies too; c is linear in it, with this slope.
    paired = torch.unflatten(coefficients * taken(rows.cell).unsqueeze(2), -1, (4, 2))
    slope = (paired[..., 1] - paired[..., 0]).sum(-1) * inverse.unsqueeze(-1)
    squares = residual.square() + slope.square() * rows.v.unsqueeze(-1)
    one_step = ends + (share.unsqueeze(-1) * residual).sum(1)
    variance = (rows.w.unsqueeze(-1) * squares).sum(1) / rows.w.sum(1, keepdim=True).clamp(min=1e-30).square()
    return Estimates(ends, one_step, variance.clamp(min=0).sqrt())


def doubts(law: Tensor, chance: Tensor, rows: Rows, unit: Tensor) -> Tensor:
    """(B,DOUBTS) what tells whether the one-step ends can be trusted: sums over rows alone.

    They are unbiased where one term is active at every x and the instrument depends on nothing, whatever the law; what
    is lost elsewhere depends on how nearly others are active, and on how far the law is off.
    """
    share = (rows.w / rows.w.sum(1, keepdim=True).clamp(min=1e-30)).unsqueeze(1)  # (B,1,N)
    terms = mean_terms(torch.unflatten(law, -1, (2, 2)))  # (B,N,4,4)
    behind = terms - terms.amax(-1, keepdim=True)
    active = (share @ (behind / BLUR[0]).softmax(-1).flatten(2)).squeeze(1)
    gains = torch.cat([blur * (behind / blur).exp().sum(-1).log() for blur in BLUR], -1)
    gained = (share @ gains).squeeze(1) / unit[:, 2:6].repeat(1, len(BLUR))
    moments = torch.stack([chance, chance.square(), 0.25 / (chance * (1 - chance))], -1)
    mean, square, inverse = (share @ moments).squeeze(1).unbind(-1)
    spread = (square - mean.square()).clamp(min=0).sqrt()
    # By how much more likely the rows are than the law expects of itself, by arm: far off if the law is.
    own = arms_of(rows.cell) * rows.w.unsqueeze(-1)  # (B,N,2)
    shown = torch.unflatten(rows.cell, -1, (2, 4))
    surprise = ((shown - arms_of(rows.cell).unsqueeze(-1) * law) * law.log()).sum(-1)  # (B,N,2)
    people = own.sum(1)
    gap = (own * surprise).sum(1) / people.clamp(min=1)
    parts = [
        active, (gained + 0.01).log() / 5, (4 * spread).unsqueeze(-1), inverse.log().unsqueeze(-1),
        (5 * gap).clamp(-2, 2), (gap * people.sqrt() / 3).clamp(-3, 3),
    ]  # fmt: skip
    return torch.cat(parts, 1)


def arms_of(cell: Tensor) -> Tensor:
    """(B,N,2) one-hot of z, from soft cells (B,N,8)."""
    return torch.unflatten(cell, -1, (2, 4)).sum(-1)


def taken(cell: Tensor) -> Tensor:
    """(B,N,8) one at both outcomes of the row's own (z, t)."""
    return _stretched(torch.unflatten(cell, -1, (4, 2)).sum(-1), 2)


def quantities(law: Tensor, arms: Tensor, share: Tensor, temperature: Tensor) -> tuple[Tensor, Tensor]:
    """The quantities (B,Q) at a law, and their coefficients (B,N,Q,8) on it."""
    terms = mean_terms(torch.unflatten(law, -1, (2, 2)))  # (B,N,4,4)
    active = (terms / temperature.unsqueeze(1).unsqueeze(1)).softmax(-1)
    table = law.new_tensor(MEAN_TERMS)  # (4,4,8)
    c = torch.einsum("bnkj,kjc->bnkc", active, table)  # (B,N,4,8)
    most = (share.unsqueeze(1) @ terms.amax(-1)).squeeze(1)  # (B,4)
    least_1, most_1, least_0, most_0 = most[:, 0], 1 - most[:, 1], most[:, 2], 1 - most[:, 3]
    # An impossible law can cross the ends of a mean: both are then their middle.
    least_1, most_1 = _uncrossed(least_1, most_1)
    least_0, most_0 = _uncrossed(least_0, most_0)
    c_least_1, c_most_1, c_least_0, c_most_0 = c[:, :, 0], -c[:, :, 1], c[:, :, 2], -c[:, :, 3]
    outcome = law.new_tensor([0.0, 1.0] * 4)
    treated = law.new_tensor([0.0, 0.0, 1.0, 1.0] * 2)
    side = law.new_tensor([-1.0] * 4 + [1.0] * 4)
    by_arm = _stretched(arms, 4)  # (B,N,8)
    flat = law.flatten(2)
    mean, taking = ((share.unsqueeze(1) @ (flat * by_arm)) @ f.unsqueeze(1) for f in (outcome, treated))
    mean, taking = mean.flatten(), taking.flatten()
    some, rest = taking.clamp(min=1e-4), (1 - taking).clamp(min=1e-4)
    c_mean, c_taking = by_arm * outcome, by_arm * treated
    att = ((mean - most_0) / some).clamp(-1, 1), ((mean - least_0) / some).clamp(-1, 1)
    atu = ((least_1 - mean) / rest).clamp(-1, 1), ((most_1 - mean) / rest).clamp(-1, 1)

    def at(value: Tensor) -> Tensor:
        return value.view(-1, 1, 1)

    change_y, change_t = (((share.unsqueeze(1) @ flat) @ (side * f).unsqueeze(1)).flatten() for f in (outcome, treated))
    # Where nobody is moved the ratio is anything; a first stage within its noise of zero counts as that noise.
    base = torch.where(change_t < 0, -1.0, 1.0).to(law.dtype) * torch.maximum(change_t.abs(), temperature.flatten())
    late = (change_y / base).clamp(-1, 1)
    values = [least_1 - most_0, most_1 - least_0, least_1, most_1, least_0, most_0, *att, *atu, late]
    coefficients = [
        c_least_1 - c_most_0, c_most_1 - c_least_0, c_least_1, c_most_1, c_least_0, c_most_0,
        (c_mean - c_most_0 - at(att[0]) * c_taking) / at(some), (c_mean - c_least_0 - at(att[1]) * c_taking) / at(some),
        (c_least_1 - c_mean + at(atu[0]) * c_taking) / at(rest), (c_most_1 - c_mean + at(atu[1]) * c_taking) / at(rest),
        (side * outcome - at(late) * side * treated).expand_as(flat) / at(base),
    ]  # fmt: skip
    return torch.stack(values, 1), torch.stack(coefficients, 2)


def _uncrossed(lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    middle = 0.5 * (lower + upper)
    return torch.minimum(lower, middle), torch.maximum(upper, middle)


def _stretched(values: Tensor, times: int) -> Tensor:
    """(B,N,k) -> (B,N,k*times): each entry several times over, by a view that exports as one."""
    return values.unsqueeze(-1).expand(-1, -1, -1, times).flatten(2)
