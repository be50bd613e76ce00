"""The version, in one place: the build reads it from here. importlib.metadata would slow down every cold command."""

__version__ = "0.2.0"
