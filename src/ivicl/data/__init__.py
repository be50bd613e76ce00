"""Tables in, validated numbers out: `IVData`, the roles of columns, reading and encoding."""

from __future__ import annotations

from ivicl.data.design import Design
from ivicl.data.ivdata import IVData
from ivicl.data.report import DataReport
from ivicl.data.roles import Roles

__all__ = ["DataReport", "Design", "IVData", "Roles"]
