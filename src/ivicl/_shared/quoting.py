"""Other libraries' errors, quoted in our own error messages."""

from __future__ import annotations


def first_sentence(error: Exception) -> str:
    """The first line of the error's message, shortened to 160 characters and ending in one full stop."""
    text = str(error).strip().splitlines()
    return (text[0] if text else type(error).__name__).rstrip(".")[:160] + "."
