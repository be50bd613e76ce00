"""Whose intervals are judged: a network, or any method by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from ivicl.data import IVData
from ivicl.errors import InputError
from ivicl.methods.assumptions import NO_DEFIERS
from ivicl.methods.base import MethodBounds, Request
from ivicl.methods.pretrained.batching import predict_tables
from ivicl.methods.pretrained.heads import ends_by_estimand
from ivicl.methods.pretrained.method import NetworkOptions, pose, settle
from ivicl.methods.pretrained.runtime import Model
from ivicl.methods.pretrained.schema_2 import POINT
from ivicl.methods.registry import resolve
from ivicl.posterior import IdentifiedSet


@dataclass(frozen=True)
class Answer:
    """What is claimed about one estimand."""

    lower: np.ndarray
    """(A,) for each alpha asked, the lower end of the interval that is to hold the set with probability 1 - alpha."""
    upper: np.ndarray
    lower_mean: float
    """The best guess of the lower end."""
    upper_mean: float


Predict = Callable[[IVData, Sequence[float]], Mapping[str, Answer]]
"""From data and alphas to an answer for each estimand that the predictor knows: ATE, EY1, EY0, ATT, ATU, LATE."""


def of_model(model: Model) -> Predict:
    """The network of a model file, used as the method `ivicl` uses it; the LATE is from a pass that assumes no defiers.

    A pass uses one core, so that several data sets can be answered at once.
    """
    request = Request(own=NetworkOptions())
    model = model.on_one_thread()

    def predict(data: IVData, alphas: Sequence[float]) -> dict[str, Answer]:
        question = pose(data, request, model)
        posteriors = predict_tables(model, question.tables)
        answers = {name: _of_ends(ends, alphas) for name, ends in ends_by_estimand(posteriors, data, False).items()}
        if NO_DEFIERS in model.graph.assumptions:
            told = pose(data, replace(request, assume=(NO_DEFIERS,)), model)
            late = ends_by_estimand(predict_tables(model, told.tables), data, True)[POINT]
            answers[POINT] = _of_ends(late, alphas)
        return answers | {"ATE": _answer(settle(data, request, question, posteriors), alphas)}

    return predict


def of_method(name: str) -> Predict:
    """A registered method, asked for the whole set; it must give a posterior of the ends, or their standard errors."""
    method = resolve(name)
    request = Request(covers="set", own=method.own_options({}))

    def predict(data: IVData, alphas: Sequence[float]) -> dict[str, Answer]:
        found = method.bounds(data, request)
        return {found.estimand: _answer(found, alphas)}

    return predict


def _of_ends(ends: IdentifiedSet, alphas: Sequence[float]) -> Answer:
    intervals = np.array([ends.interval(alpha) for alpha in alphas])
    return Answer(intervals[:, 0], intervals[:, 1], ends.lower.mean, ends.upper.mean)


def _answer(found: MethodBounds, alphas: Sequence[float]) -> Answer:
    if found.identified_set is not None:
        return _of_ends(found.identified_set, alphas)
    about = found.estimates
    if about is None or about.se_lower is None or about.se_upper is None:
        raise InputError(
            "only methods with a posterior or standard errors of the ends can be judged at several levels."
        )
    z = np.array([NormalDist().inv_cdf(1 - alpha / 2) for alpha in alphas])
    return Answer(about.lower - z * about.se_lower, about.upper + z * about.se_upper, about.lower, about.upper)
