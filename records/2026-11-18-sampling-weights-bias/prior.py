"""How far the prior pulls the ends of the survey's law, by the number of independent people: `exact` on true shares."""

from __future__ import annotations

import numpy as np

from ivicl import IVBounds
from ivicl.benchmarks.designs import ALWAYS, RATES, SURVEY_COMPLIERS
from ivicl.identification.balke_pearl import sharp_ends

law = np.zeros((2, 2, 2))
for rates, compliers in zip(RATES, SURVEY_COMPLIERS, strict=True):
    for z, treated in enumerate((ALWAYS, ALWAYS + compliers)):
        for t, share in enumerate((1 - treated, treated)):
            law[z, t] += 0.5 * share * np.array([1 - rates[t], rates[t]])
print("| people | lower end | upper end | posterior s.d. |\n|---|---|---|---|")
for people in (200, 660, 2_640, 10_560):
    counts = np.round(people / 2 * law).astype(int)
    lower, upper = sharp_ends(counts / counts.sum(axis=(1, 2), keepdims=True))
    found = IVBounds("exact").fit_counts(counts.ravel().tolist()).estimates
    print(
        f"| {people:,} | {found.lower - lower:+.4f} | {found.upper - upper:+.4f} | "
        f"{found.se_lower:.4f}, {found.se_upper:.4f} |"
    )
