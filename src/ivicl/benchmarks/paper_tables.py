"""How the paper's numbers are written down: (mean, standard error) of validity, width and seconds per 1,000 rows."""

from __future__ import annotations

from dataclasses import dataclass

Cell = tuple[float, float]
Cells = tuple[Cell, Cell, Cell]

PAPER_ORDER = ("ivicl", "plugin", "whitehouse", "levis", "bayes-bp", "bayes")
"""The methods of the paper's tables in the order of their rows."""
METRICS = ("validity", "width", "seconds_per_1k")


@dataclass(frozen=True)
class PaperTable:
    """One half of a table of the paper: one benchmark under one strength of the instrument."""

    label: str
    """The paper's \\label of the table."""
    title: str
    settings: tuple[str, ...]
    """Those of our settings that it pools."""
    rho: float | None
    """The correlation of Z and T that the paper states."""
    cells: dict[str, Cells]


def paper_cells(*rows: str) -> dict[str, Cells]:
    """Parse one row per method, in the order of PAPER_ORDER: validity se width se seconds se."""
    table: dict[str, Cells] = {}
    for method, row in zip(PAPER_ORDER, rows, strict=True):
        v = [float(x) for x in row.split()]
        table[method] = ((v[0], v[1]), (v[2], v[3]), (v[4], v[5]))
    return table
