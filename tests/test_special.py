"""Our special functions against scipy's."""

import numpy as np
import pytest
from scipy import special, stats

from ivicl._shared.special import chi_squared_tail, expit, f_tail, symmetric_beta_quantiles


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 47, 200, 5000])
def test_tail_of_chi_squared(degrees: int) -> None:
    for x in (0.0, 0.3, 1.0, degrees - 0.5, float(degrees), 1.3 * degrees + 5, 40.0 * degrees):
        assert chi_squared_tail(x, degrees) == pytest.approx(special.chdtrc(degrees, x), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("first", [1, 2, 7, 60])
@pytest.mark.parametrize("second", [1, 3, 40, 5000, 200_000])
def test_tail_of_f(first: int, second: int) -> None:
    for x in (-1.0, 0.0, 1e-9, 0.2, 0.99, 1.0, 1.7, 5.0, 40.0, np.inf):
        assert f_tail(x, first, second) == pytest.approx(stats.f.sf(x, first, second), rel=1e-8, abs=1e-300)
    assert np.isnan(f_tail(np.nan, first, second))


def test_expit_neither_overflows_nor_drifts() -> None:
    x = np.array([-1e308, -800.0, -30.0, -1.0, 0.0, 2.0, 30.0, 1e308])
    with np.errstate(all="raise", under="ignore"):
        assert expit(x) == pytest.approx(special.expit(x), abs=1e-15)


@pytest.mark.parametrize("gamma", [0.05, 0.1, 0.2, 0.37, 0.5, 1.0, 1.5, 3.0, 5.0, 60.0])
def test_quantiles_of_a_symmetric_beta(gamma: float) -> None:
    levels = np.concatenate([np.geomspace(1e-12, 0.1, 200), np.linspace(0.1, 0.5, 200)])
    found = symmetric_beta_quantiles(gamma, levels)
    np.testing.assert_allclose(found, special.betaincinv(gamma, gamma, levels), rtol=1e-10)
    assert (np.diff(found) >= 0).all()
