"""Outcomes lost in one arm only, never at random: the interval holds with "bounds", and "drop" warns."""

from __future__ import annotations

import pytest

from ivicl.benchmarks.lost_outcomes import SCENARIOS, Scenario, main, simulate


def test_a_small_simulation_says_what_it_counted(capsys) -> None:
    verdict = simulate(Scenario("trial", 2_000, 0.2), "balke-pearl", 40, seed=1)
    # Bounds without allowance for sampling error: one end in two is missed, but less often of the smaller set.
    assert 0.9 > verdict.free_holds_set > 2 * verdict.free_holds_free_set
    assert verdict.dropped_holds_set < 0.2 and verdict.warned == 1.0
    main(["--methods", "manski", "--data-sets", "2"])
    out = capsys.readouterr().out
    assert out.count("\n") == len(SCENARIOS) + 2 and "drop has a finding" in out


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_the_network_holds_the_set_and_dropping_is_found(scenario: Scenario) -> None:
    verdict = simulate(scenario, "ivicl", 200, seed=0)
    assert verdict.free_holds_set >= 0.95
    assert verdict.free_holds_free_set >= 0.9
    assert verdict.warned >= 0.95
