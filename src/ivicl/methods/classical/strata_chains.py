"""Markov chains on the principal strata given tables of counts: the engine of the exact posterior.

Shapes: C chains, 12 cells. The 16 strata are kept as 12 cells, because two strata that differ only in a potential
outcome that nobody can see enter the law of the data as a sum, and split it as a Beta(gamma, gamma) whatever the data:

    a_y   always-takers with Y(1) = y (their Y(0) is never seen)      prior shape 2 gamma
    n_y   never-takers with Y(0) = y (their Y(1) is never seen)       prior shape 2 gamma
    c_jk  compliers with Y(0) = j, Y(1) = k                           prior shape gamma
    d_jk  defiers with Y(0) = j, Y(1) = k                             prior shape gamma

One sweep: (1) Gibbs through the latent counts of the cells, which moves everything, but the law slowly when most
counts are of unknown origin; (2) transfers between two cells that show alike in one arm and not in the other: steps of
the size of the sampling error of the law; (3) moves along circuits, the minimal directions in which the law stays as
it is. The 28 circuits are all edges that the set of cells with a given law can have, so the chain can walk from any
corner to any other; with small gamma the mass sits in the corners.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np

from ivicl._shared.special import symmetric_beta_quantiles
from ivicl.identification import strata
from ivicl.methods.classical.line_move import line_move

CELLS = strata.MERGED_NAMES
N_CELLS = len(CELLS)

INCIDENCE = np.stack([strata.LAW[members[0]] for members in strata.MERGED], axis=1)
"""(8, 12): which cells show up in each observed (z, t, y)."""

MEMBERS = np.array([np.flatnonzero(row) for row in INCIDENCE])
"""(8, 3): the cells behind each observed (z, t, y)."""

STRATA_PER_CELL = np.array([len(members) for members in strata.MERGED])

EFFECT_SEEN = np.array([0.0 if len(members) > 1 else strata.EFFECT[members[0]] for members in strata.MERGED])
"""What each cell of compliers or defiers adds to the effect; the other cells' share depends on the unseen outcome."""

EFFECT_UNSEEN = strata.EFFECT[np.array(strata.PAIRS)].sum(axis=1)
"""a0, a1, n0, n1: the effect of those whose unseen outcome differs from the seen one."""


CIRCUITS = tuple(
    (np.array([CELLS.index(name) for name in grow.split()]), np.array([CELLS.index(name) for name in shrink.split()]))
    for grow, shrink in (
        direction.split(" | ")
        for direction in (
            "a0 n0 | c00 d00",
            "a0 n1 | c10 d10",
            "a1 n0 | c01 d01",
            "a1 n1 | c11 d11",
            "c01 c10 | c00 c11",
            "d00 d11 | d01 d10",
            "a0 c01 d01 | a1 c00 d00",
            "a1 c00 d10 | a0 c01 d11",
            "a1 c10 d00 | a0 c11 d01",
            "a1 c10 d10 | a0 c11 d11",
            "a0 n0 d11 | c00 d01 d10",
            "a0 n0 c11 | c01 c10 d00",
            "c00 c11 d10 | a0 n1 c01",
            "a0 n1 d01 | c10 d00 d11",
            "a1 n0 c10 | c00 c11 d01",
            "c01 d00 d11 | a1 n0 d10",
            "c01 c10 d11 | a1 n1 c00",
            "c11 d01 d10 | a1 n1 d00",
            "n1 c00 d00 | n0 c10 d10",
            "n0 c10 d11 | n1 c00 d01",
            "n1 c01 d00 | n0 c11 d10",
            "n0 c11 d11 | n1 c01 d01",
            "a0 a1 n0 n1 | c00 c11 d01 d10",
            "a0 a1 n0 n1 | c01 c10 d00 d11",
            "a0 n0 c11 d11 | c01 c10 d01 d10",
            "c00 c11 d00 d11 | a0 n1 c01 d01",
            "a1 n0 c10 d10 | c00 c11 d00 d11",
            "a1 n1 c00 d00 | c01 c10 d01 d10",
        )
    )
)
"""All minimal directions that leave the law unchanged (a test enumerates them): cells that grow, cells that shrink."""


