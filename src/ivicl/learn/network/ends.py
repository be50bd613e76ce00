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

QUANTITIES = len(schema_2.QUANTITIES)
LOWEST = schema_2.LOWEST
"""The least that each can be; the most is 1."""


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
    arms = both_arms(chance)
    ends, coefficients = quantities(law, arms, share, temperature)
    left, inverse = residuals(law, arms, rows)
    residual = (left.unsqueeze(2) * coefficients).sum(-1) * inverse.unsqueeze(-1)  # (B,N,Q)
    # Among the people of one row the outcome varies too; c is linear in it, with this slope.
    paired = torch.unflatten(coefficients * taken(rows.cell).unsqueeze(2), -1, (4, 2))
    slope = (paired[..., 1] - paired[..., 0]).sum(-1) * inverse.unsqueeze(-1)
    squares = residual.square() + slope.square() * rows.v.unsqueeze(-1)
    one_step = ends + (share.unsqueeze(-1) * residual).sum(1)
    variance = (rows.w.unsqueeze(-1) * squares).sum(1) / rows.w.sum(1, keepdim=True).clamp(min=1e-30).square()
    return Estimates(ends, one_step, variance.clamp(min=0).sqrt())


def both_arms(chance: Tensor) -> Tensor:
    """(B,N,2) P(Z=z | x), from P(Z=1 | x)."""
    return torch.stack([1 - chance, chance], -1)


def residuals(law: Tensor, arms: Tensor, rows: Rows) -> tuple[Tensor, Tensor]:
    """(B,N,8) what the rows show beyond the law of their own arm, and (B,N) 1 / P(Z = that arm | x)."""
    own = arms_of(rows.cell)  # (B,N,2) which arm the row is in
    return rows.cell - law.flatten(2) * _stretched(own, 4), (own / arms).sum(-1)


def arms_of(cell: Tensor) -> Tensor:
    """(B,N,2) one-hot of z, from soft cells (B,N,8)."""
    return torch.unflatten(cell, -1, (2, 4)).sum(-1)


def taken(cell: Tensor) -> Tensor:
    """(B,N,8) one at both outcomes of the row's own (z, t)."""
    return _stretched(torch.unflatten(cell, -1, (4, 2)).sum(-1), 2)


class Averages(NamedTuple):
    """What the quantities of a table are made from; (B,) each. `identification.end_scores` has the same in numpy."""

    least_1: Tensor
    most_1: Tensor
    least_0: Tensor
    most_0: Tensor
    mean: Tensor
    """E Y."""
    some: Tensor
    """P(T=1), and P(T=0): ATT and ATU divide by them."""
    rest: Tensor
    change_y: Tensor
    base: Tensor
    """The first stage."""

    @staticmethod
    def of(most: Tensor, seen: Tensor, law: Tensor, temperature: Tensor) -> Averages:
        """From averages over the rows: of the largest terms (B,4), of the law seen (B,8) and of the law (B,8)."""
        # An impossible law can cross the ends of a mean: both are then their middle.
        least_1, most_1 = _uncrossed(most[:, 0], 1 - most[:, 1])
        least_0, most_0 = _uncrossed(most[:, 2], 1 - most[:, 3])
        outcome, treated, side = _cells(law)
        taking = seen @ treated
        change_t = law @ (side * treated)
        # Where nobody is moved the ratio is anything; a first stage within its noise of zero counts as that noise.
        sign = torch.where(change_t < 0, -1.0, 1.0).to(law.dtype)
        base = sign * torch.maximum(change_t.abs(), temperature.flatten())
        some, rest = taking.clamp(min=1e-4), (1 - taking).clamp(min=1e-4)
        return Averages(
            least_1, most_1, least_0, most_0, seen @ outcome, some, rest, law @ (side * outcome), base
        )  # fmt: skip

    def values(self) -> Tensor:
        """(B,Q) the quantities."""
        ratios = [
            (self.mean - self.most_0) / self.some, (self.mean - self.least_0) / self.some,
            (self.least_1 - self.mean) / self.rest, (self.most_1 - self.mean) / self.rest, self.change_y / self.base,
        ]  # fmt: skip
        plain = [self.least_1 - self.most_0, self.most_1 - self.least_0]
        plain += [self.least_1, self.most_1, self.least_0, self.most_0]
        return torch.stack([*plain, *(ratio.clamp(-1, 1) for ratio in ratios)], 1)


def quantities(law: Tensor, arms: Tensor, share: Tensor, temperature: Tensor) -> tuple[Tensor, Tensor]:
    """The quantities (B,Q) at a law, and their coefficients (B,N,Q,8) on it."""
    terms = mean_terms(torch.unflatten(law, -1, (2, 2)))  # (B,N,4,4)
    active = (terms / temperature.unsqueeze(1).unsqueeze(1)).softmax(-1)
    c = torch.einsum("bnkj,kjc->bnkc", active, law.new_tensor(MEAN_TERMS))  # (B,N,4,8)
    by_arm, flat, mean_over = _stretched(arms, 4), law.flatten(2), share.unsqueeze(1)  # (B,N,8), (B,N,8), (B,1,N)
    most, seen, overall = ((mean_over @ part).squeeze(1) for part in (terms.amax(-1), flat * by_arm, flat))
    about = Averages.of(most, seen, overall, temperature)
    values = about.values()
    c_least_1, c_most_1, c_least_0, c_most_0 = c[:, :, 0], -c[:, :, 1], c[:, :, 2], -c[:, :, 3]
    outcome, treated, side = _cells(law)
    c_mean, c_taking = by_arm * outcome, by_arm * treated

    def at(value: Tensor) -> Tensor:
        return value.view(-1, 1, 1)

    att_low, att_high, atu_low, atu_high, late = (at(value) for value in values[:, 6:].unbind(1))
    some, rest = at(about.some), at(about.rest)
    coefficients = [
        c_least_1 - c_most_0, c_most_1 - c_least_0, c_least_1, c_most_1, c_least_0, c_most_0,
        (c_mean - c_most_0 - att_low * c_taking) / some, (c_mean - c_least_0 - att_high * c_taking) / some,
        (c_least_1 - c_mean + atu_low * c_taking) / rest, (c_most_1 - c_mean + atu_high * c_taking) / rest,
        (side * outcome - late * side * treated).expand_as(flat) / at(about.base),
    ]  # fmt: skip
    return values, torch.stack(coefficients, 2)


def _cells(like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(8,) each, of the cells [z][t][y]: y, t, and -1 or 1 by z."""
    outcome, treated, side = [0.0, 1.0] * 4, [0.0, 0.0, 1.0, 1.0] * 2, [-1.0] * 4 + [1.0] * 4
    return like.new_tensor(outcome), like.new_tensor(treated), like.new_tensor(side)


def _uncrossed(lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    middle = 0.5 * (lower + upper)
    return torch.minimum(lower, middle), torch.maximum(upper, middle)


def _stretched(values: Tensor, times: int) -> Tensor:
    """(B,N,k) -> (B,N,k*times): each entry several times over, by a view that exports as one."""
    return values.unsqueeze(-1).expand(-1, -1, -1, times).flatten(2)
