"""Turn a randomised trial into an instrumental-variable data set whose true effect is the trial's (Proposition 1).

1. Balance: keep a random subset of the larger arm, so that half of the people are treated.
2. Draw an instrument Z that depends on the observed covariates O only.
3. Draw a treatment that depends on O, on the hidden covariates U and on Z.
4. Keep the people whose drawn treatment is the one the trial gave them, with the outcome the trial measured.

Each person is kept with probability 1/2, whatever the covariates, Z and the potential outcomes are. So the effect among
the kept people is the trial's, Z is a valid instrument given O, and the treatment is confounded through U as designed.
"""

from __future__ import annotations

import warnings as python_warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np

from ivicl._shared.special import f_tail
from ivicl.benchmarks.encoding import encode, numbers, require_columns
from ivicl.benchmarks.propensities import clipped, default_instrument, default_treatment
from ivicl.data import IVData
from ivicl.errors import InputError

InstrumentPropensity = Callable[[Any], np.ndarray]
"""Takes the frame of the observed columns, returns P(Z=1 | O) for each row."""
TreatmentPropensity = Callable[[Any, Any, np.ndarray], np.ndarray]
"""Takes the frames of the observed and of the hidden columns and z, returns P(T=1 | O, U, z) for each row."""


@dataclass(frozen=True)
class RCTConversion:
    """An instrumental-variable data set made from a trial, with the effect it must find."""

    data: IVData
    """What a method may see: encoded observed covariates, Z, T, Y."""
    frame: Any
    """The kept rows as a frame of the caller's kind: all of the original columns, and the instrument."""
    label: float
    """The trial's difference in means, over everybody whose treatment and outcome are known."""
    label_se: float
    """The label's standard error (unequal variances)."""
    n: int
    """People kept."""
    n_trial: int
    """People in the trial whose treatment and outcome are known."""
    n_balanced: int
    """People after balancing."""
    rho: float
    """Correlation of Z and T among the people kept."""
    sharp_width: float | None
    """1 - mean over O of the first stage: the width of the identified set as a share of the outcome's range.

    None if Z does not move everybody's treatment propensity in the same direction, which the formula needs.
    """
    naive: float
    """Treated minus untreated mean among the people kept: it shows how far confounding misleads."""
    randomisation_p: float
    """p value of an omnibus test that the trial's assignment is unrelated to (O, U)."""
    rows: np.ndarray
    """Positions of the kept people in the input frame."""
    p_z: np.ndarray
    """P(Z=1 | O) of each person kept."""
    p_t: np.ndarray
    """(n, 2): P(T=1 | O, U, z) of each person kept, for z = 0 and 1."""
    warnings: tuple[str, ...] = ()
    """Conditions of the proposition that fail or are in doubt."""
    instrument: str = "z"
    """Name of the instrument's column in `frame`."""
    columns: dict[str, Any] = field(default_factory=dict)
    """Which columns were used as treatment, outcome, observed and hidden."""

    def to_dict(self) -> dict[str, Any]:
        """The record of the conversion, ready for JSON (without the rows)."""
        keys = ("label", "label_se", "n", "n_trial", "n_balanced", "rho", "sharp_width", "naive", "randomisation_p")
        record: dict[str, Any] = {k: getattr(self, k) for k in keys}
        return {**record, "instrument": self.instrument, **self.columns, "warnings": list(self.warnings)}

    def summary(self) -> str:
        width = "not one-directional" if self.sharp_width is None else f"{self.sharp_width:.3f}"
        lines = [
            f"people       {self.n_trial:,} in the trial, {self.n_balanced:,} balanced, {self.n:,} kept",
            f"label        {self.label:.4f} (se {self.label_se:.4f}); naive difference in the IV data {self.naive:.4f}",
            f"rho(Z, T)    {self.rho:.3f}; sharp width {width}",
            f"assignment   unrelated to the covariates: p = {self.randomisation_p:.3f}",
        ]
        return "\n".join(lines + [f"warning: {w}" for w in self.warnings])


