"""A Euclidean ball."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from banditboost._core.checks import Array, count, positive, vector
from banditboost.spaces.base import Space, norms, shrinkage


@dataclass(frozen=True)
class Ball(Space, kind="spaces.Ball"):
    """The points within `radius` of `centre` (the origin when not given).

    Examples
    --------
    >>> space = Ball(3, radius=2.0)
    >>> space.project(np.array([0.0, 6.0, 8.0])).round(6).tolist()
    [0.0, 1.2, 1.6]
    >>> space.minimize(np.array([0.0, 3.0, 4.0])).round(6).tolist()
    [0.0, -1.2, -1.6]
    """

    dimension: int = 2
    radius: float = 1.0
    centre: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "dimension", count("dimension", self.dimension))
        object.__setattr__(self, "radius", positive("radius", self.radius))
        if self.centre is not None:
            centre = vector("centre", self.centre)
            if len(centre) != self.dimension:
                raise ValueError(f"centre must have {self.dimension} coordinates, got {len(centre)}.")
            object.__setattr__(self, "centre", centre)

    @classmethod
    def examples(cls) -> tuple[Ball, ...]:
        """Give a ball around the origin, one away from it, and one on a line."""
        return (cls(3, 1.5), cls(2, 0.5, (2.0, 1.0)), cls(1, 2.0))

    @property
    def shape(self) -> tuple[int, ...]:
        """One axis, with one number per coordinate."""
        return (self.dimension,)

    @property
    def inner_centre(self) -> Array:
        """The centre."""
        return np.zeros(self.dimension) if self.centre is None else np.array(self.centre)

    @property
    def inner_radius(self) -> float:
        """The radius."""
        return self.radius

    @property
    def diameter(self) -> float:
        """Twice the radius."""
        return 2 * self.radius

    @property
    def farthest(self) -> float:
        """Distance of the origin from the farthest point of the ball."""
        return float(np.linalg.norm(self.inner_centre)) + self.radius

    def project(self, points: Array) -> Array:
        """Move points outside the ball towards its centre, up to the border."""
        away = np.asarray(points) - self.inner_centre
        distance = norms(away, 1)
        # Points inside are returned bit for bit, so that projecting twice changes nothing.
        outside = distance > self.radius
        scale = np.divide(self.radius, distance, out=np.ones_like(distance), where=outside)
        return np.where(outside, self.inner_centre + away * scale, points)

    def minimize(self, gradients: Array) -> Array:
        """Return the point of the sphere opposite to the gradient, and the centre for a zero gradient."""
        gradients = np.asarray(gradients, dtype=np.float64)
        length = norms(gradients, 1)
        return self.inner_centre - self.radius * np.divide(
            gradients, length, out=np.zeros_like(gradients), where=length > 0
        )

    def contains(self, points: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Say for each point whether it is within the radius, up to the tolerance times max(1, `farthest`)."""
        slack = tolerance * max(1.0, self.farthest)
        return np.asarray(norms(np.asarray(points) - self.inner_centre, 1)[..., 0] <= self.radius + slack)

    def shrink(self, xi: float) -> Ball:
        """Return the ball about the same centre with radius (1-ξ)r."""
        return Ball(self.dimension, (1 - shrinkage(xi)) * self.radius, self.centre)

    def compiled_form(self) -> Any:
        """Return the form in `banditboost._compiled.spaces`."""
        from banditboost._compiled import spaces

        return spaces.Ball(self.inner_centre, self.radius)
