"""The errors that a user can cause, each with one sentence that names the column and the values found; and one warning.

>>> from ivicl import IVBounds
>>> issubclass(MissingDependencyError, InputError), issubclass(ModelFileError, InputError)
(True, True)
>>> try:
...     IVBounds("balke-perl").fit_counts([158, 14, 0, 0, 52, 12, 23, 78])
... except IVICLError as error:
...     print(f"{type(error).__name__}: {error}")
InputError: there is no method 'balke-perl'; the nearest name is 'balke-pearl'.

Data that contradict the design are not an error but give a `DesignWarning`, which can be turned into one, or silenced:

>>> against_the_design = [199, 0, 1, 0, 0, 199, 0, 1]
>>> with warnings.catch_warnings(record=True) as caught:
...     warnings.simplefilter("always", DesignWarning)
...     res = IVBounds("manski").fit_counts(against_the_design)
>>> caught[0].category.__name__, res.grade
('DesignWarning', 'stop')
>>> with design_warnings_off():
...     res = IVBounds("manski").fit_counts(against_the_design)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class IVICLError(Exception):
    """Base of every error that ivicl raises on purpose."""


class InputError(IVICLError, ValueError):
    """The data or the call is wrong; the command line exits with code 2."""


class MissingDependencyError(InputError, ImportError):
    """An optional dependency is not installed; the message names the extra to install."""


class ModelFileError(InputError):
    """A model file is missing, damaged, or of another schema."""


class DesignWarning(UserWarning):
    """A finding of grade stop: the data contradict an assumption that the bounds rest on."""


@contextmanager
def design_warnings_off() -> Iterator[None]:
    """Silence DesignWarning, for callers that report it themselves (the commands) or judge methods (the benchmarks)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DesignWarning)
        yield
