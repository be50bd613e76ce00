"""The studies, one per file."""
