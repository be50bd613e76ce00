"""Scores of the bounds: exact expectations over (Z, T, Y) given x, so that nothing is left to chance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from ivicl.identification.balke_pearl import sharp_ends, terms
from ivicl.methods.baselines.parts.scores import SOFTMAX_GAP, cell_scores, default_sharpness, end_scores
from ivicl.methods.baselines.parts.simulate import CROSSING, IRRELEVANT, MARGIN, SWITCH

LAWS = [MARGIN, SWITCH, CROSSING, IRRELEVANT]
FORMS = [("margin", None), ("logsumexp", 30.0), ("softmax", 30.0)]


def grid(law, m=40):
    x = law.grid()[0]
    x = x[:: len(x) // m]
    return x, law.p(x), law.e(x)


def expected(score, p, e):
    """E[score(z, t, y) | x] under the true p and e, for each row: the eight cells written out."""
    total = 0.0
    for z in (0, 1):
        for t in (0, 1):
            for y in (0, 1):
                probability = np.where(z == 1, e, 1 - e) * p[:, z, t, y]
                value = score(*(np.full(len(e), v) for v in (z, t, y)))
                total = total + probability.reshape(-1, *[1] * (value.ndim - 1)) * value
    return total


def mean_ends(p, e, p_hat, e_hat, form, sharpness):
    """Mean over the grid of the expected scores of both ends when p_hat and e_hat are plugged in."""

    def score(z, t, y):
        ends = end_scores(p_hat, e_hat, z, t, y, form, sharpness)
        return np.column_stack([ends.lower, ends.upper])

    return expected(score, p, e).mean(0)


def tilted(p, delta):
    direction = np.random.default_rng(0).normal(size=p.shape)
    q = p * np.exp(delta * direction)
    return q / q.sum((2, 3), keepdims=True)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_cell_scores_are_unbiased_if_either_nuisance_is_right(law):
    _, p, e = grid(law)
    wrong_p, wrong_e = tilted(p, 0.5), np.clip(e + 0.15, 0, 0.95)
    for p_hat, e_hat in ((p, e), (wrong_p, e), (p, wrong_e)):
        mean = expected(lambda z, t, y, a=p_hat, b=e_hat: cell_scores(a, b, z, t, y), p, e)
        np.testing.assert_allclose(mean, p, atol=1e-12)
    both_wrong = expected(lambda z, t, y: cell_scores(wrong_p, wrong_e, z, t, y), p, e)
    assert np.abs(both_wrong - p).max() > 1e-3


def test_cell_scores_sum_to_one_in_each_arm():
    _, p, e = grid(SWITCH)
    rng = np.random.default_rng(1)
    z, t, y = rng.integers(0, 2, (3, len(e)))
    np.testing.assert_allclose(cell_scores(p, e, z, t, y).sum((2, 3)), 1.0, atol=1e-12)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_truth_plugged_in_gives_the_true_bound_and_the_smoothed_bound(law):
    _, p, e = grid(law)
    lower, upper = terms(p)
    s = 30.0
    truth = {
        "margin": [lower.max(1), upper.min(1)],
        "logsumexp": [logsumexp(s * lower, axis=1) / s, -logsumexp(-s * upper, axis=1) / s],
        "softmax": [(softmax(s * v, axis=1) * v).sum(1) * sign for v, sign in ((lower, 1), (-upper, -1))],
    }
    for form, sharpness in FORMS:
        found = mean_ends(p, e, p, e, form, sharpness)
        np.testing.assert_allclose(found, [end.mean() for end in truth[form]], atol=1e-12)


def test_smoothed_maxima_stay_within_their_gaps():
    rng = np.random.default_rng(2)
    values = rng.uniform(-1, 1, (5000, 8)) * rng.choice([0.01, 0.1, 1.0], (5000, 1))
    nothing = values  # psi = values: the score is the smoothed maximum itself
    from ivicl.methods.baselines.parts.scores import logsumexp_score, softmax_score

    for s in (3.0, 30.0):
        over = logsumexp_score(values, nothing, s) - values.max(1)
        assert over.min() >= -1e-12 and over.max() <= np.log(8) / s + 1e-12
        short = values.max(1) - softmax_score(values, nothing, s)
        assert short.min() >= -1e-12 and short.max() <= SOFTMAX_GAP / s
    worst = np.array([[0.0] * 7 + [1.97314 / 30.0]])
    assert worst.max() - softmax_score(worst, worst, 30.0)[0] == pytest.approx(SOFTMAX_GAP / 30.0, rel=1e-3)


@pytest.mark.parametrize(("form", "sharpness"), FORMS)
def test_one_step_removes_the_first_order_bias_of_the_plug_in(form, sharpness):
    """Errors of size h in p and in e: the plug-in is off by O(h), the score by O(h^2). Halving h tells them apart."""
    _, p, e = grid(SWITCH)
    truth = mean_ends(p, e, p, e, form, sharpness)
    score_bias, plugin_bias = [], []
    for h in (0.04, 0.02):
        p_hat, e_hat = tilted(p, h), e + h * (e - 0.3)
        score_bias.append(mean_ends(p, e, p_hat, e_hat, form, sharpness) - truth)
        plugin_bias.append(np.mean(sharp_ends(p_hat), axis=1) - np.mean(sharp_ends(p), axis=1))
    np.testing.assert_allclose(plugin_bias[0] / plugin_bias[1], 2.0, rtol=0.15)
    np.testing.assert_allclose(score_bias[0] / score_bias[1], 4.0, rtol=0.35)
    assert np.abs(score_bias[0]).max() < np.abs(plugin_bias[0]).max() / 3


def test_margin_form_has_no_bias_at_all_when_the_propensity_is_known():
    """p perturbed at rate n^(-1/4) for n = 2,000, e known, as in a trial; the largest term stays the largest."""
    _, p, e = grid(MARGIN)
    p_hat = tilted(p, 0.5 * 2000**-0.25)
    assert (terms(p_hat)[0].argmax(1) == terms(p)[0].argmax(1)).all()
    found = mean_ends(p, e, p_hat, e, "margin", None)
    np.testing.assert_allclose(found, np.mean(sharp_ends(p), axis=1), atol=1e-12)
    assert abs(np.mean(sharp_ends(p_hat)[0]) - np.mean(sharp_ends(p)[0])) > 0.002


@pytest.mark.parametrize(("form", "sharpness"), FORMS)
def test_recoding_the_outcome_mirrors_the_scores(form, sharpness):
    _, p, e = grid(CROSSING)
    rng = np.random.default_rng(3)
    z, t, y = rng.integers(0, 2, (3, len(e)))
    here = end_scores(p, e, z, t, y, form, sharpness)
    there = end_scores(p[..., ::-1], e, z, t, 1 - y, form, sharpness)
    np.testing.assert_allclose(there.lower, -here.upper, atol=1e-12)
    np.testing.assert_allclose(there.upper, -here.lower, atol=1e-12)


def test_default_sharpness():
    assert default_sharpness(2000) == pytest.approx(2000**0.25 * np.log(2000))
