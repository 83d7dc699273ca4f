"""What a search for leaders needs of linear losses: their products with vectors."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array


class Products(Protocol):
    """Several matrices A_i, known by their products with vectors."""

    @property
    def unit(self) -> Array:
        """What products are to be multiplied by."""

    def apply(self, vectors: Array, which: NDArray[np.intp]) -> Array:
        """Return A_i v for one v for each of some matrices, shape (k, n)."""

    def apply_transposed(self, vectors: Array, which: NDArray[np.intp]) -> Array:
        """Return A_i' u for one u for each of some matrices."""
