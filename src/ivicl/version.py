"""The version, written down once: the build reads it from here. importlib.metadata would slow every cold command."""

__version__ = "0.2.0"
