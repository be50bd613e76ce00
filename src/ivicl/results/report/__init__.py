"""The report: one HTML file for a reader who was not there."""
