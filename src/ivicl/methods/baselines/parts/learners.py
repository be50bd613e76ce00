"""The classifiers that estimate p(y, t | z, x) and P(Z=1 | x).

A learner is a function (x, random_state) -> unfitted scikit-learn classifier. It sees the covariates only, to decide
which columns are worth a spline; labels never reach it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ivicl.errors import InputError

Learner = Callable[[np.ndarray, int], Any]

MAX_SPLINE_COLUMNS = 40
MAX_INTERACTION_COLUMNS = 15
FEW_VALUES = 8


def linear(x: np.ndarray, random_state: int) -> Any:
    """Multinomial logistic regression, main effects only."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=500))


def splines(x: np.ndarray, random_state: int) -> Any:
    """Multinomial logistic regression on cubic splines of each column and products of pairs of columns."""
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

    parts: list[tuple[str, Any, list[int]]] = []
    for column in range(x.shape[1]):
        knots = np.unique(np.quantile(x[:, column], np.linspace(0.02, 0.98, 5)))
        continuous = len(np.unique(x[:, column])) > FEW_VALUES and len(knots) >= 3
        # Linear extrapolation, so that a value beyond the knots cannot give extreme logits.
        basis: Any = "passthrough"
        if continuous and column < MAX_SPLINE_COLUMNS:
            basis = SplineTransformer(knots=knots[:, None], degree=3, extrapolation="linear", include_bias=False)
        parts.append((f"main{column}", basis, [column]))
    if 2 <= x.shape[1] <= MAX_INTERACTION_COLUMNS:
        products = make_pipeline(
            StandardScaler(), PolynomialFeatures(degree=2, interaction_only=True, include_bias=False)
        )
        parts.append(("products", products, list(range(x.shape[1]))))
    return make_pipeline(ColumnTransformer(parts), StandardScaler(), LogisticRegression(C=0.05, max_iter=500))


def boosting(x: np.ndarray, random_state: int) -> Any:
    """Gradient-boosted trees on histograms, stopped early on a tenth of the training rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        learning_rate=0.06,
        max_iter=150,
        max_leaf_nodes=8,
        min_samples_leaf=15,
        l2_regularization=1.0,
        early_stopping=len(x) >= 200,
        n_iter_no_change=8,
        random_state=random_state,
    )


def forest(x: np.ndarray, random_state: int) -> Any:
    """Random forest with leaves large enough for probabilities."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=100, min_samples_leaf=5, n_jobs=1, random_state=random_state)


def network(x: np.ndarray, random_state: int) -> Any:
    """A small neural network. A strong penalty and a fixed length beat sklearn's early stopping by accuracy."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    epochs = int(np.clip(120_000 / len(x), 8, 60))
    net = MLPClassifier(
        hidden_layer_sizes=(48,),
        alpha=1.0,
        learning_rate_init=0.005,
        batch_size=min(128, len(x)),
        max_iter=epochs,
        random_state=random_state,
    )
    return make_pipeline(StandardScaler(), net)


def tabpfn(x: np.ndarray, random_state: int) -> Any:
    from ivicl.methods.baselines.parts.tabpfn import load_tabpfn

    return load_tabpfn(random_state=random_state)


def constant(x: np.ndarray, random_state: int) -> Any:
    """The frequencies, the same at every x: the right answer for the propensity of a randomised trial."""
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="prior")


CANDIDATES: dict[str, Learner] = {
    "constant": constant,
    "linear": linear,
    "splines": splines,
    "boosting": boosting,
    "forest": forest,
    "network": network,
}
"""What learner="auto" chooses from, by cross-validated log loss, separately for each nuisance."""

NAMED: dict[str, Learner] = {**CANDIDATES, "tabpfn": tabpfn}


def resolve_learners(learner: Any) -> dict[str, Learner]:
    """The candidates that `learner` stands for: "auto", a name, a list of names, or any scikit-learn classifier."""
    if isinstance(learner, (list, tuple)):
        resolved: dict[str, Learner] = {}
        for one in learner:
            resolved.update(resolve_learners(one))
        if not resolved:
            raise InputError("learner is an empty list; give at least one classifier or learner name.")
        return resolved
    if isinstance(learner, str):
        if learner == "auto":
            return dict(CANDIDATES)
        if learner not in NAMED:
            raise InputError(f'learner is "{learner}"; known names are auto, {", ".join(NAMED)}.')
        return {learner: NAMED[learner]}
    if hasattr(learner, "fit") and hasattr(learner, "predict_proba") and not isinstance(learner, type):
        return {type(learner).__name__: _cloner(learner)}
    raise InputError(f"learner is {learner!r}; it must be a name or an unfitted classifier with fit and predict_proba.")


def _cloner(prototype: Any) -> Learner:
    def build(x: np.ndarray, random_state: int) -> Any:
        from sklearn.base import clone

        model = clone(prototype)
        seeds = {
            key: random_state
            for key, value in model.get_params(deep=True).items()
            if value is None and (key == "random_state" or key.endswith("__random_state"))
        }
        return model.set_params(**seeds)

    return build
