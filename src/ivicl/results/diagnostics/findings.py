"""What the data say about the design before any bound: measurements, and findings graded ok, look or stop.

ok: nothing to do. look: read the sentence before you believe the bounds. stop: the data contradict an assumption.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ivicl.data import IVData
from ivicl.data.encoding import weighted_quantile
from ivicl.identification.inequalities import check
from ivicl.results.diagnostics.covariates import balance, positivity

GRADES = ("ok", "look", "stop")
TRAINED_PEOPLE = (20, 100_000_000)
"""Sizes of the tables that the shipped network was trained on."""
TRAINED_COVARIATES = 64
"""Covariates that the shipped network reads."""
WEAK_F = 10.0
VIOLATED_P = 0.01
"""Bonferroni over the four inequalities: below this, one of them fails by more than chance."""


@dataclass(frozen=True)
class Finding:
    """One thing to know about the design, in a sentence for a trialist."""

    name: str
    grade: str
    sentence: str


def first_stage(data: IVData) -> dict[str, Any]:
    """The effect of the instrument on the treatment, with its standard error, F statistic and correlation."""
    shares, sizes = [], []
    for arm in (0.0, 1.0):
        here = data.z == arm
        sizes.append(data.w[here].sum())
        shares.append(data.w[here] @ data.t[here] / sizes[-1])
    variance = sum(s * (1 - s) / n for s, n in zip(shares, sizes, strict=True))
    difference = shares[1] - shares[0]
    share_z = sizes[1] / sum(sizes)
    share_t = (1 - share_z) * shares[0] + share_z * shares[1]
    spread = share_t * (1 - share_t)
    return {
        "treated_if_z0": float(shares[0]),
        "treated_if_z1": float(shares[1]),
        "difference": float(difference),
        "se": float(np.sqrt(variance)),
        # With no variation inside the arms the F statistic is infinite, which JSON cannot hold: report it as None.
        "f": float(difference**2 / variance) if variance > 0 else None,
        "correlation": float(difference * np.sqrt(share_z * (1 - share_z) / spread)) if spread > 0 else None,
        "n_z0": int(sizes[0]),
        "n_z1": int(sizes[1]),
    }


def compliance(data: IVData) -> dict[str, Any]:
    """People by [z][t], and who did not do as the instrument said."""
    cell = (2 * data.z + data.t).astype(np.int64)
    people = np.bincount(cell, data.w, 4).reshape(2, 2)
    treated = people[:, 1] > 0
    untreated = people[:, 0] > 0
    if not (treated[0] or untreated[1]) or not (treated[1] or untreated[0]):
        kind = "perfect"
    elif treated.all() and untreated.all():
        kind = "two-sided"
    elif not treated.any() or not untreated.any():
        kind = "no variation"
    else:
        kind = "one-sided"
    found: dict[str, Any] = {"people": people.astype(int).tolist(), "kind": kind}
    if data.binary:
        found["counts"] = data.counts().astype(int).tolist()
    return found


def outcome(data: IVData) -> dict[str, Any]:
    """The possible range, the observed one, and where nearly all outcomes lie."""
    low, high = weighted_quantile(data.y, data.w, np.array([0.01, 0.99]))
    return {
        "range": list(data.outcome_range),
        "observed": [float(data.y.min()), float(data.y.max())],
        "central_98_percent": [float(low), float(high)],
        "mean": float(data.w @ data.y / data.w.sum()),
    }


def diagnose(data: IVData) -> dict[str, Any]:
    """Everything, as a dictionary that JSON can hold; `findings` has the grades, `grade` the worst of them."""
    found: dict[str, Any] = {
        "first_stage": first_stage(data),
        "compliance": compliance(data),
        "inequalities": [i.to_dict() for i in check(data)],
        "positivity": positivity(data),
        "balance": balance(data),
        "sample": {"n": data.n, "n_rows": len(data.w), "n_dropped": data.report.n_dropped, "d": len(data.covariates)},
        "outcome": outcome(data),
    }
    findings = [
        _first_stage_finding(found["first_stage"]),
        _compliance_finding(found["compliance"], found["first_stage"]),
        _inequality_finding(found["inequalities"]),
        *_positivity_finding(found["positivity"]),
        *_balance_finding(found["balance"]),
        _sample_finding(found["sample"], found["first_stage"]),
        _outcome_finding(found["outcome"], data.binary),
    ]
    found["findings"] = [asdict(finding) for finding in findings]
    found["grade"] = max((finding.grade for finding in findings), key=GRADES.index)
    return found


def _first_stage_finding(stage: dict[str, Any]) -> Finding:
    name = "first stage"
    before, after = _percent(stage["treated_if_z0"]), _percent(stage["treated_if_z1"])
    moved = f"The instrument changes the share treated from {before} to {after}"
    if stage["f"] is None and stage["difference"] == 0:
        return Finding(name, "look", f"{moved}: not at all, so that it tells nothing about the treatment.")
    if stage["f"] is None:
        return Finding(name, "ok", f"{moved}.")
    if stage["f"] < WEAK_F:
        sentence = f"{moved} (F = {stage['f']:.1f}): a weak instrument; the bounds stay honest, but will be wide."
        return Finding(name, "look", sentence)
    return Finding(name, "ok", f"{moved} (F = {stage['f']:,.0f}).")


def _compliance_finding(found: dict[str, Any], stage: dict[str, Any]) -> Finding:
    (_, treated_0), (untreated_1, _) = found["people"]
    if found["kind"] == "perfect":
        sentence = "Everybody did as the instrument says: the data are those of a trial with perfect compliance."
        return Finding("compliance", "ok", sentence)
    if found["kind"] == "no variation":
        return Finding("compliance", "stop", "Everybody has the same treatment, so that its effect cannot be learnt.")
    if found["kind"] == "one-sided":
        arm = 0 if 0 in found["people"][0] else 1
        who = "nobody" if found["people"][arm][1] == 0 else "everybody"
        return Finding("compliance", "ok", f"One-sided non-compliance: {who} with Z = {arm} is treated.")
    if stage["difference"] < 0:
        sentence = "The instrument lowers the treatment: if that surprises you, check which value means 1."
        return Finding("compliance", "look", sentence)
    sentence = f"Two-sided non-compliance: {treated_0:,} treated with Z = 0, {untreated_1:,} untreated with Z = 1."
    return Finding("compliance", "ok", sentence)


def _inequality_finding(inequalities: list[dict[str, Any]]) -> Finding:
    name = "instrumental inequalities"
    worst = min(inequalities, key=lambda i: i["p_value"])
    if not worst["violated"]:
        return Finding(name, "ok", "The sample does not contradict the instrument: all four inequalities hold.")
    what = f"{worst['name']} fails by {worst['excess']:.3f} in the sample (one-sided p = {worst['p_value']:.2g})"
    if worst["p_value"] < VIOLATED_P / len(inequalities):
        sentence = (
            f"{what}: more than chance explains. The instrument is not valid, or the data are not coded as you think."
        )
        return Finding(name, "stop", sentence)
    return Finding(name, "look", f"{what}: chance can explain it, but a valid instrument never implies it.")


def _positivity_finding(found: dict[str, Any] | None) -> list[Finding]:
    if found is None:
        return []
    low, high = found["central_98_percent"]
    what = f"Given the covariates, the chance of Z = 1 lies between {low:.2f} and {high:.2f} for 98 % of the people"
    if min(low, 1 - high) < 0.01 < min(found["share_z1"], 1 - found["share_z1"]):
        sentence = f"{what}: for some, one arm is all but impossible, and nothing is learnt about them."
        return [Finding("positivity", "stop", sentence)]
    if min(low, 1 - high) < 0.05:
        return [Finding("positivity", "look", f"{what}: for some, one arm is rare.")]
    return [Finding("positivity", "ok", f"{what}: both arms are possible for everybody.")]


def _balance_finding(found: dict[str, Any] | None) -> list[Finding]:
    if found is None:
        return []
    size, column = found["largest"], found["largest_column"]
    what = f"the largest difference between the arms is {size:.2f} standard deviations, in '{column}'"
    if size > 0.25 or (size > 0.1 and found["p_value"] < 0.001):
        sentence = (
            f"The arms differ in their covariates ({what}): if assignment was meant to be random, find out why; "
            "if not, the bounds rely on the covariates to explain it."
        )
        return [Finding("balance", "look", sentence)]
    return [Finding("balance", "ok", f"The arms are alike in their covariates: {what}.")]


def _sample_finding(sample: dict[str, Any], stage: dict[str, Any]) -> Finding:
    name, n, d = "sample", sample["n"], sample["d"]
    smaller = min(stage["n_z0"], stage["n_z1"])
    if n < TRAINED_PEOPLE[0] or smaller < 10:
        sentence = f"{n:,} people, {smaller:,} in the smaller arm: so few that the prior speaks louder than the data."
        return Finding(name, "look", sentence)
    if n > TRAINED_PEOPLE[1]:
        sentence = f"{n:,} people are beyond the network's training range; they count as {TRAINED_PEOPLE[1]:,}."
        return Finding(name, "look", sentence)
    if d > TRAINED_COVARIATES:
        sentence = f"{d} covariates: the network reads the {TRAINED_COVARIATES} that go most with Z, T and Y."
        return Finding(name, "look", sentence)
    rows = sample["n_rows"] + sample["n_dropped"]
    if sample["n_dropped"] > 0.1 * rows:
        sentence = (
            f"{sample['n_dropped']:,} of {rows:,} rows were dropped: are those with missing values like the others?"
        )
        return Finding(name, "look", sentence)
    covariates = f"{d} covariate{'' if d == 1 else 's'}" if d else "no covariates"
    return Finding(name, "ok", f"{n:,} people and {covariates}: within the network's training range.")


def _outcome_finding(found: dict[str, Any], binary: bool) -> Finding:
    low, high = found["range"]
    if binary:
        if found["mean"] in (0.0, 1.0):
            return Finding("outcome", "look", f"The outcome is {found['mean']:.0f} for everybody.")
        return Finding("outcome", "ok", f"The outcome is binary, with {_percent(found['mean'])} ones.")
    central_low, central_high = found["central_98_percent"]
    share = (central_high - central_low) / (high - low)
    what = (
        f"98 % of the outcomes lie between {central_low:g} and {central_high:g}, "
        f"the possible range is {low:g} to {high:g}"
    )
    if share < 0.5:
        sentence = (
            f"{what}: bounds grow with the range, so that a few extreme values make most of the width. "
            "If less is possible, give outcome_range, or bound the effect on a capped outcome."
        )
        return Finding("outcome", "look", sentence)
    return Finding("outcome", "ok", f"{what}.")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
