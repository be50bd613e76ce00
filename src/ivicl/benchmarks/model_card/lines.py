"""The lines of the model card, one function each. All take a `Model` (the exported graph, which is what users run)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ivicl.benchmarks.model_card import reference
from ivicl.benchmarks.model_card.places import histogram_of, uniform_p
from ivicl.methods.pretrained.runtime import Model
from ivicl.methods.pretrained.schema_2 import Posteriors
from ivicl.posterior import EFFECT_EDGES, BinnedPosterior, IdentifiedSet

SEED = 555_000
ALPHA = 0.01
COARSE = 128
SHAPES = [(n, d) for n in (64, 256, 1024, 2048) for d in (2, 8, 24)]


def against_exact(model: Model, which: str) -> dict[str, float]:
    """Distances to the exact posterior on no-covariate tables: quantiles, KL on 128 bins, Wasserstein."""
    truth = reference.load().part(which)
    found = model.predict_counts(truth.counts).effect
    return distances(found, truth.effect, truth.quantile_se)


def distances(found: np.ndarray, truth: np.ndarray, quantile_se: np.ndarray) -> dict[str, float]:
    """How far posteriors (B,bins) of the effect are from the true ones.

    `quantile_se` (B,Q) is the Monte Carlo error of the true ones' quantiles.
    """
    ends = np.array([_ends(p) for p in found]) - np.array([_ends(p) for p in truth])
    table_error = np.abs(ends).mean(1)
    fine, rough = _coarse(truth), _coarse(found)
    kl = (fine * (np.log(np.maximum(fine, 1e-12)) - np.log(np.maximum(rough, 1e-12)))).sum(1)
    wasserstein = np.abs(np.cumsum(found - truth, axis=1)).sum(1) * (EFFECT_EDGES[1] - EFFECT_EDGES[0])
    return {
        "tables": len(found),
        "quantile_error": float(table_error.mean()),
        "quantile_error_se": _se(table_error),
        "table_error_worst": float(table_error.max()),
        "quantile_error_worst": float(np.abs(ends).max()),
        "kl": float(kl.mean()),
        "kl_se": _se(kl),
        "wasserstein": float(wasserstein.mean()),
        "exact_noise": float(quantile_se[:, [0, -1]].mean()),
    }


def calibration(model: Model, tables: int = 4000) -> dict[str, Any]:
    """Simulation-based calibration on prior tables with covariates: is the rank of the one true effect uniform?"""
    ranks = []
    for batch, found in _prior_tables(model, tables):
        cumulated = np.concatenate([np.zeros((len(found), 1)), np.cumsum(found.effect, 1)], 1)
        ranks += [np.interp(e, EFFECT_EDGES, c) for e, c in zip(batch.effect.numpy(), cumulated, strict=True)]
    covered = np.mean([ALPHA / 2 <= r <= 1 - ALPHA / 2 for r in ranks])
    return {
        "tables": len(ranks),
        "p_value": uniform_p(np.array(ranks)),
        "histogram": histogram_of(np.array(ranks)).tolist(),
        "coverage_99": float(covered),
        "coverage_90": float(np.mean([0.05 <= r <= 0.95 for r in ranks])),
    }


def synthetic(model: Model, datasets: int = 100) -> dict[str, float]:
    """The paper's synthetic benchmark at alpha = 0.01: validity, width, and the error of the ends' posterior means.

    The interval is the package's own, from the lower end's 0.5 % quantile to the upper end's 99.5 % quantile.
    `effect_...` is for the paper's interval, between quantiles of the effect, which is only meant to hold the effect.
    """
    from ivicl.benchmarks.sets.synthetic import generate

    rows = []
    for seed in range(datasets):
        truth = generate(seed)
        found = _predict(model, truth.data)
        low, high = IdentifiedSet(found.of("lower"), found.of("upper")).interval(ALPHA)
        effect_low, effect_high = found.of("effect").interval(ALPHA)
        rows.append({
            "validity": low <= truth.lower and high >= truth.upper,
            "validity_given_x": low <= truth.lower_x and high >= truth.upper_x,
            "effect_covers_sate": effect_low <= truth.sate <= effect_high,
            "width": high - low,
            "true_width": truth.upper - truth.lower,
            "true_width_given_x": truth.upper_x - truth.lower_x,
            "effect_validity": effect_low <= truth.lower and effect_high >= truth.upper,
            "effect_width": effect_high - effect_low,
            "ends_error": np.mean([abs(found.of(end).mean - getattr(truth, end)) for end in ("lower", "upper")]),
            "ends_error_given_x": np.mean(
                [abs(found.of(end).mean - getattr(truth, f"{end}_x")) for end in ("lower", "upper")]
            ),
        })  # fmt: skip
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    return {
        "datasets": datasets,
        **means,
        "validity_se": _se(np.array([row["validity"] for row in rows], float)),
        "width_ratio": means["width"] / means["true_width"],
        "effect_width_ratio": means["effect_width"] / means["true_width"],
    }


def noise_covariates(model: Model, tables: int = 100, n: int = 2048) -> dict[str, float]:
    """No-covariate laws with eight covariates of pure noise added: the width should not change."""
    from ivicl.learn.prior import PriorConfig, generator_for, sample_rows

    batch = sample_rows(PriorConfig.default(), generator_for(SEED, 1), tables, n, 0)
    noise = np.random.default_rng(SEED).normal(size=(tables, n, 8))
    z, t, y, w = (getattr(batch, name).numpy() for name in "ztyw")
    widths = []
    for x in (np.zeros((tables, n, 0)), noise):
        parts = [model.predict(x[i : i + 8], z[i : i + 8], t[i : i + 8], y[i : i + 8], w[i : i + 8]).effect
                 for i in range(0, tables, 8)]  # fmt: skip
        ends = np.array([_ends(p) for p in np.concatenate(parts)])
        widths.append(ends[:, 1] - ends[:, 0])
    ratio = widths[1].mean() / widths[0].mean()
    return {"tables": tables, "width_without": widths[0].mean(), "width_with": widths[1].mean(), "ratio": ratio}


def validation_loss(model: Model, tables: int = 64) -> dict[str, Any]:
    """Loss in nats on fixed prior tables, by N and D: the mean over the 16 orbit labels, and for the one true label."""
    from ivicl.learn.prior import PriorConfig, generator_for, sample_rows

    rows = []
    for k, (n, d) in enumerate(SHAPES):
        batch = sample_rows(PriorConfig.default(), generator_for(SEED, 2, k), tables, n, d)
        logs = np.log(np.maximum(_predict_batch(model, batch).effect, 1e-30))
        orbit = -np.take_along_axis(logs, _bins(batch.orbit.numpy()), 1).mean()
        one = -np.take_along_axis(logs, _bins(batch.effect.numpy()[:, None]), 1).mean()
        rows.append({"n": n, "d": d, "orbit": float(orbit), "one_label": float(one)})
    return {"tables": tables, "mean": float(np.mean([r["orbit"] for r in rows])), "by_shape": rows}


def _prior_tables(model: Model, tables: int) -> Iterator[tuple[Any, Posteriors]]:
    from ivicl.learn.prior import PriorConfig, generator_for, sample_rows

    prior, done, k = PriorConfig.default(), 0, 0
    while done < tables:
        n, d = SHAPES[k % len(SHAPES)]
        batch = sample_rows(prior, generator_for(SEED, 3, k), min(32, tables - done), n, d)
        yield batch, _predict_batch(model, batch)
        done, k = done + len(batch.effect), k + 1


def _predict_batch(model: Model, batch: Any) -> Posteriors:
    x, z, t, y, w = (getattr(batch, name).numpy() for name in ("x", "z", "t", "y", "w"))
    step = max(1, 16_384 // x.shape[1])
    found = [model.predict(*(a[i : i + step] for a in (x, z, t, y, w))) for i in range(0, len(x), step)]
    together: Posteriors = type(found[0]).joined(found)
    return together


def _predict(model: Model, data: Any) -> Posteriors:
    found: Posteriors = model.predict(*(a[None] for a in (data.x, data.z, data.t, data.y, data.w)))
    return found


def _ends(probabilities: np.ndarray) -> tuple[float, float]:
    return BinnedPosterior(EFFECT_EDGES, probabilities).interval(ALPHA)


def _coarse(probabilities: np.ndarray) -> np.ndarray:
    sums: np.ndarray = probabilities.reshape(len(probabilities), COARSE, -1).sum(-1)
    return sums


def _bins(values: np.ndarray) -> np.ndarray:
    bins: np.ndarray = np.clip(((values + 1) * 512).astype(int), 0, 1023)
    return bins


def _se(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))
