"""What the data say about the design before any bound: measurements, and findings graded ok, look or stop."""

from __future__ import annotations

from ivicl.results.diagnostics.findings import diagnose

__all__ = ["diagnose"]
