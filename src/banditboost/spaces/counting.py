"""A set that keeps count of what it is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from banditboost._core.checks import Array
from banditboost.spaces.base import Space


@dataclass
class Tally:
    """Running numbers that a `CountingSpace` space and everything shrunk from it share."""

    oracle_calls: int = 0
    projections: int = 0


@dataclass(frozen=True)
class CountingSpace(Space, kind="spaces.CountingSpace"):
    """The same set as `space`, with `oracle_calls` and `projections` counted: one per gradient or point handled.

    Projection-free algorithms are compared by these numbers. A vectorised call on n gradients counts n, a membership test
    counts nothing. The numbers are no part of the spec: they are neither compared nor saved, and a spec that was read from
    JSON starts at zero. Sets made by `shrink` count into the same numbers.

    Examples
    --------
    >>> from banditboost.spaces import Simplex
    >>> space = CountingSpace(Simplex(3))
    >>> _ = space.minimize(np.ones((5, 3)))
    >>> _ = space.shrink(0.5).project(np.ones(3))
    >>> space.oracle_calls, space.projections
    (5, 1)
    """

    space: Space

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):
            raise ValueError(f"space must be a Space, got {type(self.space).__name__}.")

    @classmethod
    def examples(cls) -> tuple[CountingSpace, ...]:
        """Give a counting interval and a counting simplex."""
        from banditboost.spaces import Interval, Simplex

        return (cls(Interval(-1.0, 2.0)), cls(Simplex(3)))

    @cached_property
    def tally(self) -> Tally:
        """The running numbers; a cached property, since a field would be compared and saved."""
        return Tally()

    @property
    def oracle_calls(self) -> int:
        """How many gradients `minimize` has answered."""
        return self.tally.oracle_calls

    @property
    def projections(self) -> int:
        """How many points `project` and `project_kl` have handled."""
        return self.tally.projections

    def reset(self) -> None:
        """Start again at zero, also for the sets that share the numbers."""
        self.tally.oracle_calls = self.tally.projections = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """As in the set."""
        return self.space.shape

    @property
    def rank(self) -> int:
        """As in the set."""
        return self.space.rank

    @property
    def inner_centre(self) -> Array:
        """As in the set."""
        return self.space.inner_centre

    @property
    def inner_radius(self) -> float:
        """As in the set."""
        return self.space.inner_radius

    @property
    def diameter(self) -> float:
        """As in the set."""
        return self.space.diameter

    @property
    def farthest(self) -> float:
        """As in the set."""
        return self.space.farthest

    def tangent(self, vectors: Array) -> Array:
        """Do as the set does."""
        return self.space.tangent(vectors)

    def directions(self, rng: np.random.Generator, n: int) -> Array:
        """Do as the set does."""
        return self.space.directions(rng, n)

    def project(self, points: Array) -> Array:
        """Do as the set does, and count the points."""
        result = self.space.project(points)
        self.tally.projections += self._handled(points)
        return result

    def project_kl(self, points: Array) -> Array:
        """Do as the set does, and count the points."""
        result = self.space.project_kl(points)
        self.tally.projections += self._handled(points)
        return result

    def minimize(self, gradients: Array) -> Array:
        """Do as the set does, and count the gradients."""
        result = self.space.minimize(gradients)
        self.tally.oracle_calls += self._handled(gradients)
        return result

    def contains(self, points: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Do as the set does; not counted."""
        return self.space.contains(points, tolerance)

    def shrink(self, xi: float) -> CountingSpace:
        """Return the shrunk set, which counts into the same numbers."""
        shrunk = CountingSpace(self.space.shrink(xi))
        shrunk.__dict__["tally"] = self.tally
        return shrunk

    def _handled(self, points: Array) -> int:
        return math.prod(np.shape(points)[: np.ndim(points) - len(self.shape)])
