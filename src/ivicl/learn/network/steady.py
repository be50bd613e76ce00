"""Ends that do not lightly change the term of the formula from one x to the next: no learning.

Which term is the largest at x is read off an estimated law. Where terms nearly tie it is often the wrong one, and the
one-step end then lies too far out; at many rows that is what is lost most. So one term is given a lead: another takes
its place only where it is larger by more. Each of the four terms has the lead in turn, and the one that says most
counts. The largest lead of all is one term for everybody: where nobody defies, as in most trials, that end is unbiased
whatever the law. B tables, N rows, Q quantities, L leads.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ivicl.learn.network.ends import QUANTITIES, Averages, Rows, both_arms, residuals
from ivicl.learn.theory import mean_terms
from ivicl.methods.pretrained.streaming.constants import LEADS

STEADY = len(LEADS) + 1
"""Ends: one for each lead, and that of one term for everybody."""
STEADY_NEWS = STEADY * QUANTITIES + 2 * 16
"""What `Steady.news` says of a table."""


class Steady(NamedTuple):
    """What the steady ends of B tables are."""

    ends: Tensor
    """(B,L+1,Q) one-step ends."""
    lost: Tensor
    """(B,4,4) by how much each term falls short of the largest, on average over x, at the estimated law."""
    behind: Tensor
    """(B,4,4) by how much the average of each term falls short of the largest average, one-step."""

    def news(self, one_step: Tensor, unit: Tensor) -> Tensor:
        """(B,STEADY_NEWS) for the pool, beside the ends (B,Q) that change terms freely, in units (B,Q)."""
        apart = (self.ends - one_step.unsqueeze(1)) / unit.unsqueeze(1)
        short = torch.stack([self.lost, self.behind], 1) / unit[:, None, 2:6, None]
        return torch.cat([(apart / 3).clamp(-3, 3).flatten(1), (short.clamp(min=0) + 0.01).log().flatten(1) / 5], 1)


def steady(law: Tensor, chance: Tensor, rows: Rows, temperature: Tensor) -> Steady:
    """law (B,N,2,4) probabilities, chance (B,N) P(Z=1|x), temperature (B,1): differences of terms that are noise."""
    share = (rows.w / rows.w.sum(1, keepdim=True).clamp(min=1e-30)).unsqueeze(1)  # (B,1,N)
    terms = mean_terms(torch.unflatten(law, -1, (2, 2)))  # (B,N,4,4)
    left, inverse = residuals(law, both_arms(chance), rows)
    left = left * inverse.unsqueeze(-1)
    shown = terms + mean_terms(torch.unflatten(left, -1, (2, 2, 2)))  # what one-step estimates average
    noise = temperature.view(-1, 1, 1, 1, 1)
    most = []
    for lead in LEADS:
        ahead = lead * torch.eye(4, dtype=law.dtype, device=law.device)  # [who has the lead][term]
        active = ((terms.unsqueeze(3) + ahead) / noise).softmax(-1)
        most.append(_mean(share, (active * shown.unsqueeze(3)).sum(-1)).amax(-1))
    average = _mean(share, shown)
    most.append(average.amax(-1))
    seen, overall = ((share @ part).squeeze(1) for part in (rows.cell, law.flatten(2) + left))
    ends = torch.stack([Averages.of(each, seen, overall, temperature).values() for each in most], 1)
    lost = _mean(share, terms.amax(-1, keepdim=True) - terms)
    return Steady(ends, lost, average.amax(-1, keepdim=True) - average)


def _mean(share: Tensor, values: Tensor) -> Tensor:
    """(B,N,4,4) -> (B,4,4)."""
    return torch.unflatten((share @ values.flatten(2)).squeeze(1), 1, (4, 4))
