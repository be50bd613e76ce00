"""TabPFN as a learner: the paper's base model, used when the package is installed and its weights are on this machine.

Nothing is downloaded. The package itself would fetch weights on first use; here a missing file is an error that says
where to put it. `pip install tabpfn` installs the code (it is not a dependency of ivicl).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from ivicl.errors import MissingDependencyError, ModelFileError

WEIGHT_FILES = ("tabpfn-v2-classifier-finetuned-zk73skhh.ckpt", "tabpfn-v2-classifier.ckpt")
"""TabPFN-v2's files, the package's default first."""
MAX_CLASSES = 10
"""TabPFN-v2 predicts at most ten classes; more are fitted one against the rest."""


def weight_folders() -> list[Path]:
    """Where TabPFN keeps its weights, in the order in which it searches."""
    named = os.environ.get("TABPFN_MODEL_CACHE_DIR", "").strip()
    if named:
        return [Path(named)]
    if sys.platform == "win32":
        return [Path(os.environ.get("APPDATA", ".")) / "tabpfn"]
    if sys.platform == "darwin":
        return [Path.home() / "Library" / "Caches" / "tabpfn"]
    cache = os.environ.get("XDG_CACHE_HOME", "").strip()
    return [(Path(cache) if cache else Path.home() / ".cache") / "tabpfn"]


def find_weights(model_path: str | Path | None = None) -> Path:
    """The file of weights, or an error that names what was looked for."""
    if model_path is not None:
        path = Path(model_path)
        if not path.is_file():
            raise ModelFileError(f"there is no TabPFN weights file at {path}.")
        return path
    folders = weight_folders()
    for folder in folders:
        for name in WEIGHT_FILES:
            if (folder / name).is_file():
                return folder / name
    raise ModelFileError(
        f"TabPFN is installed but its weights are not: put {WEIGHT_FILES[0]} into {folders[0]}, or name the file in "
        "TabPFNLearner(model_path=...); ivicl downloads nothing."
    )


class TabPFNLearner(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """TabPFN-v2 as a scikit-learn classifier that never touches the network.

    >>> TabPFNLearner(n_estimators=4).get_params()["n_estimators"]
    4
    """

    def __init__(
        self,
        model_path: str | Path | None = None,
        n_estimators: int = 4,
        device: str = "cpu",
        random_state: int | None = None,
    ) -> None:
        self.model_path = model_path
        self.n_estimators = n_estimators
        self.device = device
        self.random_state = random_state

    def fit(self, x: np.ndarray, y: np.ndarray) -> TabPFNLearner:
        from sklearn.multiclass import OneVsRestClassifier

        self.classes_ = np.unique(y)
        model: Any = _classifier_class()(
            model_path=str(find_weights(self.model_path)),
            n_estimators=self.n_estimators,
            device=self.device,
            random_state=self.random_state,
            ignore_pretraining_limits=True,
        )
        if len(self.classes_) > MAX_CLASSES:
            model = OneVsRestClassifier(model)
        self.model_ = model.fit(x, y)
        return self

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        probabilities: np.ndarray = self.model_.predict_proba(x)
        return probabilities


def _classifier_class() -> Any:
    try:
        from tabpfn import TabPFNClassifier
    except ImportError as error:
        raise MissingDependencyError(
            'learner "tabpfn" needs the package tabpfn, which is not installed: pip install tabpfn.'
        ) from error
    return TabPFNClassifier


def load_tabpfn(random_state: int = 0, model_path: str | Path | None = None) -> TabPFNLearner:
    """A learner that is known to load: the package and the weights are checked before any fold is fitted."""
    _classifier_class()
    find_weights(model_path)
    return TabPFNLearner(model_path=model_path, random_state=random_state)
