"""What learners are shown instead of contexts, compiled, a block of rounds at a time: it depends on contexts alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from banditboost.kernels.jit import uncounted
from banditboost.require import Array


@uncounted
def standardize(
    X: Array, count: Array, means: Array, variations: Array, sizes: Array, largest: bool, squash: bool, flat: float
) -> None:
    """Replace every row by what `learners.Standardized` makes of it; the numbers that describe the features are learned."""
    for t in range(X.shape[0]):
        count[0] += 1.0
        for k in range(X.shape[1]):
            x = X[t, k]
            away = x - means[k]
            means[k] += away / count[0]
            variations[k] += away * (x - means[k])
            sizes[k] = max(sizes[k], abs(x))
            spread = sizes[k]
            if not largest:
                x -= means[k]
                spread = math.sqrt(variations[k] / count[0])
                if spread <= flat * abs(means[k]):
                    spread = 0.0
            z = x / spread if spread > 0.0 else 0.0
            X[t, k] = math.copysign(math.log1p(abs(z)), z) if squash and z != 0.0 else z


def cosines(Z: Array, frequencies: Array, picks: NDArray[np.int64], phases: Array, out: Array) -> None:
    """Write √2 cos(ω·z + φ) into out, shape (T, 1 or N, features), for every row of Z."""
    project(Z, frequencies, picks, phases, out)
    np.cos(out, out=out)
    out *= math.sqrt(2.0)


@uncounted
def project(Z: Array, frequencies: Array, picks: NDArray[np.int64], phases: Array, out: Array) -> None:
    """Write ω·z + φ into out."""
    for t in range(Z.shape[0]):
        for c in range(phases.shape[0]):
            for j in range(phases.shape[1]):
                angle = phases[c, j]
                for k in range(picks.shape[2]):
                    angle += frequencies[c, j, k] * Z[t, picks[c, j, k]]
                out[t, c, j] = angle
