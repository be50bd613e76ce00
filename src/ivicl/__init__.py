"""Honest bounds on average treatment effects from instrumental-variable data.

>>> from ivicl import IVBounds
>>> res = IVBounds(method="balke-pearl").fit_counts([[[158, 14], [0, 0]], [[52, 12], [23, 78]]])
>>> round(res.lower, 4), round(res.upper, 4)
(0.3913, 0.7792)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ivicl.errors import DesignWarning, InputError, IVICLError
from ivicl.version import __version__

if TYPE_CHECKING:
    import ivicl.datasets as datasets
    from ivicl.benchmarks.rct_to_iv import rct_to_iv
    from ivicl.data import IVData
    from ivicl.estimator import IVBounds
    from ivicl.posterior import BinnedPosterior
    from ivicl.results.comparison import Comparison
    from ivicl.results.plan import plan
    from ivicl.results.result import BoundsResult
    from ivicl.scale.compare import compare

_LAZY = {
    "BinnedPosterior": "ivicl.posterior",
    "BoundsResult": "ivicl.results.result",
    "Comparison": "ivicl.results.comparison",
    "IVBounds": "ivicl.estimator",
    "IVData": "ivicl.data",
    "compare": "ivicl.scale.compare",
    "plan": "ivicl.results.plan",
    "rct_to_iv": "ivicl.benchmarks.rct_to_iv",
}

__all__ = [
    "BinnedPosterior",
    "BoundsResult",
    "Comparison",
    "DesignWarning",
    "IVBounds",
    "IVData",
    "IVICLError",
    "InputError",
    "__version__",
    "compare",
    "datasets",
    "plan",
    "rct_to_iv",
]


def __getattr__(name: str) -> Any:
    # Names are looked up when first used, so that `import ivicl` costs almost nothing.
    if name == "datasets":
        return importlib.import_module("ivicl.datasets")
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'ivicl' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
