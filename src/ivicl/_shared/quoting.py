"""Other libraries' errors, quoted in a sentence of ours."""

from __future__ import annotations


def first_sentence(error: Exception) -> str:
    """The first line of what it says, with one full stop."""
    text = str(error).strip().splitlines()
    return (text[0] if text else type(error).__name__).rstrip(".")[:160] + "."
