"""What the data say about the design before any bound: measurements, and findings graded ok, look or stop."""

from __future__ import annotations

from ivicl.results.diagnostics.findings import diagnose
from ivicl.results.diagnostics.records import Diagnostics, Finding, FirstStage

__all__ = ["Diagnostics", "Finding", "FirstStage", "diagnose"]
