"""A set shrunk about its centre, for sets whose shrunk form is not a set of the same class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from banditboost._core.checks import Array
from banditboost.spaces.base import shrinkage
from banditboost.spaces.wrapper import SpaceWrapper


@dataclass(frozen=True)
class Shrunk(SpaceWrapper, kind="spaces.Shrunk"):
    """The set c + (1-ξ)(Y - c) for a `space` Y with centre c, and ξ = `xi` in [0, 1).

    A query y + δv stays in Y for every member y of the set shrunk by ξ = δ / inner radius. All operations follow from those
    of Y by the change of variables x = c + (1-ξ)(y - c), which preserves angles, so that the Euclidean projection carries over.

    Parameters
    ----------
    space
        The set to shrink. Prefer `space.shrink(xi)`, which returns a set of the same class where there is one.
    xi
        The fraction by which to shrink.

    Examples
    --------
    >>> from banditboost.spaces import Birkhoff
    >>> space = Birkhoff(2).shrink(0.2)
    >>> space
    Shrunk(space=Birkhoff(n=2), xi=0.2)
    >>> space.minimize(np.array([[0.0, 1.0], [1.0, 0.0]])).round(6).tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """

    xi: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "xi", shrinkage(self.xi))

    @classmethod
    def examples(cls) -> tuple[Shrunk, ...]:
        """Give a shrunk ball, simplex and Birkhoff polytope."""
        from banditboost.spaces import Ball, Birkhoff, Simplex

        return (cls(Ball(2, 1.5, (1.0, -1.0)), 0.25), cls(Simplex(3), 0.5), cls(Birkhoff(3), 0.1))

    @property
    def inner_radius(self) -> float:
        """(1-ξ) times the inner radius of the whole set."""
        return (1 - self.xi) * self.space.inner_radius

    @property
    def diameter(self) -> float:
        """(1-ξ) times the diameter of the whole set."""
        return (1 - self.xi) * self.space.diameter

    @property
    def gaussian_width(self) -> float:
        """(1-ξ) times that of the wrapped set: a centre has the mean product zero."""
        return (1 - self.xi) * self.space.gaussian_width

    @property
    def farthest(self) -> float:
        """Bound on ‖ξc + (1-ξ)y‖."""
        return self.xi * float(np.linalg.norm(self.inner_centre)) + (1 - self.xi) * self.space.farthest

    def project(self, points: Array) -> Array:
        """Map the points to the whole set, project there, and map back; a point that this leaves where it is stays the same.

        Otherwise rounding would pass for a projection, and gradients would be corrected for it (`booster.geometry.corrected`).
        """
        points = np.asarray(points, dtype=np.float64)
        large = self._blown_up(points)
        projected = self.space.project(large)
        moved = (projected != large).any(axis=tuple(range(-len(self.shape), 0)), keepdims=True)
        return np.where(moved, self._shrunk(projected), points)

    def minimize(self, gradients: Array) -> Array:
        """Shrink the minimiser over the whole set."""
        return self._shrunk(self.space.minimize(gradients))

    def contains(self, points: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Map the points to the whole set and test them there, with the tolerance enlarged alike."""
        return self.space.contains(self._blown_up(points), tolerance / (1 - self.xi))

    def shrink(self, xi: float) -> Shrunk:
        """Return the whole set shrunk by both fractions: 1 - (1-ξ)(1-ξ')."""
        return Shrunk(self.space, 1 - (1 - self.xi) * (1 - shrinkage(xi)))

    def _shrunk(self, points: Array) -> Array:
        center = self.inner_centre
        return np.asarray(center + (1 - self.xi) * (points - center))

    def _blown_up(self, points: Array) -> Array:
        center = self.inner_centre
        return np.asarray(center + (np.asarray(points) - center) / (1 - self.xi))

    def compiled_form(self) -> Any:
        """Return the form in `banditboost._compiled.spaces`, where the whole set has one."""
        from banditboost._compiled import spaces

        inner, room = self.space.compiled_form(), (np.empty((1, self.size)), np.empty((1, self.size)))
        return None if inner is None else spaces.Shrunk(inner, self.inner_centre.reshape(self.size), 1 - self.xi, *room)
