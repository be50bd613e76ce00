"""Columns that tell groups apart (studies, clusters, strata), read so that no two of their values become one.

Other columns are floats, which is exact enough for an amount. But identifiers of 64 bits differ beyond the 53 bits of a
float, and would be joined without a word; and studies that are named by dates should keep their names.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ivicl.data.columns import Column, column_from_array
from ivicl.data.roles import BLOCKS

STUDY = "study"
"""How the roles of the columns begin that tell studies apart."""
BEYOND_FLOATS = 2.0**53
"""From here on a float does not hold every whole number."""


def column_in_role(role: str, name: str, values: Any) -> Column:
    """`column_from_array` for a column in this role."""
    column = column_from_array(name, values)
    if column.kind != "number" or not (role.startswith(STUDY) or role in BLOCKS):
        return column
    large = bool((np.abs(column.values) >= BEYOND_FLOATS).any())
    if not large and not (column.dates and role.startswith(STUDY)):
        return column
    plain = values.to_list() if hasattr(values, "to_list") else np.asarray(values).tolist()
    present = [value for value, gone in zip(plain, column.missing, strict=True) if not gone]
    if not all(isinstance(value, (numbers.Integral, decimal.Decimal, datetime.date)) for value in present):
        return column  # they came as floats
    kept = np.empty(len(column), dtype=object)
    kept[:] = ""
    kept[~column.missing] = present if role.startswith(STUDY) else [str(value) for value in present]
    return replace(column, values=kept, kind="text", dates=False)


def role_of(roles: Mapping[str, str]) -> dict[str, str]:
    """Column -> role; for a covariate that is a cluster or a stratum too, the latter."""
    return {name: role for role, name in roles.items()}
