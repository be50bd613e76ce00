"""Small data sets that ship with the package: published tables of two trials with imperfect compliance.

`cholestyramine`: the Lipid Research Clinics trial as tabulated by Balke and Pearl (1997); z: offered the drug, t: took
it (at least half of the dose), y: cholesterol fell by a good margin. `vitamin_a`: the trial in villages of northern
Sumatra (Sommer and Zeger 1991); z: village assigned to supplements, t: child received them, y: child survived.

>>> from ivicl import IVBounds, datasets
>>> round(IVBounds("balke-pearl").fit_counts(datasets.COUNTS["vitamin_a"]).lower, 4)
-0.1946
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from ivicl.errors import InputError

COUNTS: dict[str, list[list[list[int]]]] = {
    "cholestyramine": [[[158, 14], [0, 0]], [[52, 12], [23, 78]]],
    "vitamin_a": [[[74, 11514], [0, 0]], [[34, 2385], [12, 9663]]],
}
"""People by `[z][t][y]`."""


def path(name: str) -> Path:
    """The CSV of a bundled data set, with columns z, t, y and people (how many a row stands for).

    >>> path("vitamin_a").name
    'vitamin_a.csv'
    """
    if name not in COUNTS:
        raise InputError(f"there is no bundled data set '{name}'; the names are {', '.join(COUNTS)}.")
    return Path(str(resources.files("ivicl.datasets") / f"{name}.csv"))


def load(name: str) -> Any:
    """A bundled data set as a polars frame.

    >>> load("vitamin_a")["people"].sum()
    23682
    """
    import polars as pl

    return pl.read_csv(path(name))
