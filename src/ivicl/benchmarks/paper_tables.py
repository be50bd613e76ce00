"""The numbers of the paper's tables: (mean, standard error) of validity, width and seconds per 1,000 rows."""

from __future__ import annotations

from dataclasses import dataclass

Cell = tuple[float, float]
Cells = tuple[Cell, Cell, Cell]

METHOD_NAMES = {
    "ivicl": "IV-ICL",
    "plugin": "Plug-in",
    "whitehouse": "Whitehouse et al.",
    "levis": "Levis et al.",
    "bayes-bp": "Bayes-BP",
    "bayes": "Bayes",
}
METRICS = ("validity", "width", "seconds_per_1k")


@dataclass(frozen=True)
class PaperTable:
    """One half of a table of the paper: one benchmark under one strength of the instrument."""

    label: str
    """The paper's \\label of the table."""
    title: str
    benchmark: str
    settings: tuple[str, ...]
    """Our settings that it pools."""
    rho: float | None
    """The correlation of Z and T that the paper states."""
    cells: dict[str, Cells]


def _cells(*rows: str) -> dict[str, Cells]:
    """Rows in the order of METHOD_NAMES: validity se width se seconds se."""
    table: dict[str, Cells] = {}
    for method, row in zip(METHOD_NAMES, rows, strict=True):
        v = [float(x) for x in row.split()]
        table[method] = ((v[0], v[1]), (v[2], v[3]), (v[4], v[5]))
    return table


