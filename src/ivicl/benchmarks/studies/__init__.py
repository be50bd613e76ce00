"""The studies, one a file."""
