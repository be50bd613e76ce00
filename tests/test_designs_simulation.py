"""The simulations of `ivicl.benchmarks.designs`: truths, plumbing, and on request the whole."""

from __future__ import annotations

import numpy as np
import pytest

from ivicl.benchmarks.designs import CLUSTERS, SURVEYS, Clusters, Survey, main, run, simulate
from ivicl.methods.classical.balke_pearl import outcome_ends


@pytest.mark.parametrize(
    "scenario", [Clusters(4_000, 50, True, 0.1), Survey(400_000, 1.0, False)], ids=lambda s: s.name
)
def test_the_true_ends_are_those_of_a_very_large_sample(scenario):
    lower, upper, _ = outcome_ends(scenario.draw(np.random.default_rng(0)).population())
    assert (lower, upper) == pytest.approx(scenario.truth, abs=0.01)


def test_a_confidence_interval_that_knows_of_clusters_holds_the_effect():
    scenario = Clusters(40, 50, True, 0.1)
    found = simulate(scenario, "levis", 60, seed=1)
    assert found.holds >= 0.88 and found.holds_without <= 0.8 and found.wider > 1.05
    assert np.abs(np.array(found.bias) / found.bias_se).max() < 4
    # Without a prior nothing but the cross-fitting stands between it and the plug-in of the same data.
    assert np.abs(np.array(found.added) / found.spread).max() < 0.35
    assert max(found.added_se) < 0.5 * min(found.bias_se), "pairing takes chance away"


def test_the_command_prints_a_line_a_scenario(capsys):
    main(["--methods", "levis", "--data-sets", "2"])
    printed = capsys.readouterr().out
    assert printed.count("| levis |") == len(CLUSTERS) + len(SURVEYS)
    assert "20 x 100, within, correlation 0.02" in printed


@pytest.mark.slow
def test_the_network_holds_the_set_in_clusters_and_surveys():
    """What it adds to the plug-in ends of the same data is its prior: small beside their noise, gone with many."""
    surveys = {}
    for each in run(data_sets=200):
        few = isinstance(each.scenario, Clusters) and each.scenario.clusters == 20
        assert each.holds >= (0.90 if few else 0.92), each
        if isinstance(each.scenario, Clusters) and each.scenario.icc == 0:
            assert each.wider <= 1.10, each
        added = np.abs(np.array(each.added) / each.spread).max()
        assert added < (1 / 3 if isinstance(each.scenario, Clusters) else 0.1), each
        if isinstance(each.scenario, Survey) and not each.scenario.adjusted:
            surveys[each.scenario.people] = np.abs(each.added).max()
    assert surveys[32_000] < surveys[8_000] < surveys[2_000] and surveys[32_000] < 1e-3