PAPER_TABLES = (
    PaperTable(
        "tab:binary-and-jobs",
        "Synthetic, binary outcome",
        "synthetic",
        ("default",),
        None,
        _cells(
            "1.00 0.00  0.609 0.158  0.18 0.01",
            "0.50 0.17  0.530 0.147  1.18 0.26",
            "1.00 0.00  0.641 0.158  2.15 0.35",
            "0.90 0.10  0.575 0.147  2.30 0.35",
            "0.70 0.15  0.588 0.113  6.35 0.32",
            "0.00 0.00  0.169 0.038  8.82 0.35",
        ),
    ),
    PaperTable(
        "tab:binary-and-jobs",
        "Jobs, weak and strong pooled",
        "jobs",
        ("weak", "strong"),
        None,
        _cells(
            "1.00 0.00  0.439 0.040  1.77 0.29",
            "0.70 0.09  0.541 0.029  68.5 17.0",
            "0.90 0.07  0.836 0.040  92.9 10.3",
            "0.60 0.07  0.545 0.053  92.6 16.0",
            "0.90 0.10  0.429 0.089  136.46 16.09",
            "0.25 0.14  0.229 0.045  254.55 19.93",
        ),
    ),
    PaperTable(
        "tab:star-small-regular-reading",
        "STAR, small against regular, reading, weak",
        "star",
        ("small-regular/reading/weak",),
        0.29,
        _cells(
            "1.00 0.00  0.232 0.041  0.17 0.01",
            "1.00 0.00  0.661 0.017  9.51 1.34",
            "1.00 0.00  0.817 0.017  15.6 1.9",
            "1.00 0.00  0.692 0.018  17.5 2.9",
            "1.00 0.00  0.711 0.015  81.72 5.72",
            "0.90 0.11  0.084 0.005  175.69 24.57",
        ),
    ),
    PaperTable(
        "tab:star-small-regular-reading",
        "STAR, small against regular, reading, strong",
        "star",
        ("small-regular/reading/strong",),
        0.89,
        _cells(
            "1.00 0.00  0.044 0.002  0.18 0.03",
            "1.00 0.00  0.103 0.009  8.05 0.99",
            "1.00 0.00  0.149 0.013  16.5 2.7",
            "1.00 0.00  0.110 0.011  16.0 1.9",
            "1.00 0.00  0.220 0.013  84.31 5.92",
            "1.00 0.00  0.148 0.005  170.35 19.03",
        ),
    ),
    PaperTable(
        "tab:airplane",
        "Airplane demand",
        "airplane",
        ("default",),
        None,
        _cells(
            "1.00 0.00  0.257 0.097  0.44 0.04",
            "1.00 0.00  0.625 0.032  31.7 3.6",
            "1.00 0.00  0.844 0.033  58.8 6.0",
            "1.00 0.00  0.652 0.031  61.4 6.4",
            "1.00 0.00  0.619 0.021  193.9 8.5",
            "0.90 0.10  0.127 0.002  251.7 4.3",
        ),
    ),
    PaperTable(
        "tab:star-regaide-regular-math",
        "STAR, aide against regular, math, weak",
        "star",
        ("aide-regular/math/weak",),
        0.28,
        _cells(
            "1.00 0.00  0.193 0.023  0.15 0.01",
            "1.00 0.00  0.651 0.013  6.14 1.45",
            "1.00 0.00  0.786 0.014  8.32 1.18",
            "1.00 0.00  0.677 0.012  7.87 0.74",
            "1.00 0.00  0.713 0.016  64.60 4.23",
            "1.00 0.00  0.068 0.001  132.61 22.89",
        ),
    ),
    PaperTable(
        "tab:star-regaide-regular-math",
        "STAR, aide against regular, math, strong",
        "star",
        ("aide-regular/math/strong",),
        0.89,
        _cells(
            "1.00 0.00  0.049 0.002  0.15 0.01",
            "1.00 0.00  0.097 0.007  4.03 0.40",
            "1.00 0.00  0.129 0.012  8.03 0.85",
            "1.00 0.00  0.107 0.010  8.30 0.97",
            "1.00 0.00  0.201 0.010  67.76 4.34",
            "1.00 0.00  0.144 0.005  134.27 14.07",
        ),
    ),
    PaperTable(
        "tab:star-regaide-regular-reading",
        "STAR, aide against regular, reading, weak",
        "star",
        ("aide-regular/reading/weak",),
        0.28,
        _cells(
            "1.00 0.00  0.194 0.033  0.15 0.01",
            "1.00 0.00  0.654 0.015  4.02 0.47",
            "1.00 0.00  0.789 0.015  7.79 0.62",
            "1.00 0.00  0.682 0.014  8.16 1.14",
            "1.00 0.00  0.722 0.006  68.61 4.00",
            "1.00 0.00  0.072 0.001  141.94 9.28",
        ),
    ),
    PaperTable(
        "tab:star-regaide-regular-reading",
        "STAR, aide against regular, reading, strong",
        "star",
        ("aide-regular/reading/strong",),
        0.89,
        _cells(
            "1.00 0.00  0.039 0.002  0.15 0.01",
            "1.00 0.00  0.099 0.006  4.48 0.82",
            "1.00 0.00  0.136 0.010  7.79 0.75",
            "1.00 0.00  0.108 0.009  7.27 0.44",
            "1.00 0.00  0.208 0.002  75.25 15.78",
            "1.00 0.00  0.139 0.008  155.83 19.42",
        ),
    ),
    PaperTable(
        "tab:star-small-regular-math",
        "STAR, small against regular, math, weak",
        "star",
        ("small-regular/math/weak",),
        0.29,
        _cells(
            "1.00 0.00  0.265 0.036  0.17 0.01",
            "1.00 0.00  0.659 0.011  7.99 0.70",
            "1.00 0.00  0.822 0.015  16.5 2.0",
            "1.00 0.00  0.686 0.014  17.6 1.6",
            "1.00 0.00  0.715 0.013  55.81 15.22",
            "0.60 0.17  0.078 0.001  84.06 28.17",
        ),
    ),
    PaperTable(
        "tab:star-small-regular-math",
        "STAR, small against regular, math, strong",
        "star",
        ("small-regular/math/strong",),
        0.89,
        _cells(
            "1.00 0.00  0.052 0.003  0.17 0.02",
            "0.90 0.10  0.105 0.007  7.84 0.80",
            "1.00 0.00  0.148 0.010  16.2 1.8",
            "1.00 0.00  0.116 0.008  15.9 2.1",
            "1.00 0.00  0.223 0.017  91.46 13.15",
            "1.00 0.00  0.154 0.005  168.46 28.61",
        ),
    ),
)


def paper_tables(benchmark: str) -> tuple[PaperTable, ...]:
    return tuple(table for table in PAPER_TABLES if table.benchmark == benchmark)
