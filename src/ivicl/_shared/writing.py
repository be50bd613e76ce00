"""Why a file cannot be written and what to do about it, in one sentence."""

from __future__ import annotations

import errno
from pathlib import Path

from ivicl.errors import InputError

REMEDIES = {
    errno.ENOENT: "make its folder first, or name another place",
    errno.ENOTDIR: "make its folder first, or name another place",
    errno.EISDIR: "it is a folder: name a file in it",
    errno.ENOSPC: "make room, or name another place",
    errno.EACCES: "name a place where you may write",
    errno.EPERM: "name a place where you may write",
    errno.EROFS: "name a place where you may write",
}


def cannot_be_written(what: str | Path, error: OSError) -> InputError:
    """The error to raise instead of the operating system's.

    Examples:
        >>> print(cannot_be_written("bounds.json", PermissionError(errno.EACCES, "Permission denied")))
        'bounds.json' cannot be written (Permission denied); name a place where you may write.
    """
    remedy = REMEDIES.get(error.errno or 0, "name another place")
    return InputError(f"'{what}' cannot be written ({error.strerror}); {remedy}.")
