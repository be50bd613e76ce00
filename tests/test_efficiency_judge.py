"""The judge of efficiency: its arithmetic on answers made of the truth, its plan, its text, its place in the card."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from ivicl.benchmarks.efficiency.adversarial import ADVERSARIAL
from ivicl.benchmarks.efficiency.best import efficient_se
from ivicl.benchmarks.efficiency.families import FAMILIES
from ivicl.benchmarks.efficiency.judge import FULL, QUICK, Plan, cases, full_run_minutes, judge
from ivicl.benchmarks.efficiency.predictors import Answer, of_method, of_model
from ivicl.benchmarks.efficiency.summary import as_text, summarise
from ivicl.benchmarks.efficiency.verdicts import LEVELS, MARGIN, Case, verdict
from ivicl.benchmarks.model_card import card
from ivicl.errors import InputError
from stand_in import StandIn


def knows(shift: float = 0.0, wider: float = 1.0):
    """An answer made of the truth: the efficient interval, its margins times `wider`, moved by `shift` errors."""

    def answer(case: Case, seed: int) -> dict[str, Answer]:
        law = case.dataset(seed).law
        found = {}
        for name in ("ATE", "LATE"):
            if name in law.truth:
                (lower, upper), errors = law.truth[name], efficient_se(law.seen, case.n)[name]
                low, high = lower + shift * errors[0], upper + shift * errors[1]
                z = np.array([0.674, 1.282, 1.645, 1.960, MARGIN]) * wider
                found[name] = Answer(low - z * errors[0], high + z * errors[1], low, high)
        return found

    return answer


def judged(answer, seed: int = 11, n: int = 200):
    made = cases(FAMILIES[2:4], {n: 2})
    return [verdict(case, seed, lambda data, alphas, case=case: answer(case, seed)) for case in made]


def test_the_efficient_interval_has_efficiency_one():
    verdicts = judged(knows())
    found = summarise(verdicts, [])
    assert found["datasets"] == 8 and found["coverage"] == [1.0] * 5
    for version in ("binary", "amounts"):
        assert found[f"{version}_efficiency"] == pytest.approx(1.0)
        assert found[f"{version}_efficiency_worst"] == pytest.approx(1.0)
        assert found[f"{version}_efficiency_large"] is None
    assert all(cell["bias"] == pytest.approx([0, 0]) for cell in found["cells"])
    assert found["estimands"]["LATE"]["datasets"] == 4, "one of the two families has defiers"
    wide = summarise(judged(knows(wider=1.5), n=17_000), [])
    assert wide["binary_efficiency"] == pytest.approx(1.5) and wide["binary_efficiency_large"] == pytest.approx(1.5)
    assert wide["binary_efficiency_worst"] is None


def test_a_moved_interval_is_biased_and_misses():
    """By 1.7 errors upward: the lower end falls out up to 90 %, and margins of both ends cancel."""
    found = summarise(judged(knows(shift=1.7)), [])
    assert found["coverage"] == [0, 0, 0, 1, 1]
    assert found["coverage_shortfall"] == pytest.approx(0.9)
    assert found["family_coverage_95"] == 1 and found["family_coverage_99"] == 1
    assert all(cell["bias"] == pytest.approx([1.7, 1.7]) for cell in found["cells"])
    far = summarise(judged(knows(shift=-3.0)), [])
    assert far["coverage"] == [0] * 5 and far["family_coverage_99"] == 0, "the upper end counts too"


def test_families_are_judged_apart_and_the_worst_is_named():
    verdicts = judged(knows())
    verdicts += [replace(each, family="wide", margins=(3 * each.margins[0], 3 * each.margins[1]),
                         held={"ATE": [True] * 3 + [False] * 2}) for each in verdicts]  # fmt: skip
    found = summarise(verdicts, verdicts[:2])
    assert found["binary_efficiency_worst"] == pytest.approx(3.0)
    assert 1.5 < found["binary_efficiency"] < 3.0
    assert (found["family_coverage_95"], found["family_coverage_99"]) == (0, 0)
    assert found["coverage"] == [1, 1, 1, 0.5, 0.5]
    assert found["coverage_se"][3] == pytest.approx(0.5 / np.sqrt(16))
    assert len(found["adversarial"]) == 1 and found["datasets"] == 16


def test_the_plan_of_the_judge():
    assert dict(FULL.sizes) == {300: 100, 1_000: 100, 4_000: 40, 16_000: 20, 64_000: 10}
    assert FULL.seed != QUICK.seed
    case = cases(FAMILIES, {300: 1})[0]
    first, again, quick = (case.dataset(seed) for seed in (FULL.seed, FULL.seed, QUICK.seed))
    assert np.array_equal(first.x, again.x) and np.array_equal(first.y, again.y)
    assert not np.isin(quick.x, first.x).any()
    assert len(cases(FAMILIES, FULL.sizes)) == len(FAMILIES) * 2 * 270
    other = replace(case, number=1).dataset(FULL.seed)
    assert not np.isin(other.x, first.x).any()


def test_the_judge_runs_any_predictor_and_says_how_long_the_whole_takes():
    plan = Plan({40: 2}, {40: 1}, 3)
    asked = []

    def predict(data, alphas):
        asked.append((data.binary, data.outcome_range, alphas))
        return {"ATE": Answer(np.full(5, -1.0), np.full(5, 1.0), -1.0, 1.0), "ATT": Answer(*2 * [np.zeros(5)], 0, 0)}

    found = judge(predict, plan, workers=1)
    assert len(asked) == len(FAMILIES) * 4 + 12 and found["datasets"] == len(FAMILIES) * 4
    assert {binary for binary, _, _ in asked} == {True, False} and {r for _, r, _ in asked} == {(0.0, 1.0)}
    assert asked[0][2] == pytest.approx([1 - level for level in LEVELS])
    assert found["coverage"] == [1.0] * 5 and found["estimands"]["ATT"]["coverage"][4] < 1
    assert len(found["adversarial"]) == 12
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    text = as_text(found).splitlines()
    assert len(text) == 1 + 12 + 12 + 2 + 2 + 1 and text[1].startswith("smooth, binary")
    found["families"][3] |= {"coverage": [0.5] * 3 + [0.75, 0.96], "coverage_se": [0.1] * 3 + [0.2, 0.04]}
    assert "worst family: held in 0.750 (0.200) at 95 %, 0.960 (0.040) at 99 %" in as_text(found)


def test_what_is_found_does_not_depend_on_how_many_data_sets_are_judged_at_once():
    plan, found = Plan({40: 2, 60: 1}, {40: 1}, 3), []
    for workers in (1, 3):
        once = judge(of_model(StandIn()), plan, workers=workers)
        del once["full_run_minutes"]
        for cell in once["cells"] + once["families"] + once["adversarial"]:
            del cell["seconds"]
        found.append(once)
    assert found[0] == found[1]
    assert len({cell["efficiency"] for cell in found[0]["cells"]}) == len(found[0]["cells"]), "none stands for another"


def test_the_worst_of_the_other_estimands_is_on_the_card():
    """Of those that a share is asked for: the ATU is none of them."""
    held = {"ATE": [True] * 5, "ATU": [False] * 5, "ATT": [True] * 5}
    verdicts = [replace(each, held=held) for each in judged(knows())]
    verdicts[0] = replace(verdicts[0], held=held | {"ATT": [False, False, False, True, True], "EY0": [True] * 5})
    verdicts[1] = replace(verdicts[1], held=held | {"EY0": [False] * 5})
    found = summarise(verdicts, [])
    assert found["estimands_90"] == 0.5 and found["estimands_99"] == 0.5
    assert found["estimands"]["ATT"]["coverage"][2] == 7 / 8


def test_time_of_the_whole_from_the_nearest_size():
    verdicts = [replace(each, seconds=0.6) for each in judged(knows(), n=300)]
    people = sum(n * sets for n, sets in FULL.sizes.items()) * 6 + sum(n * s for n, s in FULL.adversarial.items()) * 6
    assert full_run_minutes(verdicts) == pytest.approx(2 * people / 300 * 0.6 / 60)


def test_predictors_of_a_model_and_of_a_method():
    binary, amounts = (case.dataset(1).data for case in cases(FAMILIES[3:4], {200: 1}))
    assert binary.binary and not amounts.binary
    found = of_model(StandIn())(amounts, [0.5, 0.01])["ATE"]
    assert found.lower[1] < found.lower[0] < found.upper[0] < found.upper[1]
    assert found.lower[1] < found.lower_mean < found.upper_mean < found.upper[1]
    pytest.importorskip("sklearn")
    levis = of_method("levis")(binary, [0.05, 0.01])["ATE"]
    margin = levis.lower_mean - levis.lower
    assert margin[1] / margin[0] == pytest.approx(2.5758 / 1.95996, rel=1e-4)
    with pytest.raises(InputError, match="posterior or standard errors"):
        of_method("balke-pearl")(binary, [0.05])


def test_the_card_runs_the_long_parts_only_if_named(monkeypatch):
    monkeypatch.setattr(card, "PARTS", {"exact": lambda model: {}})
    monkeypatch.setattr(card, "CARD", [line for line in card.CARD if line.part == "efficiency"])
    monkeypatch.setattr(card, "FULL", Plan({40: 1, 20_000: 1}, {40: 1}, 1))
    monkeypatch.setattr(card, "of_model", lambda model: lambda data, alphas: {
        name: Answer(np.full(5, -1.0), np.full(5, 1.0), -1.0, 1.0) for name in ("ATE", "LATE")})  # fmt: skip
    assert list(card.evaluate(StandIn())["parts"]) == ["exact"]
    found = card.evaluate(StandIn(), ["efficiency"])
    assert [entry["line"] for entry in found["card"]] == [line.name for line in card.CARD]
    assert all(np.isfinite(entry["value"]) for entry in found["card"])
    assert "smooth, binary" in card.as_text(found)


@pytest.mark.slow
@pytest.mark.parametrize("family", ADVERSARIAL, ids=lambda family: family.name)
@pytest.mark.parametrize("amounts", [False, True])
def test_the_shipped_network_is_deceived_by_the_adversarial_families(family, amounts):
    from ivicl.methods.pretrained.runtime import Model

    predict, held = of_model(Model.shipped()), []
    for k in range(12):
        case = Case(family, "amounts" if amounts else "binary", 1000, k)
        held.append(verdict(case, QUICK.seed, predict).held["ATE"][-1])
    assert np.mean(held) < 0.9
