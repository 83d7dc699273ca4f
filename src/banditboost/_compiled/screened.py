"""Which features take a place, and what a learner with few places sees, compiled: what `banditboost.learners.Screened` explains."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.jit import loop
from banditboost._core.checks import Array

Numbers = NDArray[np.int64]


@loop
def screen(
    data: Array,
    indices: NDArray[np.int32],
    ends: NDArray[np.int32],
    rows: NDArray[np.intp],
    seen: NDArray[np.int32],
    chosen: Numbers,
    taken: Numbers,
    proven: int,
    most: int,
    learns: bool,
    made: Array,
) -> None:
    """Write the features that have places to `made`, which is zero, shape (rounds, places); count each round after it is shown.

    Features that were there often enough take a place as long as fewer than `most` are taken.
    """
    for t in range(len(rows)):
        for n in range(ends[rows[t]], ends[rows[t] + 1]):
            k = indices[n]
            if seen[k] < 0:
                made[t, -1 - seen[k]] = data[n]
            elif learns and data[n] != 0.0 and taken[0] < most:
                seen[k] += 1
                if seen[k] >= proven:
                    chosen[taken[0]] = k
                    seen[k] = -1 - taken[0]
                    taken[0] += 1