def rct_to_iv(
    frame: Any,
    *,
    treatment: str,
    outcome: str,
    observed: Sequence[str],
    hidden: Sequence[str],
    instrument_propensity: InstrumentPropensity | None = None,
    treatment_propensity: TreatmentPropensity | None = None,
    beta: float = 2.0,
    confounding: float = 1.0,
    clip: float = 0.05,
    balance: bool = True,
    balance_within: Sequence[str] = (),
    instrument: str = "z",
    outcome_range: tuple[float, float] | None = None,
    function_seed: int = 0,
    random_state: int = 0,
) -> RCTConversion:
    """Convert the trial in `frame` (anything narwhals reads) into an instrumental-variable data set.

    `treatment` must hold 0 and 1. Rows without treatment or outcome are left out; missing covariates are encoded, not
    dropped. Propensities that you give are clipped to [clip, 1 - clip]; without them they are built from the
    covariates, with instrument strength `beta` and a pull of the hidden covariates of size `confounding`. If the trial
    randomised within blocks, `balance_within` (columns whose combinations are the blocks) balances it within them.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> trial = {name: rng.integers(0, 2, 400) for name in ("treated", "outcome", "woman", "smoker")}
        >>> import polars as pl
        >>> made = rct_to_iv(
        ...     pl.DataFrame(trial), treatment="treated", outcome="outcome", observed=["woman"], hidden=["smoker"]
        ... )
        >>> made.n_trial, made.frame.columns[-1], made.to_dict()["hidden"], made.summary()[:6]
        (400, 'z', ['smoker'], 'people')
    """
    _check_call(beta, clip, observed, hidden, treatment, outcome)
    trial = nw.from_native(frame, eager_only=True)
    require_columns(trial, [treatment, outcome, *observed, *hidden, *balance_within])
    if instrument in trial.columns:
        raise InputError(f"Column '{instrument}' exists already; name the new instrument differently.")
    t_all, y_all = _treatment(trial, treatment), numbers(trial, outcome)
    known = np.flatnonzero(np.isfinite(t_all) & np.isfinite(y_all))
    trial, t, y = trial[known.tolist()], t_all[known], y_all[known]
    if min((t == 1).sum(), (t == 0).sum()) < 2:
        raise InputError(f"Column '{treatment}' leaves an arm with fewer than two people whose outcome is known.")

    notes: list[str] = []
    if len(known) < len(t_all):
        notes.append(
            f"{len(t_all) - len(known)} rows without treatment or outcome were left out; "
            "the label is the effect among the others, and only if what is missing is unrelated to treatment."
        )
    o, o_names = encode(trial, observed)
    u, _ = encode(trial, hidden)
    label, label_se = difference_in_means(t, y)
    p_value = randomisation_test(t, np.column_stack([o, u]))
    if p_value < 0.01:
        notes.append(f"The trial's assignment is related to the covariates (omnibus p = {p_value:.2g}).")

    rng = np.random.default_rng(random_state)
    if instrument_propensity is None:
        p_z = default_instrument(o, clip, function_seed)
    else:
        given = instrument_propensity(trial.select(list(observed)).to_native())
        p_z = _checked(given, len(t), "instrument_propensity", clip, notes)
    if treatment_propensity is None:
        p_t = default_treatment(o, u, p_z, beta, confounding, clip, function_seed)
    else:
        frames = trial.select(list(observed)).to_native(), trial.select(list(hidden)).to_native()
        columns = [treatment_propensity(*frames, np.full(len(t), float(z))) for z in (0, 1)]
        p_t = np.column_stack([_checked(c, len(t), "treatment_propensity", clip, notes) for c in columns])
    if clip == 0 and min(p_z.min(), 1 - p_z.max(), p_t.min(), 1 - p_t.max()) <= 0:
        notes.append("A propensity is 0 or 1: the proposition needs all of them away from both.")
    if treatment_propensity is None and (u.shape[1] == 0 or confounding == 0):
        notes.append("No hidden covariate moves the treatment, so it is not confounded.")

    chosen = balanced_rows(t, rng, _blocks(trial, balance_within)) if balance else np.arange(len(t))
    if not balance and abs(t.mean() - 0.5) > 2 / np.sqrt(len(t)):
        notes.append(f"{t.mean():.1%} of the trial are treated, not 50 %: the people kept differ from the trial.")
    z = (rng.random(len(chosen)) < p_z[chosen]).astype(float)
    drawn = (rng.random(len(chosen)) < p_t[chosen, z.astype(int)]).astype(float)
    keep = drawn == t[chosen]
    rows, z = chosen[keep], z[keep]
    if len(rows) < 20 or min(z.sum(), (1 - z).sum(), t[rows].sum(), (1 - t[rows]).sum()) < 2:
        raise InputError(f"Only {len(rows)} people are kept and an arm is all but empty; the trial is too small.")

    kept = trial[rows.tolist()]
    kept = kept.with_columns(nw.new_series(instrument, z.astype(int), backend=kept.implementation))
    for note in notes:
        python_warnings.warn(note, stacklevel=2)
    first_stage = p_t[rows, 1] - p_t[rows, 0]
    one_way = bool((first_stage >= 0).all() or (first_stage <= 0).all())
    return RCTConversion(
        data=IVData.from_arrays(z=z, t=t[rows], y=y[rows], x=o[rows], covariates=o_names, outcome_range=outcome_range),
        frame=kept.to_native(),
        label=label,
        label_se=label_se,
        n=len(rows),
        n_trial=len(t),
        n_balanced=len(chosen),
        rho=float(np.corrcoef(z, t[rows])[0, 1]),
        sharp_width=float(1 - np.abs(first_stage).mean()) if one_way else None,
        naive=difference_in_means(t[rows], y[rows])[0],
        randomisation_p=p_value,
        rows=known[rows],
        p_z=p_z[rows],
        p_t=p_t[rows],
        warnings=tuple(notes),
        instrument=instrument,
        columns=dict(treatment=treatment, outcome=outcome, observed=list(observed), hidden=list(hidden)),
    )


