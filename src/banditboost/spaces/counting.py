"""A set that counts the calls of its linear oracle and of its projection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from banditboost._core.checks import Array
from banditboost.spaces.wrapper import SpaceWrapper


@dataclass
class Tally:
    """Running counts, shared by a `CountingSpace` and all sets shrunk from it."""

    oracle_calls: int = 0
    projections: int = 0


@dataclass(frozen=True)
class CountingSpace(SpaceWrapper, kind="spaces.CountingSpace"):
    """The same set as `space`, with `oracle_calls` and `projections` counted: one per gradient or point handled.

    Projection-free algorithms are compared by these counts. A vectorised call on n gradients counts n times, and a membership
    test is not counted. The counts are not part of the spec: they are neither compared nor saved, and a spec that was read
    from JSON starts at zero. Sets made by `shrink` add to the same counts.

    Examples
    --------
    >>> from banditboost.spaces import Simplex
    >>> space = CountingSpace(Simplex(3))
    >>> _ = space.minimize(np.ones((5, 3)))
    >>> _ = space.shrink(0.5).project(np.ones(3))
    >>> space.oracle_calls, space.projections
    (5, 1)
    """

    @classmethod
    def examples(cls) -> tuple[CountingSpace, ...]:
        """Give a counting interval and a counting simplex."""
        from banditboost.spaces import Interval, Simplex

        return (cls(Interval(-1.0, 2.0)), cls(Simplex(3)))

    @cached_property
    def tally(self) -> Tally:
        """The running counts; a cached property, because a field would be compared and saved."""
        return Tally()

    @property
    def oracle_calls(self) -> int:
        """Number of gradients that `minimize` has handled."""
        return self.tally.oracle_calls

    @property
    def projections(self) -> int:
        """Number of points that `project` and `project_kl` have handled."""
        return self.tally.projections

    def reset(self) -> None:
        """Set the counts to zero, also for the sets that share them."""
        self.tally.oracle_calls = self.tally.projections = 0

    @property
    def inner_radius(self) -> float:
        """Inner radius of the wrapped set."""
        return self.space.inner_radius

    @property
    def diameter(self) -> float:
        """Diameter of the wrapped set."""
        return self.space.diameter

    @property
    def farthest(self) -> float:
        """Bound on the norm of a member of the wrapped set."""
        return self.space.farthest

    @property
    def gaussian_width(self) -> float:
        """Width of the wrapped set."""
        return self.space.gaussian_width

    def project(self, points: Array) -> Array:
        """Project on the wrapped set, and count the points."""
        result = self.space.project(points)
        self.tally.projections += self._handled(points)
        return result

    def project_kl(self, points: Array) -> Array:
        """Project on the wrapped set in the KL divergence, and count the points."""
        result = self.space.project_kl(points)
        self.tally.projections += self._handled(points)
        return result

    def minimize(self, gradients: Array) -> Array:
        """Minimise over the wrapped set, and count the gradients."""
        result = self.space.minimize(gradients)
        self.tally.oracle_calls += self._handled(gradients)
        return result

    def contains(self, points: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Test membership in the wrapped set, which is not counted."""
        return self.space.contains(points, tolerance)

    def shrink(self, xi: float) -> CountingSpace:
        """Return the shrunk set, which adds to the same counts."""
        shrunk = CountingSpace(self.space.shrink(xi))
        shrunk.__dict__["tally"] = self.tally
        return shrunk

    def _handled(self, points: Array) -> int:
        return math.prod(np.shape(points)[: np.ndim(points) - len(self.shape)])
