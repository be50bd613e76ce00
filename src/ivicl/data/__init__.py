"""Tables in, validated numbers out: `IVData`, the roles of columns, reading and encoding."""

from __future__ import annotations

from ivicl.data.ivdata import DataReport, IVData

__all__ = ["DataReport", "IVData"]