def difference_in_means(t: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Treated minus untreated mean, and its standard error with unequal variances."""
    treated, control = y[t == 1], y[t == 0]
    se = np.sqrt(treated.var(ddof=1) / len(treated) + control.var(ddof=1) / len(control))
    return float(treated.mean() - control.mean()), float(se)


def balanced_rows(t: np.ndarray, rng: np.random.Generator, blocks: np.ndarray | None = None) -> np.ndarray:
    """Positions, in order: in each block, everybody in the smaller arm and as many people drawn from the larger one."""
    blocks = np.zeros(len(t)) if blocks is None else blocks
    chosen = []
    for block in np.unique(blocks):
        arms = [np.flatnonzero((t == a) & (blocks == block)) for a in (0, 1)]
        size = min(len(a) for a in arms)
        chosen += [rng.permutation(a)[:size] for a in arms]
    return np.sort(np.concatenate(chosen))


def _blocks(trial: nw.DataFrame[Any], columns: Sequence[str]) -> np.ndarray | None:
    if not columns:
        return None
    keys = list(zip(*(map(str, trial[c].to_list()) for c in columns), strict=True))
    number = {key: i for i, key in enumerate(sorted(set(keys)))}
    return np.array([number[key] for key in keys])


def randomisation_test(t: np.ndarray, x: np.ndarray) -> float:
    """p value of the F test that no covariate predicts the assignment (linear regression of T on all of them)."""
    design = np.column_stack([np.ones(len(t)), x])
    coefficients, _, rank, _ = np.linalg.lstsq(design, t, rcond=None)
    free, left = rank - 1, len(t) - rank
    if free < 1 or left < 1:
        return float("nan")
    residual = ((t - design @ coefficients) ** 2).sum()
    explained = ((t - t.mean()) ** 2).sum() - residual
    return f_tail(float((explained / free) / (residual / left)), free, left)


def _check_call(
    beta: float, clip: float, observed: Sequence[str], hidden: Sequence[str], treatment: str, outcome: str
) -> None:
    if not 0 <= clip < 0.5:
        raise InputError(f"clip must be at least 0 and below 0.5, not {clip}.")
    if not np.isfinite(beta):
        raise InputError(f"beta must be a finite number, not {beta}.")
    both = set(observed) & set(hidden)
    if both:
        raise InputError(f"Column '{sorted(both)[0]}' is named as observed and as hidden; it can be only one.")
    used = {treatment, outcome} & (set(observed) | set(hidden))
    if used or treatment == outcome:
        raise InputError(f"Column '{(sorted(used) or [treatment])[0]}' has two roles; give each column one.")


def _treatment(trial: nw.DataFrame[Any], name: str) -> np.ndarray:
    values = numbers(trial, name)
    wrong = np.unique(values[np.isfinite(values) & ~np.isin(values, (0.0, 1.0))])
    if len(wrong):
        raise InputError(f"Column '{name}' must hold 0 and 1; it also holds {wrong[0]:g}.")
    return values


def _checked(p: Any, n: int, name: str, clip: float, notes: list[str]) -> np.ndarray:
    p = np.asarray(p, dtype=float).reshape(-1)
    if len(p) != n:
        raise InputError(f"{name} must return one probability a row: {n} rows, {len(p)} returned.")
    if not np.isfinite(p).all() or p.min() < 0 or p.max() > 1:
        raise InputError(f"{name} must return probabilities; it returned {p.min():g} to {p.max():g}.")
    outside = float(((p < clip) | (p > 1 - clip)).mean())
    if outside > 0.05:
        notes.append(f"{outside:.0%} of the values of {name} were clipped to [{clip:g}, {1 - clip:g}].")
    return clipped(p, clip)
