"""Numbers of the network that are not learnt: its torch modules and its stages read them here."""

from __future__ import annotations

import numpy as np

from ivicl.posterior import N_BINS

CODINGS = tuple((flip_t, flip_y, flip_z) for flip_t in (0, 1) for flip_y in (0, 1) for flip_z in (0, 1))
"""Every way to recode (t, y, z), as flips; the index of a coding is its row here."""
DIRECTION = (0.31, -1.13, 0.77, 1.61, -0.53, 1.97, -0.29, 1.07)
"""Signs for a column's canonical direction: an arbitrary fixed contrast of the eight cells that no symmetry maps to
0."""
NO_ASSOCIATION = 1e-16
"""A column whose score is not above this (all people in one cell) has no direction and tells nothing."""

RELATIVE_FLOOR = 1e-4
"""Least penalty, as a share of the mean eigenvalue: bounds the condition number at any N."""
LEAST = 0.003
"""Fits are pulled inside the simplex to here."""
DIRECTIONS = 8
LINEAR = (2.0, 5.5)
"""Logarithms of the penalties of the linear fits."""
HINGES = (4.0, 6.0)
LOGISTIC = 2.5
LOGISTIC_STEPS = 10
SPARSE = 4.0
SPARSE_ROUNDS = 2
EM_STEPS, EM_POWER = 60, 1.8
LEVELS = (3, 5)
"""Questions of the grown tree after which its leaves are a candidate."""
CANDIDATES = 2 + len(LINEAR) + len(HINGES) + 1 + 2 + len(LEVELS)
FOREST, GROWN = CANDIDATES - len(LEVELS) - 2, CANDIDATES - len(LEVELS)
"""Where the random trees (all, chosen) and the grown one stand among the candidates; the logistic fit is before."""
QUESTION = 6.0
"""Nats that a question of the grown tree must earn: it is the best of hundreds, and would flatter itself."""
COSTS = (0.0,) * GROWN + tuple(QUESTION * level for level in LEVELS)
"""Of each candidate, in nats a table."""
PROPENSITY = 6.0
PROPENSITY_COSTS = (0.0, 0.0, 2.0, 2.0)
"""Of the candidates for P(Z=1 | x), in nats a table: an instrument that was drawn by lot is to stay so."""
PROPENSITY_LEAST = 0.01

STRONGEST = 8
"""Covariates that trees may ask about, and whose products P(Z=1 | x) may depend on."""
WITHIN = 3.0
"""Standard deviations beyond which a covariate counts as here in a product."""
CUTS: list[float] = np.linspace(-2.5, 2.5, 41).tolist()
"""Where a standardised covariate may be cut: the place whose share below comes nearest to the quantile drawn."""
COARSE: list[float] = np.linspace(-2.25, 2.25, 19).tolist()
FINE: list[float] = np.linspace(-0.25, 0.25, 65).tolist()
"""Cuts of the grown tree, and how much finer ones lie beside the best: exact in any precision."""
TIE = 1e-9
"""Share of the variance by which an earlier question is preferred to the next."""
SHRINKAGE = 2.0
"""People by which a leaf's mean is pulled to its arm's."""
TEMPER = 0.1
"""How much a tree's leave-one-out likelihood counts: fits of one table err together."""

CORNERS = 273
"""Effects that a corner of the strata's polytope can have."""
FLOOR = 1e-5
"""Smallest share of a spike, so that its logarithm is finite."""
PYRAMID = tuple(N_BINS >> k for k in range(6))
"""Cells of the grids that the mass of spikes is put on, from fine to coarse."""
PLAIN, EFFECT_GRID, END_GRID = 256, 192, 96
"""Points of the grids on which the effect's logits are written."""
EFFECT_SPAN = (-0.5, 1.5)
END_SPAN = (-8.0, 8.0)
EFFECT_PARTS = (PLAIN, EFFECT_GRID, END_GRID, END_GRID, 1, CORNERS + 1 + len(PYRAMID))
TAIL = 2.5
"""Before anything is learnt the density is a t distribution's: it falls as u^(-2 TAIL)."""
TRUST = 2.0
"""What the one-step end is ahead by, as a logit, before anything is learnt: it is better than the plug-in end and the
network's own in nearly all tables of the prior."""
PACE = 10.0
"""Its logits are this many times what the layer says: steps of Adam are alike for all weights, and these are to learn
faster."""
LEADS = (0.05, 0.15)
"""By how much another term of the formula must be larger at x before it takes the place of the one that leads."""
OUTWARD = (1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Of each quantity: 1 where outward is down, -1 where it is up, 0 where nothing is said about how far out it may lie:
for ratios the standard error is not enough, and the LATE is no end."""
NEAR = 2.5
"""Units from the innermost steady end, on the outside, up to which what the network believes stays as it is."""
SLACK = 0.0003
"""Added to the unit there: what the law's floor and cells cost does not fall with the number of people."""
SURE = (2.0, 4.0)
"""The unit times the people of the smaller arm, about the root of how many of them decide: from where on, and from
where on altogether, the standard error means what it says."""
EVEN = (10.0, 6.0)
"""Standard deviation of P(Z=1 | x), in units: from where on nothing is said, for errors of P(Z=1 | x) may then be many
units too, and up to where it counts as none."""
PERSON = 1.5
"""The unit of an end is at least that of so many people in all: where an outcome is rare among those treated, say, the
scores of the few who have it may come out as nearly nothing."""
CALM = (1.0, 1.0, 1.06, 1.06, 1.06, 1.07, 1.08, 1.1, 1.05, 1.05, 1.16)
"""Units of the quantities are multiplied by these where there are covariates, so that on tables of the prior 90 %
intervals hold the truth in 90 of 100 (records/2026-11-18-bent-instruments, `calm.py`). The ATE's need nothing."""
TRAINED_ROWS = 65_536
"""Most rows of a table that the network has learnt from."""
STAYS = 0.46
"""Of the standard error at TRAINED_ROWS, what more rows do not remove where the instrument depends on covariates: on
tables of the prior with half as many rows or more, whose ends all agree, errors are 1.1 times the unit."""
VARIES = 0.1
"""Standard deviation of P(Z=1 | x) from which on it counts as depending on them altogether."""
BLUR = (0.03, 0.1, 0.3)
"""Errors of the law at a row, from small to large, under which it is asked whether other terms would be active."""
