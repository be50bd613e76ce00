"""Markov chains on the principal strata given tables of counts: the engine of the exact posterior.

Shapes: C chains, K outcome levels, M cells of strata (`strata_graph`).

One sweep has three parts: (1) a Gibbs step through the latent counts of the cells, which moves everything, but moves
the law slowly if the origin of most counts is unknown; (2) transfers between two cells that look alike in one arm but
not in the other, in steps of the size of the law's sampling error; (3) moves along cycles, which leave the law as it is
(`cycle_moves`).

Without defiers the direction in which people are moved is unknown, so (4) a chain may change the direction. As defiers
are compliers with the arms exchanged, this exchanges the arms of its counts, and is accepted by the likelihood.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ivicl._shared.special import symmetric_beta_quantiles
from ivicl.methods.classical.cycle_moves import largest_tree, move_along_cycles
from ivicl.methods.classical.strata_graph import strata_graph

LATTICE = np.array([1.1673039782614187**-k for k in range(1, 5)])
"""Roberts's additive sequence in four dimensions (powers of the root of x^5 = x + 1): evenly spread at any length."""


@lru_cache(maxsize=8)
def split_quantiles(gamma: float, size: int = 2**15) -> np.ndarray:
    """Beta(gamma, gamma) at the middles of equal slices of probability, so that a draw is one lookup."""
    half = symmetric_beta_quantiles(gamma, (np.arange(size // 2) + 0.5) / size)
    return np.concatenate([half, 1 - half[::-1]])


class StrataChains:
    """C chains at once, each with its own table of counts."""

    def __init__(
        self,
        counts: np.ndarray,
        gamma: float,
        rng: np.random.Generator,
        values: np.ndarray | None = None,
        defiers: bool = True,
    ) -> None:
        """`counts` (C, 2, 2, K) indexed [z][t][level], whole numbers; `values` (K,) of the levels, by default 0 and 1.

        `gamma` is the concentration of each of the 4 K^2 strata.
        """
        self.levels = counts.shape[-1]
        self.graph = strata_graph(self.levels, defiers)
        self.counts = counts.reshape(len(counts), -1).T.astype(np.int64)
        self.chains = np.arange(len(counts))
        self.gamma = gamma
        self.shapes = gamma * self.graph.strata
        self.values = np.arange(2.0) if values is None else np.asarray(values, dtype=np.float64)
        self.rng = rng
        self.reversed = np.zeros(len(counts), dtype=bool)
        """The chains whose arms are exchanged."""
        if not defiers:
            self._exchange(rng.random(len(counts)) < 0.5)
        self.cells = self._start()
        seen_0, seen_1 = self.graph.levels_of.T
        middle = self.values.mean()
        untreated = np.where(seen_0 >= 0, self.values[seen_0], middle)
        treated = np.where(seen_1 >= 0, self.values[seen_1], middle)
        self.mean_effect = treated - untreated
        """(M,) what each cell adds to the effect, with the unseen outcomes averaged out."""

    def _start(self, n_steps: int = 300) -> np.ndarray:
        """Overdispersed starting points that fit the counts: EM from draws of a wide prior.

        Starting from a point that does not fit would take many Gibbs sweeps if the table counts millions of people.
        """
        incidence = self.graph.incidence
        cells = self.rng.standard_gamma(0.5, (self.graph.size, self.counts.shape[1])) + 1e-6
        total = self.counts.sum(axis=0)
        for _ in range(n_steps):
            fitted = incidence @ cells
            cells *= incidence.T @ (self.counts / np.maximum(fitted, 1e-280)) / total
        cells += self.rng.standard_gamma(self.shapes[:, None], cells.shape) / total
        cells = np.maximum(cells, 1e-280)
        cells /= cells.sum(axis=0)
        return cells

    def sweep(self) -> None:
        """One Gibbs step, transfers (all of them for two levels), and some moves that leave the law as it is."""
        self._gibbs()
        pairs = self.graph.transfers
        for transfer in pairs if self.levels == 2 else self._random_transfers(8 * self.levels):
            self._transfer(*transfer)
        tree = largest_tree(self.graph, self.cells)
        for _ in range(4 if self.levels == 2 else 2 * self.levels):
            self.cells, tree = move_along_cycles(self.graph, self.cells, self.shapes, tree, self.rng)
        if not self.graph.defiers:
            self._turn()

    def _random_transfers(self, number: int) -> np.ndarray:
        """(number, 4, C): each chain tries its own pairs."""
        chosen = self.rng.integers(len(self.graph.transfers), size=(number, len(self.chains)))
        return self.graph.transfers[chosen].transpose(0, 2, 1)

    def _gibbs(self) -> None:
        shapes = np.repeat(self.shapes[:, None], self.counts.shape[1], axis=1)
        for members, n in zip(self.graph.members, self.counts, strict=True):
            rest = self.cells[members][::-1].cumsum(axis=0)[::-1]  # each member and all after it
            left = n
            for place, member in enumerate(members[:-1]):
                share = np.minimum(self.cells[member] / np.maximum(rest[place], 1e-300), 1.0)
                drawn = self.rng.binomial(left, share)
                shapes[member] += drawn
                left = left - drawn
            shapes[members[-1]] += left
        cells = np.maximum(self.rng.standard_gamma(shapes), 1e-280)
        self.cells = cells / cells.sum(axis=0)

    def _transfer(self, grow: np.ndarray, shrink: np.ndarray, gains: np.ndarray, loses: np.ndarray) -> None:
        """A random step of mass from one cell to another, which changes two observed probabilities of one arm.

        Indices are the same for all chains, or one for each.
        """
        chains = self.chains
        law = self.graph.incidence @ self.cells
        grown, shrunk = self.cells[grow, chains], self.cells[shrink, chains]
        both = [law[gains, chains], law[loses, chains]]
        n = np.stack([self.counts[gains, chains], self.counts[loses, chains]])
        share = (n[0] + 0.5) / (n.sum(axis=0) + 1.0)
        # The sampling error of the two probabilities given their sum, which the step does not change: so it is fair.
        scale = (both[0] + both[1]) * np.sqrt(share * (1 - share) / (n.sum(axis=0) + 1.0))
        first, second = self.rng.standard_normal((2, len(scale)))
        step = 2.0 * scale * first * np.exp(second)
        before = np.stack([grown, shrunk, *both])
        after = np.maximum(before + step * np.array([1.0, -1.0, 1.0, -1.0])[:, None], 1e-280)
        possible = (grown + step > 0) & (shrunk - step > 0)
        powers = np.stack(np.broadcast_arrays(self.shapes[grow] - 1, self.shapes[shrink] - 1, n[0], n[1]))
        gain = (powers * np.log(after / before)).sum(axis=0)
        accepted = possible & (np.log(np.clip(self.rng.random(len(step)), 1e-300, 1.0)) < gain)
        self.cells[grow, chains] = np.where(accepted, after[0], grown)
        self.cells[shrink, chains] = np.where(accepted, after[1], shrunk)

    def _turn(self) -> None:
        """Propose the other direction, with the same cells: a priori both are equally likely."""
        log_law = np.log(np.maximum(self.graph.incidence @ self.cells, 1e-300))
        gain = ((_exchanged(self.counts) - self.counts) * log_law).sum(axis=0)
        self._exchange(np.log(np.clip(self.rng.random(len(gain)), 1e-300, 1.0)) < gain)

    def _exchange(self, chosen: np.ndarray) -> None:
        self.counts = np.where(chosen, _exchanged(self.counts), self.counts)
        self.reversed = self.reversed ^ chosen

    def expected_effect(self) -> np.ndarray:
        """(C,) the effect with the unseen outcomes averaged out: smoother, and so better for monitoring the chains."""
        effect: np.ndarray = self.mean_effect @ self.cells
        return effect

    def draw_effects(self, n_draws: int, n_tables: int = 1) -> np.ndarray:
        """(n_draws, C) effects: the splits of the unseen outcomes do not depend on the data, and are cheap to repeat.

        In each of the 2 K cells with an unseen outcome, its mean comes from a Dirichlet split over the levels.
        """
        unseen = self._unseen_means(n_draws, n_tables) - self.values.mean()  # (2 K, n_draws, C)
        sign = np.repeat([-1.0, 1.0], self.levels)[:, None]  # always-takers' Y(0), never-takers' Y(1)
        effect: np.ndarray = self.expected_effect() + np.einsum(
            "krc,kc->rc", unseen, sign * self.cells[: 2 * self.levels]
        )
        return effect

    def _unseen_means(self, n_draws: int, n_tables: int) -> np.ndarray:
        n_chains = self.cells.shape[1] // n_tables
        if self.levels > 2:
            shape = (2 * self.levels, n_draws, len(self.chains))
            raw = self.rng.standard_gamma(self.gamma, (self.levels, *shape))
            total = raw.sum(axis=0)
            one = self.values[self.rng.integers(self.levels, size=shape)]  # used if all shares underflow to zero
            return np.where(total > 0, np.tensordot(self.values, raw, 1) / np.maximum(total, 1e-300), one)
        # Chains of one table are adjacent. Their splits are points of a lattice with a random shift: each draw has
        # exactly the right law, and together they fill the four dimensions evenly, which removes most of the noise.
        place = np.arange(n_draws * n_chains).reshape(n_draws, 1, n_chains)
        shift = self.rng.random((4, 1, n_tables, 1))
        uniform = (LATTICE[:, None, None, None] * place + shift) % 1.0
        splits = split_quantiles(self.gamma)
        share = splits[(uniform * len(splits)).astype(np.int64)].reshape(4, n_draws, -1)
        low, high = self.values
        mean: np.ndarray = low + (high - low) * share
        return mean

    def movers_effect(self) -> np.ndarray:
        """(C,) the mean effect of those whose treatment follows the instrument; 0 if there are none."""
        movers = slice(2 * self.levels, None)
        mass = self.cells[movers]
        found: np.ndarray = self.mean_effect[movers] @ mass / np.maximum(mass.sum(axis=0), 1e-300)
        return found

    def laws(self) -> np.ndarray:
        """(C, 2, 2, K) the observed law at each chain's state."""
        law: np.ndarray = self.graph.incidence @ self.cells
        law = np.where(self.reversed, _exchanged(law), law)
        return law.T.reshape(-1, 2, 2, self.levels)


def _exchanged(values: np.ndarray) -> np.ndarray:
    """(4 K, C) with the arms in the other order."""
    return np.roll(values, len(values) // 2, axis=0)