def _transfers() -> list[tuple[int, int, int, int]]:
    """Pairs of cells that show alike in one arm, with the observed cells that each of them joins in the other arm."""
    found = []
    for alike in range(8):
        other = range(4, 8) if alike < 4 else range(4)
        for first, second in combinations(MEMBERS[alike], 2):
            shows = [next(row for row in other if cell in MEMBERS[row]) for cell in (first, second)]
            found.append((int(first), int(second), shows[0], shows[1]))
    return found


TRANSFERS = _transfers()

LATTICE = np.array([1.1673039782614187**-k for k in range(1, 5)])
"""Roberts's additive sequence in four dimensions (powers of the root of x^5 = x + 1): even at any length."""


@lru_cache(maxsize=8)
def split_quantiles(gamma: float, size: int = 2**15) -> np.ndarray:
    """Beta(gamma, gamma) at the middles of equal slices of probability: a draw is one lookup."""
    half = symmetric_beta_quantiles(gamma, (np.arange(size // 2) + 0.5) / size)
    return np.concatenate([half, 1 - half[::-1]])


class StrataChains:
    """C chains at once, each with its own table of counts."""

    def __init__(self, counts: np.ndarray, gamma: float, rng: np.random.Generator) -> None:
        """`counts` (C, 2, 2, 2) indexed [z][t][y], whole numbers."""
        self.counts = counts.reshape(-1, 8).T.astype(np.int64)
        self.shapes = gamma * STRATA_PER_CELL
        self.splits = split_quantiles(gamma)
        self.rng = rng
        self.cells = self._start()
        self.moved = np.zeros(len(CIRCUITS))
        self.tried = np.zeros(len(CIRCUITS))
        self.preference = np.full(len(CIRCUITS), 1 / len(CIRCUITS))

    def _start(self, n_steps: int = 300) -> np.ndarray:
        """Overdispersed points that fit the counts: EM from draws of a wide prior.

        A draw that does not fit would need many Gibbs sweeps to get there when the table counts millions.
        """
        cells = self.rng.standard_gamma(0.5, (N_CELLS, self.counts.shape[1])) + 1e-6
        total = self.counts.sum(axis=0)
        for _ in range(n_steps):
            fitted = INCIDENCE @ cells
            cells *= INCIDENCE.T @ (self.counts / np.maximum(fitted, 1e-280)) / total
        cells += self.rng.standard_gamma(self.shapes[:, None], cells.shape) / total
        cells /= cells.sum(axis=0)
        return cells

    def burn_in(self, n_sweeps: int) -> None:
        """Sweeps that forget the start and learn which circuits move mass: some are long, some blocked, by table.

        The preference is frozen afterwards: adapting for ever could change what the chains converge to.
        """
        for _ in range(n_sweeps // 2):
            self.sweep()
        usual = self.moved / np.maximum(self.tried, 1)
        weight = usual + usual.mean() / 2 + 1e-12
        self.preference = weight / weight.sum()
        for _ in range(n_sweeps - n_sweeps // 2):
            self.sweep()

    def sweep(self, n_moves: int = 10) -> None:
        """One Gibbs step, all transfers, and some moves that leave the law as it is."""
        self._gibbs()
        for transfer in TRANSFERS:
            self._transfer(*transfer)
        for circuit in self.rng.choice(len(CIRCUITS), n_moves, p=self.preference):
            self._move(circuit)

    def _gibbs(self) -> None:
        shapes = np.repeat(self.shapes[:, None], self.counts.shape[1], axis=1)
        for members, n in zip(MEMBERS, self.counts, strict=True):
            first, second, third = self.cells[members]
            rest = second + third
            drawn = self.rng.binomial(n, first / np.maximum(first + rest, 1e-300))
            left = n - drawn
            next_drawn = self.rng.binomial(left, np.minimum(second / np.maximum(rest, 1e-300), 1.0))
            shapes[members[0]] += drawn
            shapes[members[1]] += next_drawn
            shapes[members[2]] += left - next_drawn
        cells = np.maximum(self.rng.standard_gamma(shapes), 1e-280)
        self.cells = cells / cells.sum(axis=0)

    def _transfer(self, grow: int, shrink: int, gains: int, loses: int) -> None:
        """A random step of mass from one cell to another, which changes two observed probabilities of one arm."""
        both = INCIDENCE[[gains, loses]] @ self.cells
        n = self.counts[[gains, loses]]
        share = (n[0] + 0.5) / (n.sum(axis=0) + 1.0)
        # The sampling error of the two probabilities, given their sum: the sum does not change, so the step is fair.
        scale = both.sum(axis=0) * np.sqrt(share * (1 - share) / (n.sum(axis=0) + 1.0))
        first, second = self.rng.standard_normal((2, len(scale)))
        step = 2.0 * scale * first * np.exp(second)
        before = np.stack([self.cells[grow], self.cells[shrink], both[0], both[1]])
        after = np.maximum(before + step * np.array([1.0, -1.0, 1.0, -1.0])[:, None], 1e-280)
        possible = (self.cells[grow] + step > 0) & (self.cells[shrink] - step > 0)
        powers = np.stack(np.broadcast_arrays(self.shapes[grow] - 1, self.shapes[shrink] - 1, n[0], n[1]))
        gain = (powers * np.log(after / before)).sum(axis=0)
        accepted = possible & (np.log(np.clip(self.rng.random(len(step)), 1e-300, 1.0)) < gain)
        self.cells[grow] = np.where(accepted, after[0], self.cells[grow])
        self.cells[shrink] = np.where(accepted, after[1], self.cells[shrink])

    def _move(self, circuit: int) -> None:
        grow, shrink = CIRCUITS[circuit]
        new_grow, new_shrink = line_move(
            self.cells[grow], self.cells[shrink], self.shapes[grow], self.shapes[shrink], self.rng
        )
        self.moved[circuit] += np.abs(new_grow[0] - self.cells[grow[0]]).mean()
        self.tried[circuit] += 1
        self.cells[grow], self.cells[shrink] = new_grow, new_shrink

    def expected_effect(self) -> np.ndarray:
        """(C,) the effect with the unseen outcomes averaged out: smoother, so better for watching the chains."""
        effect: np.ndarray = EFFECT_SEEN @ self.cells + EFFECT_UNSEEN @ self.cells[:4] / 2
        return effect

    def draw_effects(self, n_draws: int, n_tables: int = 1) -> np.ndarray:
        """(n_draws, C) effects: the unseen outcomes' splits do not depend on the data, and are cheap to repeat.

        Chains of one table stand together. Their splits are points of a lattice with a random shift: each draw has
        exactly the right law, and together they fill the four dimensions evenly, which removes most of the noise.
        """
        n_chains = self.cells.shape[1] // n_tables
        place = np.arange(n_draws * n_chains).reshape(n_draws, 1, n_chains)
        shift = self.rng.random((4, 1, n_tables, 1))
        uniform = (LATTICE[:, None, None, None] * place + shift) % 1.0
        splits = self.splits[(uniform * len(self.splits)).astype(np.int64)].reshape(4, n_draws, -1)
        unseen = np.einsum("krc,kc->rc", splits, EFFECT_UNSEEN[:, None] * self.cells[:4])
        effect: np.ndarray = EFFECT_SEEN @ self.cells + unseen
        return effect

    def laws(self) -> np.ndarray:
        """(C, 2, 2, 2) the observed law at each chain's state."""
        law: np.ndarray = INCIDENCE @ self.cells
        return law.T.reshape(-1, 2, 2, 2)
