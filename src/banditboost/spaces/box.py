"""A box: independent bounds on each coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from banditboost._core.checks import Array, vector
from banditboost.spaces.base import Space, above_zero, shrinkage


@dataclass(frozen=True)
class Box(Space, kind="spaces.Box"):
    """The points with `low[j] <= x[j] <= high[j]`.

    Examples
    --------
    >>> space = Box(low=(0.0, -1.0), high=(1.0, 1.0))
    >>> space.project(np.array([2.0, 0.5])).tolist()
    [1.0, 0.5]
    >>> space.minimize(np.array([[1.0, -1.0], [-1.0, 1.0]])).tolist()
    [[0.0, 1.0], [1.0, -1.0]]
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", vector("low", self.low))
        object.__setattr__(self, "high", vector("high", self.high))
        if len(self.low) != len(self.high):
            raise ValueError(f"low and high must be equally long, got {len(self.low)} and {len(self.high)}.")
        if not all(low < high for low, high in zip(self.low, self.high, strict=True)):
            raise ValueError(f"low must be below high in every coordinate, got {self.low} and {self.high}.")

    @classmethod
    def examples(cls) -> tuple[Box, ...]:
        """Give one box around the origin and one away from it."""
        return (cls((-1.0, -2.0, -0.5), (1.0, 0.5, 2.0)), cls((1.0, 2.0), (3.0, 3.0)))

    @property
    def shape(self) -> tuple[int, ...]:
        """One axis, with one number per coordinate."""
        return (len(self.low),)

    @property
    def inner_centre(self) -> Array:
        """The midpoint."""
        return np.asarray(0.5 * (np.array(self.low) + np.array(self.high)))

    @property
    def inner_radius(self) -> float:
        """Half the length of the shortest side."""
        return 0.5 * float(np.min(np.array(self.high) - np.array(self.low)))

    @property
    def diameter(self) -> float:
        """Length of the diagonal."""
        return float(np.linalg.norm(np.array(self.high) - np.array(self.low)))

    @property
    def farthest(self) -> float:
        """Norm of the farthest corner."""
        return float(np.linalg.norm(np.maximum(np.abs(self.low), np.abs(self.high))))

    @property
    def extents(self) -> Array:
        """The length of every side."""
        return np.asarray(np.subtract(self.high, self.low))

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The least and the greatest value of every coordinate."""
        return np.array(self.low, dtype=float), np.array(self.high, dtype=float)

    def project(self, points: Array) -> Array:
        """Clip each coordinate."""
        return np.clip(points, self.low, self.high)

    def project_kl(self, points: Array) -> Array:
        """Clip each coordinate, because KL is a sum over coordinates whose terms grow with the distance on either side."""
        if min(self.low) < 0:
            raise ValueError(f"low must not be negative for a KL projection, got {min(self.low):g}.")
        return np.clip(above_zero(points), self.low, self.high)

    def minimize(self, gradients: Array) -> Array:
        """Return the corner that the signs of the gradient choose."""
        return np.where(np.asarray(gradients) > 0, self.low, self.high)

    def contains(self, points: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Say for each point whether every coordinate is within its bounds, up to the tolerance."""
        points = np.asarray(points)
        low, high = np.array(self.low) - tolerance, np.array(self.high) + tolerance
        return np.asarray(((points >= low) & (points <= high)).all(axis=-1))

    def shrink(self, xi: float) -> Box:
        """Return the box about the same midpoint whose sides are (1-ξ) times as long."""
        half = (1 - shrinkage(xi)) * 0.5 * (np.array(self.high) - np.array(self.low))
        return Box(tuple((self.inner_centre - half).tolist()), tuple((self.inner_centre + half).tolist()))

    def compiled_form(self) -> Any:
        """Return the form in `banditboost._compiled.spaces`."""
        from banditboost._compiled import spaces

        return spaces.Box(np.array(self.low), np.array(self.high))
