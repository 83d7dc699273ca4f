"""Products of symmetric matrices, of which one triangle is kept, with vectors: each number is read once, in one thread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.jit import loop

Single = NDArray[np.float32]


@loop
def multiply_triangle(triangle: Single, upper: bool, vector: Single, result: Single) -> None:
    """Set result to A·vector, where A is symmetric and one triangle of it, with the diagonal, is that of an array.

    What the other triangle of the array holds is not read. The array is in C order, so that rows are read as they lie.
    """
    n = len(vector)
    for i in range(n):
        result[i] = triangle[i, i] * vector[i]
    for i in range(n):
        begin, end = (i + 1, n) if upper else (0, i)
        share, here = np.float32(0.0), vector[i]
        for j in range(end - begin):  # from zero on, so that the compiler knows that no index is negative
            share += triangle[i, begin + j] * vector[begin + j]
            result[begin + j] += triangle[i, begin + j] * here
        result[i] += share
