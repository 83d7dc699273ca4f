"""What a split of a leaf gains, compiled."""

from __future__ import annotations

from banditboost._compiled.jit import strict
from banditboost._core.checks import Array

CLEARLY = 1 + 1e-9
"""A split must gain so many times more than one found before it, so that rounding decides nothing where two are alike."""


@strict
def gain_of(left: Array, total: Array, ridge: float, before: float) -> float:
    """Return by how much less a leaf would err after a split.

    Parameters
    ----------
    left
        The number of rows on the left, and the sums of their residuals.
    total
        The same of all rows of the leaf, after one number more.
    ridge
        The value of a leaf is shrunk as if it had so many more rows.
    before
        What the leaf explains as it is.
    """
    gain = -before
    for j in range(1, len(left)):
        right = total[1 + j] - left[j]
        gain += left[j] ** 2 / (left[0] + ridge) + right * right / (total[1] - left[0] + ridge)
    return gain
