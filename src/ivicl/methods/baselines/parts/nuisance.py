"""Cross-fitted estimates of p(y, t | z, x) and P(Z=1 | x).

Shapes: n rows, L outcome levels (2 when binary), m pieces (rows split by fold, see folds.py). One classifier per arm
predicts the cell t * L + level. With many levels this gives all thresholds of the outcome at once, and consistently:
P(T=t, Y >= c) never rises with c.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ivicl.data import Design
from ivicl.errors import InputError
from ivicl.methods.baselines.parts.calibration import cross_calibrate, log_loss
from ivicl.methods.baselines.parts.dependencies import require
from ivicl.methods.baselines.parts.folds import Pieces, merge_rows, split_clusters, split_people
from ivicl.methods.baselines.parts.learners import Learner, resolve_learners
from ivicl.methods.baselines.parts.options import NuisanceOptions

RARE_ROWS = 5
"""A cell with fewer training rows than this gets its frequency at every x: no classifier can learn it."""
WORTH_A_PROCESS = 20_000
"""Rows times fits above which starting a second process pays off."""


@dataclass(frozen=True)
class NuisanceConfig(NuisanceOptions):
    """The options, and the seed that comes with the request."""

    random_state: int = 0
    """Seed of the folds and of the learners."""


@dataclass(frozen=True)
class Nuisances:
    """Out-of-fold p and e for each piece, with the data they belong to."""

    z: np.ndarray
    t: np.ndarray
    level: np.ndarray
    weight: np.ndarray
    p: np.ndarray
    """(m, 2, 2, L) indexed [z][t][level]."""
    e: np.ndarray
    details: dict[str, Any] = field(default_factory=dict)
    design: Design | None = None

    @property
    def mass(self) -> np.ndarray:
        """(m,) how much of the population each piece stands for."""
        return _mass(self.weight, self.design)

    def binary_law(self, j: int) -> np.ndarray:
        """(m, 2, 2, 2): the law of (T, 1{level >= j}) given Z."""
        above = self.p[..., j:].sum(-1)
        return np.stack([self.p.sum(-1) - above, above], axis=-1)


def estimate_nuisances(
    x: np.ndarray,
    z: np.ndarray,
    t: np.ndarray,
    level: np.ndarray,
    weight: np.ndarray,
    n_levels: int,
    config: NuisanceConfig,
    progress: bool = False,
    design: Design | None = None,
) -> Nuisances:
    """Cross-fitted nuisances; if no covariate varies, the frequencies themselves (then nothing is fitted)."""
    varies = (x != x[:1]).any(0) if len(x) else np.zeros(x.shape[1], dtype=bool)
    told = [] if design is None else [values.astype(np.float64) for values in design.columns.values()]
    columns, people = merge_rows(np.column_stack([x[:, varies], *told, z, t, level]), weight)
    start = columns.shape[1] - 3 - len(told)
    if design is not None:
        design = Design(**{name: columns[:, start + k] for k, name in enumerate(design.columns)})
    x, z, t, level = columns[:, :start], columns[:, -3], columns[:, -2], columns[:, -1].astype(np.intp)
    cell = t.astype(np.intp) * n_levels + level
    for arm in (0, 1):
        if people[z == arm].sum() == 0:
            raise InputError(f"the instrument takes only the value {1 - arm}; both arms need at least one person.")
    if not varies.any():
        return _frequencies(z, t, level, people, cell, n_levels, config, design)
    smallest = min(people[z == arm].sum() for arm in (0, 1))
    if smallest < 2 * config.folds:
        raise InputError(
            f"the smaller arm of the instrument has {int(smallest)} people, too few for {config.folds} folds; "
            'use fewer folds, no covariates, or method "balke-pearl".'
        )
    require("sklearn", "plugin, levis or whitehouse")
    rng = np.random.default_rng(config.random_state)
    if design is not None and design.cluster is not None:
        pieces = split_clusters(design.cluster, z, people, config.folds, rng)
    else:
        pieces = split_people(z.astype(np.intp) * 2 * n_levels + cell, people, config.folds, rng)
    targets = {
        "arm 0": (cell, z == 0, 2 * n_levels),
        "arm 1": (cell, z == 1, 2 * n_levels),
        "propensity": (z.astype(np.intp), np.ones(len(z), dtype=bool), 2),
    }
    if config.propensity is not None:
        del targets["propensity"]
    fitted = _cross_fit(x, people, pieces, targets, config, progress, _mass(people, design) / people)
    best = {
        target: _best(fitted[target], label[pieces.row], mask[pieces.row], pieces, config.calibrate)
        for target, (label, mask, _) in targets.items()
    }
    raw_e = best["propensity"].p[:, 1] if config.propensity is None else np.full(len(pieces.row), config.propensity)
    e = np.clip(raw_e, config.clip, 1.0 - config.clip)
    p = np.stack([best["arm 0"].p, best["arm 1"].p], axis=1).reshape(-1, 2, 2, n_levels)
    clipped = float((pieces.weight * (e != raw_e)).sum() / pieces.weight.sum())
    details = {
        "learner": {target: each.name for target, each in best.items()},
        "log_loss": {target: each.losses for target, each in best.items()},
        "folds": config.folds,
        "calibrated": config.calibrate,
        "propensity_clip": config.clip,
        "propensity_clipped_share": round(clipped, 6),
        "propensity_range": [round(float(raw_e.min()), 6), round(float(raw_e.max()), 6)],
    }
    take = pieces.row
    own = None if design is None else design.take(take)
    return Nuisances(z[take], t[take], level[take], pieces.weight, p, e, details, own)


@dataclass(frozen=True)
class _Best:
    """The candidate that predicts one target best."""

    name: str
    p: np.ndarray
    """(m, classes) out-of-fold probabilities."""
    losses: dict[str, float]
    """The log losses of all candidates."""


def _best(
    candidates: dict[str, np.ndarray], labels: np.ndarray, observed: np.ndarray, pieces: Pieces, calibrate: bool
) -> _Best:
    best, chosen, losses = np.zeros(0), "", dict[str, float]()
    for name, p in candidates.items():
        q = cross_calibrate(p, labels, pieces.weight, observed, pieces.fold) if calibrate else p
        loss = log_loss(q[observed], labels[observed], pieces.weight[observed])
        if not losses or loss < min(losses.values()):
            best, chosen = q, name
        losses[name] = round(loss, 6)
    return _Best(chosen, best, losses)


def _frequencies(
    z: np.ndarray,
    t: np.ndarray,
    level: np.ndarray,
    people: np.ndarray,
    cell: np.ndarray,
    n_levels: int,
    config: NuisanceConfig,
    design: Design | None,
) -> Nuisances:
    table = np.zeros((2, 2 * n_levels))
    np.add.at(table, (z.astype(np.intp), cell), _mass(people, design))
    arms = table.sum(1)
    p = np.broadcast_to((table / arms[:, None]).reshape(2, 2, n_levels), (len(z), 2, 2, n_levels))
    e = np.full(len(z), arms[1] / arms.sum() if config.propensity is None else config.propensity)
    details = {"learner": "frequencies (no covariate varies)", "folds": 1, "calibrated": False}
    return Nuisances(z, t, level, people, p, e, details, design)


def _mass(people: np.ndarray, design: Design | None) -> np.ndarray:
    """People weighted by their sampling weights, scaled so that the sum is the number of people."""
    if design is None or design.sampling is None:
        return people
    total = people * design.sampling
    mass: np.ndarray = total * (people.sum() / total.sum())
    return mass


def _cross_fit(
    x: np.ndarray,
    people: np.ndarray,
    pieces: Pieces,
    targets: dict[str, tuple[np.ndarray, np.ndarray, int]],
    config: NuisanceConfig,
    progress: bool,
    each: np.ndarray,
) -> dict[str, dict[str, np.ndarray]]:
    """Out-of-fold predictions (m, C) of every candidate for every target; `each` is the weight of a row's person."""
    joblib = require("joblib", "plugin, levis or whitehouse")
    learners = resolve_learners(config.learner)
    tasks, places = [], []
    for target_id, (target, (label, mask, n_classes)) in enumerate(targets.items()):
        for fold in range(config.folds):
            held = pieces.fold == fold
            kept = people.copy()
            kept[pieces.row[held]] -= pieces.weight[held]
            train = mask & (kept > 0)
            seed = int(np.random.SeedSequence([config.random_state, target_id, fold]).generate_state(1)[0] >> 1)
            for name, learner in learners.items():
                test_x = x[pieces.row[held]]
                tasks.append((learner, x[train], label[train], (kept * each)[train], test_x, n_classes, seed))
                places.append((target, name, held))
    rows = sum(len(task[1]) for task in tasks)
    n_jobs = config.n_jobs
    if n_jobs is None:
        n_jobs = min(2, joblib.cpu_count()) if rows >= WORTH_A_PROCESS and len(learners) > 1 else 1
    out = {target: {name: np.zeros((len(pieces.row), c)) for name in learners} for target, (_, _, c) in targets.items()}
    # Worker processes get one thread each, so that n_jobs processes use n_jobs cores and no more.
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1 if n_jobs != 1 else None):
        results = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
            joblib.delayed(fit_predict)(*task) for task in tasks
        )
        for (target, name, held), p in zip(places, _track(results, len(tasks), progress), strict=True):
            out[target][name][held] = p
    return out


