"""What learners are shown instead of contexts, compiled, a block of rounds at a time: it depends on contexts alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.jit import inlined, loop, strict_brief
from banditboost._core.checks import Array


@loop
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


@strict_brief
def deviations(
    x: Array, count: Array, means: Array, variations: Array, sizes: Array, learns: bool, flat: float, out: Array
) -> None:
    """Write how many deviations a context lies from the means, itself counted, as `learners.Standardized` does in NumPy."""
    number = count[0] + 1.0
    for k in range(len(x)):
        away = x[k] - means[k]
        mean = means[k] + away / number
        variation = variations[k] + away * (x[k] - mean)
        spread = math.sqrt(variation / number)
        out[k] = (x[k] - mean) / spread if spread > flat * abs(mean) and spread > 0.0 else 0.0
        if learns:
            means[k], variations[k], sizes[k] = mean, variation, max(sizes[k], abs(x[k]))
    if learns:
        count[0] = number


@loop
def cosines(Z: Array, frequencies: Array, picks: NDArray[np.int64], phases: Array, begin: int, out: Array) -> None:
    """Write √2 cos(ω·z + φ) for every row of Z into out[:, :, begin:], with out of shape (T, 1 or N, p)."""
    turn = 0.5 / math.pi
    for t in range(Z.shape[0]):
        for c in range(phases.shape[0]):
            for j in range(phases.shape[1]):
                angle = phases[c, j]
                for k in range(picks.shape[2]):
                    angle += frequencies[c, j, k] * Z[t, picks[c, j, k]]
                out[t, c, begin + j] = turn * angle
            for j in range(begin, begin + phases.shape[1]):
                out[t, c, j] = cosine_of_turns(out[t, c, j])


@inlined
def cosine_of_turns(turns: float) -> float:
    """Return √2 cos(2π·turns) to 1e-13, as arithmetic that works on several numbers at once; the library's cosine does not.

    cos(2πr) = sin(2πq) with q = 1/4 - |r| for r in [-1/2, 1/2], and the series of the sine up to q^19.
    """
    r = turns - math.floor(turns + 0.5)
    x = 2.0 * math.pi * (0.25 - abs(r))
    y = x * x
    s = 1.0 - y / 342.0
    s = 1.0 - y / 272.0 * s
    s = 1.0 - y / 210.0 * s
    s = 1.0 - y / 156.0 * s
    s = 1.0 - y / 110.0 * s
    s = 1.0 - y / 72.0 * s
    s = 1.0 - y / 42.0 * s
    s = 1.0 - y / 20.0 * s
    s = 1.0 - y / 6.0 * s
    return math.sqrt(2.0) * x * s
