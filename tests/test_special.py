"""Our two special functions against scipy's."""

import numpy as np
import pytest
from scipy import special

from ivicl._shared.special import chi_squared_tail, expit


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 47, 200, 5000])
def test_tail_of_chi_squared(degrees: int) -> None:
    for x in (0.0, 0.3, 1.0, degrees - 0.5, float(degrees), 1.3 * degrees + 5, 40.0 * degrees):
        assert chi_squared_tail(x, degrees) == pytest.approx(special.chdtrc(degrees, x), rel=1e-9, abs=1e-300)


def test_expit_neither_overflows_nor_drifts() -> None:
    x = np.array([-1e308, -800.0, -30.0, -1.0, 0.0, 2.0, 30.0, 1e308])
    with np.errstate(all="raise", under="ignore"):
        assert expit(x) == pytest.approx(special.expit(x), abs=1e-15)
