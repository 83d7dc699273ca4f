"""SLOPE: which bandwidth to trust, found from intervals that need no bound on the bias.

Su, Srinath, Krishnamurthy (2020), "Adaptive Estimator Selection for Off-Policy Evaluation", Algorithm 1. Estimates are ordered from
the least biased, and noisiest, to the most biased. Around each stands an interval of twice its statistical half-width: it holds
the truth as long as the bias is no larger than that half-width. The last one before which all intervals have a point in common is
chosen; its error is at most a constant times that of the best trade-off between bias and noise (Theorem 3).

Half-widths are half a standard error here, and the estimate in use is one step less biased than the one chosen, since there a bias
is about to show: both were settled on logs of other seeds than those that the pages report.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def slope(values: ArrayLike, half_widths: ArrayLike) -> int:
    """Return the index that Algorithm 1 chooses among estimates in the order of their bias, the least biased first.

    Half-widths that grow against the order are taken as if they did not: each counts as at least the largest after it.

    Examples
    --------
    The third estimate contradicts the first two:

    >>> slope([1.0, 1.2, 2.0, 1.1], [0.4, 0.2, 0.1, 0.05])
    1
    """
    found, half = np.asarray(values, dtype=np.float64), np.asarray(half_widths, dtype=np.float64)
    half = np.maximum.accumulate(half[::-1])[::-1]
    low, high, chosen = -np.inf, np.inf, 0
    for i in range(len(found)):
        low, high = max(low, found[i] - 2.0 * half[i]), min(high, found[i] + 2.0 * half[i])
        if low > high:
            break
        chosen = i
    return chosen


def grid(least: float, most: float, ratio: float) -> Sequence[float]:
    """Return bandwidths in geometric steps, ascending, as SLOPE's theory wants them.

    Examples
    --------
    >>> grid(0.25, 2.0, 2.0)
    [0.25, 0.5, 1.0, 2.0]
    """
    steps = int(np.floor(np.log(most / least) / np.log(ratio) + 1e-9))
    return [least * ratio**i for i in range(steps + 1)]
