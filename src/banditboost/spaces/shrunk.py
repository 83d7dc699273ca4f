"""A set made smaller about its centre, for geometries whose shrunk form is not of the same kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from banditboost._core.checks import Array
from banditboost.spaces.base import Space, shrinkage


@dataclass(frozen=True)
class Shrunk(Space, kind="spaces.Shrunk"):
    """The set c + (1-ξ)(Y - c) for a `space` Y with centre c, and ξ = `xi` in [0, 1).

    A query y + δv stays in Y for every member y of the set shrunk by ξ = δ / inner radius. Everything follows from Y by the
    change of variables x = c + (1-ξ)(y - c); angles do not change, hence the Euclidean projection carries over.

    Parameters
    ----------
    space
        The set to shrink. `space.shrink(xi)` is the better way to ask: it stays in the same geometry where it can.
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

    space: Space
    xi: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):
            raise ValueError(f"space must be a Space, got {type(self.space).__name__}.")
        object.__setattr__(self, "xi", shrinkage(self.xi))

    @classmethod
    def examples(cls) -> tuple[Shrunk, ...]:
        """Give a shrunk ball, simplex and Birkhoff polytope."""
        from banditboost.spaces import Ball, Birkhoff, Simplex

        return (cls(Ball(2, 1.5, (1.0, -1.0)), 0.25), cls(Simplex(3), 0.5), cls(Birkhoff(3), 0.1))

    @property
    def shape(self) -> tuple[int, ...]:
        """As in the whole set."""
        return self.space.shape

    @property
    def rank(self) -> int:
        """As in the whole set."""
        return self.space.rank

    @property
    def inner_centre(self) -> Array:
        """As in the whole set."""
        return self.space.inner_centre

    @property
    def inner_radius(self) -> float:
        """(1-ξ) times the whole set's."""
        return (1 - self.xi) * self.space.inner_radius

    @property
    def diameter(self) -> float:
        """(1-ξ) times the whole set's."""
        return (1 - self.xi) * self.space.diameter

    @property
    def farthest(self) -> float:
        """Bound on ‖ξc + (1-ξ)y‖."""
        return self.xi * float(np.linalg.norm(self.inner_centre)) + (1 - self.xi) * self.space.farthest

    def tangent(self, vectors: Array) -> Array:
        """Do as the whole set does."""
        return self.space.tangent(vectors)

    def directions(self, rng: np.random.Generator, n: int) -> Array:
        """Do as the whole set does."""
        return self.space.directions(rng, n)

    def project(self, points: Array) -> Array:
        """Blow up, project, shrink; a point that the whole set leaves where it is stays what it was, to the last digit.

        Otherwise rounding would pass for a projection, and gradients would be corrected for it (`booster.geometry.corrected`).
        """
        points = np.asarray(points, dtype=np.float64)
        large = self._blown_up(points)
        projected = self.space.project(large)
        moved = (projected != large).any(axis=tuple(range(-len(self.shape), 0)), keepdims=True)
        return np.where(moved, self._shrunk(projected), points)

    def minimize(self, gradients: Array) -> Array:
        """Shrink the whole set's answer."""
        return self._shrunk(self.space.minimize(gradients))

    def contains(self, points: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Ask the whole set about the points blown up."""
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
