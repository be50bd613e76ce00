"""Numbers rounded for a reader."""

from __future__ import annotations

import math


def rounded(value: float, width: float) -> str:
    """The value, rounded to the digits that matter: as many decimals as give `width` three significant figures."""
    if not 0 < width < math.inf:
        return f"{value:.3g}"
    decimals = 2 - math.floor(math.log10(width))
    if not -6 <= decimals <= 8:
        return f"{value:.3g}"
    text = f"{round(value, decimals):,.{max(decimals, 0)}f}"
    return text.replace("-0", "0", 1) if float(text.replace(",", "")) == 0 else text


def shown_p(p: float) -> str:
    """Two significant digits; and never 0, which no p-value is.

    Examples:
        >>> shown_p(0.0321), shown_p(1e-9)
        ('p = 0.032', 'p < 0.0001')
    """
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def rounded_interval(lower: float, upper: float) -> str:
    return f"[{rounded(lower, upper - lower)}, {rounded(upper, upper - lower)}]"
