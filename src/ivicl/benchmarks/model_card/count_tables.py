"""Count tables of amounts with K levels, drawn from the prior with K classes, and as the network takes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ivicl.identification.strata import GAMMA
from ivicl.methods.classical.strata_graph import strata_graph


@dataclass(frozen=True)
class Kind:
    """A kind of count table."""

    name: str
    levels: int
    no_defiers: bool

    @property
    def values(self) -> np.ndarray:
        """(K,) evenly spaced levels from 0 to 1."""
        return np.linspace(0, 1, self.levels)


KINDS = (
    Kind("no_defiers", 2, True),
    Kind("three_levels", 3, False),
    Kind("three_levels_no_defiers", 3, True),
    Kind("five_levels", 5, False),
)


def draw_laws(kind: Kind, rng: np.random.Generator, number: int) -> np.ndarray:
    """(B,2,2,K) laws of the prior: Dirichlet shares of the 4 K^2 types; without defiers a coin may swap the arms."""
    graph = strata_graph(kind.levels, not kind.no_defiers)
    cells = rng.standard_gamma(4 * GAMMA / kind.levels**2 * graph.strata, (number, graph.size))
    laws: np.ndarray = (cells @ graph.incidence.T).reshape(-1, 2, 2, kind.levels)
    if kind.no_defiers:
        laws = np.where((rng.random(number) < 0.5)[:, None, None, None], laws[:, ::-1], laws)
    found: np.ndarray = laws / laws.sum(axis=(2, 3), keepdims=True)
    return found


def draw_tables(kind: Kind, rng: np.random.Generator, number: int, people: tuple[float, float]) -> np.ndarray:
    """(B,2,2,K) counts of trials with equal chances of both arms.

    A table of amounts has somebody strictly between 0 and 1; otherwise it would be a table of yes and no.
    """
    tables: list[np.ndarray] = []
    while len(tables) < number:
        (law,) = draw_laws(kind, rng, 1)
        n = int(np.exp(rng.uniform(*np.log(people))).round())
        ones = min(max(rng.binomial(n, 0.5), 1), n - 1)
        arms = [rng.multinomial(m, law[z].ravel()) for z, m in ((0, n - ones), (1, ones))]
        table = np.array(arms).reshape(2, 2, kind.levels)
        if kind.levels == 2 or table[:, :, 1:-1].any():
            tables.append(table)
    return np.array(tables)


def as_rows(tables: np.ndarray, kind: Kind) -> tuple[np.ndarray, ...]:
    """The tables (B,2,2,K) as the network takes them: x, z, t, y, w, v, no_defiers.

    A yes/no table has one row per (z, t, y), a table of amounts one row per (z, t).
    """
    size = len(tables)
    if kind.levels == 2:
        w = tables.reshape(size, 8).astype(np.float64)
        cell = np.broadcast_to(np.arange(8), w.shape)
        z, t, y, v = cell // 4, cell // 2 % 2, cell % 2, np.zeros(w.shape)
    else:
        w = tables.sum(axis=-1).reshape(size, 4).astype(np.float64)
        cell = np.broadcast_to(np.arange(4), w.shape)
        z, t, some = cell // 2, cell % 2, np.maximum(w, 1)
        y = (tables @ kind.values).reshape(size, 4) / some
        v = np.maximum((tables @ kind.values**2).reshape(size, 4) / some - y**2, 0.0)
    told = np.full(size, float(kind.no_defiers))
    return np.zeros((*w.shape, 0)), z, t, y, w, v, told
