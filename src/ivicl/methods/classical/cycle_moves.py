"""Moves of the exact posterior's chains along cycles of the strata graph: the law stays, the cells change.

Shapes: C chains, M cells (edges), V observed cells (nodes), P places on each side of a cycle.

With small concentrations the mass of the posterior sits in the corners of the set of cells with a given law, where all
cells except those of a spanning tree are nearly empty. A corner's neighbours are reached by letting one of the other
cells grow, along the one cycle that it closes with the tree. So each chain takes the spanning tree of its largest
cells, one of the cells outside the tree at random, and a draw along their cycle (`line_move`). After the move, too,
exactly one cell of the cycle must lie outside the tree: then the way back is as likely to be proposed as the way there,
and the move is fair. Other moves are refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ivicl.methods.classical.line_move import line_move
from ivicl.methods.classical.strata_graph import StrataGraph


class Tree(NamedTuple):
    """A spanning tree of each chain, rooted at the first node."""

    parent: np.ndarray
    """(V, C)"""
    edge: np.ndarray
    """(V, C) the cell between a node and its parent."""
    depth: np.ndarray
    """(V, C)"""
    outside: np.ndarray
    """(M, C) the cells that are not in the tree."""


class Cycle(NamedTuple):
    """One cycle of each chain, as cells; -1 marks empty places."""

    grow: np.ndarray
    """(P, C)"""
    shrink: np.ndarray
    """(P, C)"""


def largest_tree(graph: StrataGraph, cells: np.ndarray) -> Tree:
    """The spanning tree whose cells (M, C) are largest, node by node (Prim's algorithm, all chains at once)."""
    nodes, chains = len(graph.incidence), np.arange(cells.shape[1])
    parent, edge, depth = (np.zeros((nodes, len(chains)), dtype=np.int64) for _ in range(3))
    inside = np.zeros((nodes, len(chains)), dtype=bool)
    outside = np.ones(cells.shape, dtype=bool)
    # (C, M), so that one chain's cells are adjacent in memory; `leads` says which of them lead out of the tree so far.
    size, touches = np.ascontiguousarray(cells.T), graph.incidence > 0
    leads = np.zeros(size.shape, dtype=bool)
    new = np.zeros(len(chains), dtype=np.int64)
    for _ in range(nodes - 1):
        inside[new, chains] = True
        leads ^= touches[new]
        cell = (size * leads).argmax(axis=1)
        first, second = graph.shown[:, cell]
        new = np.where(inside[first, chains], second, first)
        old = first + second - new
        parent[new, chains], edge[new, chains], depth[new, chains] = old, cell, depth[old, chains] + 1
        outside[cell, chains] = False
    return Tree(parent, edge, depth, outside)


def closed_by(graph: StrataGraph, tree: Tree, cell: np.ndarray) -> Cycle:
    """The cycles that these cells (C,), which are outside of their chains' trees, close with them; they come first."""
    places, chains = 2 * graph.levels, np.arange(len(cell))
    sides = np.full((2, places + 1, len(cell)), -1)  # grow, shrink; the last place takes what is to be discarded
    sides[0, 0] = cell
    filled = np.stack([np.ones_like(cell), np.zeros_like(cell)])
    ends, steps = graph.shown[:, cell].copy(), np.zeros((2, len(cell)), dtype=np.int64)
    while True:
        apart = ends[0] != ends[1]
        if not apart.any():
            return Cycle(sides[0, :places], sides[1, :places])
        which = (tree.depth[ends[1], chains] > tree.depth[ends[0], chains]).astype(np.int64)
        node = ends[which, chains]
        side = 1 - steps[which, chains] % 2  # cells along the cycle grow and shrink in turn
        place = np.where(apart, filled[side, chains], places)
        sides[side, place, chains] = tree.edge[node, chains]
        filled[side, chains] += apart
        steps[which, chains] += apart
        ends[which, chains] = np.where(apart, tree.parent[node, chains], node)


def move_along_cycles(
    graph: StrataGraph, cells: np.ndarray, shapes: np.ndarray, tree: Tree, rng: np.random.Generator
) -> tuple[np.ndarray, Tree]:
    """One move of every chain: the new cells (M, C) and their trees. `shapes` (M,) are those of the Dirichlet prior."""
    chains = np.arange(cells.shape[1])
    free = len(cells) - len(graph.incidence) + 1
    if free == 0:
        return cells, tree
    wanted = rng.integers(1, free + 1, size=len(chains))
    cycle = closed_by(graph, tree, (tree.outside.cumsum(axis=0) == wanted).argmax(axis=0))
    # An empty place counts as a cell larger than any other, with a flat prior, so that it never limits a move.
    grow, shrink = (np.where(side >= 0, cells[side, chains], 2.0) for side in cycle)
    grow_shapes, shrink_shapes = (np.where(side >= 0, shapes[side], 1.0) for side in cycle)
    new = line_move(grow, shrink, grow_shapes, shrink_shapes, rng)
    proposed = np.vstack([cells, np.zeros((1, len(chains)))])  # empty places, -1, are written to a row dropped below
    for side, values in zip(cycle, new, strict=True):
        proposed[side, chains] = values
    proposed = proposed[:-1]
    after = largest_tree(graph, proposed)
    unused = sum(((side >= 0) & after.outside[side, chains]).sum(axis=0) for side in cycle)
    kept = unused == 1
    return np.where(kept, proposed, cells), Tree(*(np.where(kept, a, b) for a, b in zip(after, tree, strict=True)))
