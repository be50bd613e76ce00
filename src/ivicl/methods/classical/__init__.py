"""The classical methods, which need no extra."""
