"""A set around another set: what a wrapper passes on unchanged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from banditboost._core.checks import Array
from banditboost.spaces.base import Space


@dataclass(frozen=True)
class SpaceWrapper(Space):
    """A set that has the shape, the tangent space and the centre of the `space` it wraps."""

    space: Space

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):
            raise ValueError(f"space must be a Space, got {type(self.space).__name__}.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a decision of the wrapped set."""
        return self.space.shape

    @property
    def rank(self) -> int:
        """Dimension of the wrapped set's affine hull."""
        return self.space.rank

    @property
    def inner_centre(self) -> Array:
        """Centre of the wrapped set."""
        return self.space.inner_centre

    def tangent(self, vectors: Array) -> Array:
        """Return the parts of vectors that lie in the wrapped set's tangent space."""
        return self.space.tangent(vectors)

    def directions(self, rng: np.random.Generator, n: int) -> Array:
        """Draw n unit vectors as the wrapped set draws them."""
        return self.space.directions(rng, n)