def _track(results: Any, total: int, progress: bool) -> Any:
    if not progress:
        return results
    from rich.console import Console
    from rich.progress import track

    return track(results, description="fitting nuisances", total=total, console=Console(stderr=True))


def fit_predict(
    learner: Learner,
    x: np.ndarray,
    label: np.ndarray,
    weight: np.ndarray,
    new_x: np.ndarray,
    n_classes: int,
    seed: int,
) -> np.ndarray:
    """Fit on (x, label) and give class probabilities (rows of new_x, n_classes).

    A class that was not seen gets probability 0, and one seen in fewer than RARE_ROWS rows its frequency everywhere.
    The others get at least half a person's share, because a forest may predict 0 where it has seen few people.
    """
    total = weight.sum()
    rows_of = np.bincount(label, minlength=n_classes)
    people_of = np.bincount(label, weights=weight, minlength=n_classes)
    learnable = rows_of >= RARE_ROWS
    if learnable.sum() < 2:
        return np.broadcast_to(people_of / total, (len(new_x), n_classes)).copy()
    use = learnable[label]
    model = learner(x[use], seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _fit(model, x[use], label[use], weight[use])
        predicted = np.asarray(model.predict_proba(new_x), dtype=float)
    if not np.isfinite(predicted).all():
        raise InputError(f"the learner {type(model).__name__} predicted probabilities that are not numbers.")
    p = np.zeros((len(new_x), n_classes))
    p[:, np.asarray(model.classes_, dtype=np.intp)] = predicted
    floor = min(0.5 / total, 1e-3)
    p[:, learnable] = np.maximum(p[:, learnable], floor)
    p *= people_of[learnable].sum() / total / p.sum(1, keepdims=True)
    rare = ~learnable & (rows_of > 0)
    p[:, rare] = people_of[rare] / total
    return p


def _fit(model: Any, x: np.ndarray, label: np.ndarray, weight: np.ndarray) -> None:
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    if (weight == 1).all():
        model.fit(x, label)
        return
    prefix, last = "", model
    if isinstance(model, Pipeline):
        prefix, last = f"{model.steps[-1][0]}__", model.steps[-1][1]
    if has_fit_parameter(last, "sample_weight"):
        model.fit(x, label, **{f"{prefix}sample_weight": weight})
        return
    if weight.sum() > 1_000_000:
        raise InputError(
            f"the learner {type(last).__name__} takes no sample weights and {int(weight.sum())} people are too many "
            "to write out as rows; choose a learner that takes weights."
        )
    if (weight != np.round(weight)).any():
        raise InputError(
            f"the learner {type(last).__name__} takes no sample weights, and people with weights that are not whole "
            "numbers cannot be written out as rows; choose a learner that takes weights."
        )
    repeat = weight.astype(np.intp)
    model.fit(np.repeat(x, repeat, axis=0), np.repeat(label, repeat))
