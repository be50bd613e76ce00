"""Methods by name. A method is imported when it is first used, so that nobody pays for what he does not use."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from ivicl.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    from ivicl.data import IVData
    from ivicl.methods.base import MethodBounds, MethodOptions

    Method = Callable[[IVData, MethodOptions], MethodBounds]

METHODS: dict[str, str] = {
    "ivicl": "ivicl.methods.pretrained.method:bounds",
    "exact": "ivicl.methods.classical.exact_posterior:bounds",
    "balke-pearl": "ivicl.methods.classical.balke_pearl:bounds",
    "manski": "ivicl.methods.classical.manski:bounds",
    "manski-iv": "ivicl.methods.classical.manski:bounds_iv",
    "no-defiers": "ivicl.methods.classical.late:bounds_no_defiers",
    "sharp": "ivicl.methods.classical.linear_program:bounds",
    "late": "ivicl.methods.classical.late:bounds",
    "plugin": "ivicl.methods.baselines.plugin:bounds",
    "levis": "ivicl.methods.baselines.levis:bounds",
    "whitehouse": "ivicl.methods.baselines.whitehouse:bounds",
    "bayes-bp": "ivicl.methods.baselines.bayes:bounds_bp",
    "bayes": "ivicl.methods.baselines.bayes:bounds",
}

EXTRA_OF_MODULE = {"torch": "baselines", "gpytorch": "baselines", "sklearn": "baselines"}


def resolve(name: str) -> Method:
    """The function behind a method's name."""
    if name not in METHODS:
        near = difflib.get_close_matches(str(name), METHODS, n=1, cutoff=0.4)
        hint = f"the nearest name is '{near[0]}'" if near else "the names are " + ", ".join(METHODS)
        raise InputError(f"there is no method '{name}'; {hint}.")
    module_name, function_name = METHODS[name].split(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing in EXTRA_OF_MODULE:
            extra = EXTRA_OF_MODULE[missing]
            raise MissingDependencyError(
                f"method '{name}' needs {missing}: install it with pip install 'ivicl[{extra}]'."
            ) from error
        raise
    return getattr(module, function_name)
