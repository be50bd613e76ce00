"""The errors a user can cause. Each message is one sentence that names the column and the values found."""

from __future__ import annotations


class IVICLError(Exception):
    """Base of every error that ivicl raises on purpose."""


class InputError(IVICLError, ValueError):
    """The data or the call is wrong; the command line exits with code 2."""


class MissingDependencyError(InputError, ImportError):
    """An optional part is not installed; the message names the extra to install. Also an ImportError, as it is one."""


class ModelFileError(InputError):
    """A model file is missing, damaged, or of another schema."""
